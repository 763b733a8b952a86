//! Booleans and numbers as Go reads them, for that is how people's markers have been read so far.

use serde_json::{Number, Value};

/// Go's `strconv.ParseBool` (<https://pkg.go.dev/strconv#ParseBool>).
pub(super) fn boolean(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

/// A whole number of 64 bits, in decimal digits.
pub(super) fn integer(text: &str) -> Option<i64> {
    text.parse().ok()
}

/// A number that JSON can hold, written without a fraction that is zero.
pub(super) fn number(text: &str) -> Option<Value> {
    // Beyond this not every whole number is one of floating point.
    const SURE: f64 = 9_007_199_254_740_992.0;
    let float = text.parse::<f64>().ok().filter(|float| float.is_finite())?;
    let whole = (float.fract() == 0.0 && float.abs() <= SURE).then(|| format!("{float:.0}").parse::<i64>().ok());
    match whole.flatten() {
        Some(whole) => Some(Value::from(whole)),
        None => Number::from_f64(float).map(Value::Number),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn booleans_are_those_of_go() {
        for (text, wanted) in [("T", Some(true)), ("0", Some(false)), ("yes", None), ("tRUE", None), ("", None)] {
            assert_eq!(boolean(text), wanted, "{text}");
        }
    }

    #[test]
    fn numbers_that_json_can_hold() {
        for (text, wanted) in
            [("1e6", json!(1_000_000)), ("-0", json!(0)), (".5", json!(0.5)), ("+3", json!(3)), ("1e300", json!(1e300))]
        {
            assert_eq!(number(text), Some(wanted), "{text}");
        }
        for text in ["", "abc", "NaN", "inf", "-Infinity", "1e999", "0x10", "1_000", " 1", "."] {
            assert_eq!(number(text), None, "{text}");
        }
        for text in ["", "1.5", "1e3", "0x10", "99999999999999999999", "1_000"] {
            assert_eq!(integer(text), None, "{text}");
        }
        assert_eq!(integer("-5"), Some(-5));
    }
}
