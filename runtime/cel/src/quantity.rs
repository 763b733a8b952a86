//! Numbers with Kubernetes' suffixes (`8Gi`, `250m`, `1.5e3`), compared exactly.
//!
//! Syntax: <https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/>. Unlike Kubernetes' own
//! type nothing is rounded and nothing saturates: a quantity is its decimal digits and a power of ten.

mod arithmetic;

use std::{cmp::Ordering, fmt, str::FromStr};

/// Longest text of a quantity, in bytes. `f64::MAX` takes 309 digits.
const MAX_LENGTH: usize = 400;

/// Largest exponent, either way; far outside of what an `f64` or a quantity of Kubernetes can hold.
const MAX_EXPONENT: i32 = 400;

/// A decimal number: `0.d₁d₂d₃… × 10^point`, negated when `negative`.
///
/// Kept without leading and trailing zeros, so that equal numbers are equal structs; zero has no digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Quantity {
    negative: bool,
    digits: Vec<u8>,
    point: i32,
}

/// The text is no number and no quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is not a number or a quantity such as 4, -1.5, 250m or 8Gi")]
pub struct QuantityError;

impl Quantity {
    fn new(negative: bool, mut digits: Vec<u8>, mut point: i32) -> Self {
        let zeros = digits.iter().take_while(|digit| **digit == 0).count();
        digits.drain(..zeros);
        point -= i32::try_from(zeros).unwrap_or(0);
        while digits.last() == Some(&0) {
            digits.pop();
        }
        if digits.is_empty() {
            return Self { negative: false, digits, point: 0 };
        }
        Self { negative, digits, point }
    }

    /// Size without its sign, compared: where the point stands first, then digit by digit.
    fn compare_size(&self, other: &Self) -> Ordering {
        match (self.digits.is_empty(), other.digits.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => self.point.cmp(&other.point).then_with(|| self.digits.cmp(&other.digits)),
        }
    }
}

impl From<i64> for Quantity {
    fn from(number: i64) -> Self {
        let text = number.unsigned_abs().to_string();
        let point = i32::try_from(text.len()).unwrap_or(0);
        Self::new(number < 0, text.bytes().map(|byte| byte - b'0').collect(), point)
    }
}

impl FromStr for Quantity {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        if text.len() > MAX_LENGTH {
            return Err(QuantityError);
        }
        let (negative, unsigned) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        let end = unsigned.find(|char: char| !char.is_ascii_digit() && char != '.').unwrap_or(unsigned.len());
        let (number, suffix) = unsigned.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
            return Err(QuantityError);
        }
        let mut digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).map(|byte| byte - b'0').collect();
        let mut point = i32::try_from(whole.len()).map_err(|_| QuantityError)?;
        match suffix {
            "" => {}
            "n" => point -= 9,
            "u" => point -= 6,
            "m" => point -= 3,
            "k" => point += 3,
            "M" => point += 6,
            "G" => point += 9,
            "T" => point += 12,
            "P" => point += 15,
            "E" => point += 18,
            "Ki" => point += binary(&mut digits, 1),
            "Mi" => point += binary(&mut digits, 2),
            "Gi" => point += binary(&mut digits, 3),
            "Ti" => point += binary(&mut digits, 4),
            "Pi" => point += binary(&mut digits, 5),
            "Ei" => point += binary(&mut digits, 6),
            _ => {
                let exponent = suffix.strip_prefix(['e', 'E']).ok_or(QuantityError)?;
                let exponent: i32 = exponent.parse().map_err(|_| QuantityError)?;
                if exponent.abs() > MAX_EXPONENT {
                    return Err(QuantityError);
                }
                point += exponent;
            }
        }
        Ok(Self::new(negative, digits, point))
    }
}

/// Multiplies the digits by 1024 so many times; how many digits were added in front.
fn binary(digits: &mut Vec<u8>, times: usize) -> i32 {
    let mut added = 0;
    for _ in 0..times {
        let mut carry = 0_u32;
        for digit in digits.iter_mut().rev() {
            let value = u32::from(*digit) * 1024 + carry;
            *digit = ones(value);
            carry = value / 10;
        }
        while carry > 0 {
            digits.insert(0, ones(carry));
            carry /= 10;
            added += 1;
        }
    }
    added
}

fn ones(value: u32) -> u8 {
    u8::try_from(value % 10).unwrap_or(0)
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.negative, other.negative) {
            (false, false) => self.compare_size(other),
            (true, true) => other.compare_size(self),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }
}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The plain decimal form, without exponent, suffix or needless zeros: `1000`, `0.25`, `-3`.
impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.negative {
            f.write_str("-")?;
        }
        let point = usize::try_from(self.point).unwrap_or(0);
        let digit = |index: usize| char::from(b'0' + self.digits.get(index).copied().unwrap_or(0));
        if point == 0 {
            f.write_str("0")?;
        }
        for index in 0..point {
            write!(f, "{}", digit(index))?;
        }
        if self.digits.len() > point {
            f.write_str(".")?;
            for _ in self.point..0 {
                f.write_str("0")?;
            }
            for index in point..self.digits.len() {
                write!(f, "{}", digit(index))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    fn quantity(text: &str) -> Quantity {
        text.parse().unwrap_or_else(|_| panic!("{text}"))
    }

    #[test]
    fn prints_the_plain_decimal() {
        for (text, plain) in [
            ("0", "0"),
            ("-0", "0"),
            ("0.00", "0"),
            ("007", "7"),
            ("+1", "1"),
            ("1.", "1"),
            (".5", "0.5"),
            ("-1.50", "-1.5"),
            ("250m", "0.25"),
            ("100n", "0.0000001"),
            ("1u", "0.000001"),
            ("1k", "1000"),
            ("1M", "1000000"),
            ("1G", "1000000000"),
            ("1T", "1000000000000"),
            ("1P", "1000000000000000"),
            ("1E", "1000000000000000000"),
            ("1Ki", "1024"),
            ("1Mi", "1048576"),
            ("1.5Gi", "1610612736"),
            ("1Ti", "1099511627776"),
            ("1Pi", "1125899906842624"),
            ("8Ei", "9223372036854775808"),
            ("1e3", "1000"),
            ("1E3", "1000"),
            ("1e-3", "0.001"),
            ("0.1Ki", "102.4"),
        ] {
            assert_eq!(quantity(text).to_string(), plain, "{text}");
        }
    }

    #[test]
    fn orders_across_suffixes() {
        let ordered = ["-1Gi", "-1G", "-1.5", "-1", "0", "1n", "1m", "0.5", "1"];
        let ordered: Vec<Quantity> = ordered.iter().map(|text| quantity(text)).collect();
        assert!(ordered.is_sorted_by(|a, b| a < b));
        assert!(quantity("8G") < quantity("8Gi") && quantity("1024Mi") == quantity("1Gi"));
        assert!(quantity("9223372036854775807") < quantity("8Ei"));
        assert!(quantity("0.1") == quantity("100m") && quantity("0.30000000000000001") > quantity("0.3"));
    }

    #[test]
    fn refuses_what_is_none() {
        for text in
            ["", "-", ".", "1.2.3", "abc", "1Kib", "1K", "1 Gi", " 1", "--1", "1e", "1e+", "1e999", "1mm", "٣", "0x10"]
        {
            assert_eq!(text.parse::<Quantity>(), Err(QuantityError), "{text:?}");
        }
    }

    #[test]
    fn is_bounded() {
        let ones = |length: usize| "1".repeat(length).parse::<Quantity>();
        assert!(ones(MAX_LENGTH).is_ok() && ones(MAX_LENGTH + 1).is_err());
        for sign in ["", "-"] {
            let power = |exponent: i32| format!("1e{sign}{exponent}").parse::<Quantity>();
            assert!(power(MAX_EXPONENT).is_ok() && power(MAX_EXPONENT + 1).is_err(), "{sign}");
        }
    }

    proptest! {
        #[test]
        fn orders_as_integers_do(a in any::<i64>(), b in any::<i64>()) {
            prop_assert_eq!(Quantity::from(a).cmp(&Quantity::from(b)), a.cmp(&b));
            prop_assert_eq!(quantity(&a.to_string()), Quantity::from(a));
            prop_assert_eq!(Quantity::from(a).to_string(), a.to_string());
        }

        #[test]
        fn binary_suffixes_multiply(a in -1_000_000_i64..1_000_000, power in 0_usize..5) {
            let suffix = ["", "Ki", "Mi", "Gi", "Ti"][power];
            let whole = i128::from(a) * 1024_i128.pow(u32::try_from(power).unwrap());
            prop_assert_eq!(quantity(&format!("{a}{suffix}")), quantity(&whole.to_string()));
        }

        #[test]
        fn decimals_compare_by_value(a in -10_000_i64..10_000, b in -10_000_i64..10_000) {
            let text = |n: i64| format!("{}{}.{:03}", if n < 0 { "-" } else { "" }, n.abs() / 1000, n.abs() % 1000);
            prop_assert_eq!(quantity(&text(a)).cmp(&quantity(&text(b))), a.cmp(&b));
            prop_assert_eq!(quantity(&format!("{a}m")), quantity(&text(a)));
        }

        #[test]
        fn its_text_is_itself(text in "[-+]?[0-9]{0,6}\\.?[0-9]{0,6}(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|e-?[0-9]{1,2})?") {
            if let Ok(parsed) = text.parse::<Quantity>() {
                prop_assert_eq!(quantity(&parsed.to_string()), parsed);
            }
        }

        #[test]
        fn never_panics(text in "\\PC{0,30}") {
            let _ = text.parse::<Quantity>();
        }
    }
}
