//! Numbers as texts, `strconv` and `fmt`, and numbers of one kind as those of another.

/// The nearest double.
#[expect(clippy::cast_precision_loss, reason = "the nearest is what Go has, too")]
pub(in crate::graph) fn of_int(number: i64) -> f64 {
    number as f64
}

/// The nearest double.
#[expect(clippy::cast_precision_loss, reason = "the nearest is what Go has, too")]
pub(in crate::graph) fn of_uint(number: u64) -> f64 {
    number as f64
}

/// Without what is behind its point; `None` when that is no integer of 64 bits, or the least or the largest of them.
#[expect(clippy::cast_possible_truncation, reason = "what is cut off is looked at before")]
pub(in crate::graph) fn to_int(number: f64) -> Option<i64> {
    (number > of_int(i64::MIN) && number < of_int(i64::MAX)).then_some(number as i64)
}

/// The same for those without a sign.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "what is cut off is looked at before")]
pub(in crate::graph) fn to_uint(number: f64) -> Option<u64> {
    (number >= 0.0 && number < of_uint(u64::MAX)).then_some(number as u64)
}

/// The integer that it is, when it is one.
pub(in crate::graph) fn whole(number: f64) -> Option<i64> {
    if number.fract() == 0.0 { to_int(number) } else { None }
}

/// The shortest decimal digits that are this number, and the power of ten of the first: 0 of what is no number.
fn digits(number: f64) -> (String, i32) {
    let text = format!("{:e}", number.abs());
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    (mantissa.replace('.', ""), exponent.parse().unwrap_or(0))
}

/// `d.ddde+xx`, with two digits of exponent at least.
fn exponential(negative: bool, digits: &str, exponent: i32) -> String {
    let (first, rest) = digits.split_at(1.min(digits.len()));
    let point = if rest.is_empty() { "" } else { "." };
    let sign = if negative { "-" } else { "" };
    format!("{sign}{first}{point}{rest}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

/// `%g` with the shortest digits: `1e+06`, `123456.789`, `+Inf`.
pub(in crate::graph) fn general(number: f64) -> String {
    if number.is_infinite() {
        return if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let (digits, exponent) = digits(number);
    if (-4..6).contains(&exponent) {
        number.to_string()
    } else {
        exponential(number.is_sign_negative(), &digits, exponent)
    }
}

/// `%f` with the shortest digits: never an exponent.
pub(in crate::graph) fn plain(number: f64) -> String {
    if number.is_infinite() {
        return if number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    number.to_string()
}

/// `%.<precision>f`.
pub(in crate::graph) fn fixed(number: f64, precision: usize) -> String {
    if number.is_finite() { format!("{number:.precision$}") } else { plain(number) }
}

/// `%.<precision>e`.
pub(in crate::graph) fn scientific(number: f64, precision: usize) -> String {
    if !number.is_finite() {
        return plain(number);
    }
    let text = format!("{number:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    format!("{mantissa}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

/// As `encoding/json` writes it; `None` when JSON has no such number.
pub(in crate::graph) fn json(number: f64) -> Option<String> {
    if !number.is_finite() {
        return None;
    }
    let size = number.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        let (digits, exponent) = digits(number);
        let text = exponential(number.is_sign_negative(), &digits, exponent);
        return Some(text.replace("e-0", "e-"));
    }
    Some(plain(number))
}

/// `strconv.ParseFloat`: also hexadecimal, with underscores between digits, and infinities. What is too large is none.
pub(in crate::graph) fn parse(text: &str) -> Option<f64> {
    let (negative, unsigned) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let signed = |number: f64| if negative { -number } else { number };
    if unsigned.eq_ignore_ascii_case("inf") || unsigned.eq_ignore_ascii_case("infinity") {
        return Some(signed(f64::INFINITY));
    }
    if text.eq_ignore_ascii_case("nan") {
        return Some(f64::NAN);
    }
    if !underscores_fit(unsigned) {
        return None;
    }
    let unsigned = unsigned.replace('_', "");
    if let Some(hexadecimal) = unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X")) {
        return parse_hexadecimal(hexadecimal).map(signed);
    }
    let known = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-');
    let number: f64 = if unsigned.bytes().all(known) { unsigned.parse().ok()? } else { return None };
    // A second sign is none of Go's.
    (number.is_finite() && !unsigned.starts_with(['+', '-'])).then(|| signed(number))
}

/// Each stands between digits, or behind a prefix.
fn underscores_fit(text: &str) -> bool {
    let hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    let skipped = if hexadecimal { 2 } else { 0 };
    let mut before = if hexadecimal { b'0' } else { b'^' };
    for byte in text.bytes().skip(skipped) {
        let digit = byte.is_ascii_digit() || hexadecimal && byte.is_ascii_hexdigit();
        match byte {
            b'_' if before != b'0' => return false,
            b'_' => before = b'_',
            _ if digit => before = b'0',
            _ if before == b'_' => return false,
            _ => before = b'!',
        }
    }
    before != b'_'
}

/// `1f.8p-3`, without its prefix; the exponent must be there.
fn parse_hexadecimal(text: &str) -> Option<f64> {
    let (mantissa, exponent) = text.split_once(['p', 'P'])?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() || exponent.starts_with("+-") {
        return None;
    }
    let mut exponent: i32 = exponent.parse::<i32>().ok()?.clamp(-100_000, 100_000);
    let mut number: u64 = 0;
    for (digit, point) in whole.chars().map(|char| (char, false)).chain(fraction.chars().map(|char| (char, true))) {
        let digit = u64::from(digit.to_digit(16)?);
        if number >> 59 == 0 {
            number = number << 4 | digit;
            exponent -= if point { 4 } else { 0 };
        } else {
            // More than 60 bits: the rest can only decide how it is rounded.
            number |= u64::from(digit != 0);
            exponent += if point { 0 } else { 4 };
        }
    }
    let mut value = of_uint(number);
    while exponent != 0 && value != 0.0 && value.is_finite() {
        let step = exponent.clamp(-512, 512);
        value *= 2f64.powi(step);
        exponent -= step;
    }
    value.is_finite().then_some(value)
}

/// Powers of ten as `math.Pow10` has them.
pub(in crate::graph) fn power_of_ten(exponent: i32) -> f64 {
    let part = |text: String| text.parse::<f64>().unwrap_or(f64::NAN);
    let (large, small) = (exponent.unsigned_abs() / 32 * 32, exponent.unsigned_abs() % 32);
    if exponent < 0 {
        part(format!("1e-{large}")) / part(format!("1e{small}"))
    } else {
        part(format!("1e{large}")) * part(format!("1e{small}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn general_has_an_exponent_where_go_has_one() {
        for (number, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (100_000.0, "100000"),
            (999_999.0, "999999"),
            (1e6, "1e+06"),
            (1_234_567.0, "1.234567e+06"),
            (123_456.789, "123456.789"),
            (1_000_000.5, "1.0000005e+06"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1e21, "1e+21"),
            (1e100, "1e+100"),
            (-2.5, "-2.5"),
            (12_345_678.0, "1.2345678e+07"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "+Inf"),
        ] {
            assert_eq!(general(number), text);
        }
    }

    #[test]
    fn json_has_an_exponent_only_far_out() {
        for (number, text) in [
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (1e-6, "0.000001"),
            (1e-7, "1e-7"),
            (1.5e-10, "1.5e-10"),
            (-0.0, "-0"),
            (-1.5e300, "-1.5e+300"),
        ] {
            assert_eq!(json(number).as_deref(), Some(text));
        }
        assert_eq!(json(f64::NAN), None);
    }

    #[test]
    fn reads_what_go_reads() {
        for (text, number) in [
            ("1.5", Some(1.5)),
            ("+1", Some(1.0)),
            ("-1e3", Some(-1000.0)),
            (".5", Some(0.5)),
            ("5.", Some(5.0)),
            ("1_0", Some(10.0)),
            ("0x1p4", Some(16.0)),
            ("0x.8p1", Some(1.0)),
            ("-0X1F.8P-1", Some(-15.75)),
            ("0x_1p0", Some(1.0)),
            ("INF", Some(f64::INFINITY)),
            ("-infinity", Some(f64::NEG_INFINITY)),
            ("", None),
            (".", None),
            ("1e", None),
            ("1e400", None),
            ("_1", None),
            ("1__0", None),
            ("1_", None),
            ("1_.0", None),
            ("0x1", None),
            ("0xp1", None),
            (" 1", None),
            ("--1", None),
            ("+-1", None),
            ("in", None),
            ("1f", None),
        ] {
            assert_eq!(parse(text), number, "{text:?}");
        }
        assert!(parse("nan").is_some_and(f64::is_nan) && parse("-nan").is_none());
    }

    #[test]
    fn scientific_and_fixed() {
        assert_eq!(scientific(1234.5678, 6), "1.234568e+03");
        assert_eq!(scientific(0.0, 6), "0.000000e+00");
        assert_eq!(scientific(1e-300, 0), "1e-300");
        assert_eq!(fixed(2.5, 0), "2");
        assert_eq!(fixed(0.1, 20), "0.10000000000000000555");
        assert_eq!(fixed(f64::NEG_INFINITY, 2), "-Infinity");
    }
}
