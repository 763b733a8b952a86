//! `Quantity`: numbers with suffixes (`8Gi`, `250m`), as `resource.Quantity` keeps them.
//!
//! Whether one "is an integer" depends on how it was written, not only on what it is: small ones are kept as a number of
//! 64 bits and a power of ten, and only those without a fraction in *that* form are (`1000m` is none); all others are
//! kept as decimals, and never are (`1.5Gi`). So the same two forms are kept here.

use std::cmp::Ordering;

use super::go::number;
use crate::quantity::Quantity as Decimal;

/// Nothing is finer than a billionth: what would be is rounded up.
const FINEST: i32 = -9;

/// Digits that always fit into 64 bits.
const DIGITS: i32 = 18;

/// A number with the form that it has.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Quantity {
    /// `value × 10^scale`
    Small { value: i64, scale: i32 },
    /// Any decimal, kept with so many places behind its point.
    Large { value: Decimal, places: i32 },
}

enum Suffix {
    Binary(i32),
    Decimal(i32),
}

fn suffix(text: &str) -> Option<Suffix> {
    Some(match text {
        "" => Suffix::Decimal(0),
        "n" => Suffix::Decimal(-9),
        "u" => Suffix::Decimal(-6),
        "m" => Suffix::Decimal(-3),
        "k" => Suffix::Decimal(3),
        "M" => Suffix::Decimal(6),
        "G" => Suffix::Decimal(9),
        "T" => Suffix::Decimal(12),
        "P" => Suffix::Decimal(15),
        "E" => Suffix::Decimal(18),
        "Ki" => Suffix::Binary(10),
        "Mi" => Suffix::Binary(20),
        "Gi" => Suffix::Binary(30),
        "Ti" => Suffix::Binary(40),
        "Pi" => Suffix::Binary(50),
        "Ei" => Suffix::Binary(60),
        _ => {
            let exponent: i32 = text.strip_prefix(['e', 'E'])?.parse().ok()?;
            if exponent.abs() > 300 {
                return None;
            }
            Suffix::Decimal(exponent)
        }
    })
}

impl Quantity {
    pub(super) fn parse(text: &str) -> Option<Self> {
        if text.is_empty() || text.len() > 300 {
            return None;
        }
        let negative = text.starts_with('-');
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let end = unsigned.find(|char: char| !char.is_ascii_digit()).unwrap_or(unsigned.len());
        let (whole, rest) = unsigned.split_at(end);
        let (fraction, rest) = rest.strip_prefix('.').map_or(("", rest), |rest| {
            rest.split_at(rest.find(|char: char| !char.is_ascii_digit()).unwrap_or(rest.len()))
        });
        let whole = match whole.trim_start_matches('0') {
            "" => "0",
            whole => whole,
        };
        let suffix = suffix(rest)?;
        let (digits, places) = (length(whole) + length(fraction), length(fraction));
        let (precision, scale, factor) = match &suffix {
            Suffix::Decimal(exponent) => (DIGITS - digits, *exponent, 1_i64),
            Suffix::Binary(exponent) if fraction.is_empty() => {
                (15 - length(whole) - exponent * 3 / 10 - 1, 0, 1_i64 << exponent)
            }
            Suffix::Binary(_) => (-1, 0, 1),
        };
        let scale = scale - places;
        if precision >= 0
            && scale >= FINEST
            && let Some(value) = format!("{whole}{fraction}").parse::<i64>().ok()?.checked_mul(factor)
        {
            return Some(Self::Small { value: if negative { -value } else { value }, scale });
        }
        Self::large(&format!("{whole}.{fraction}{rest}"), places, &suffix, negative)
    }

    fn large(unsigned: &str, places: i32, suffix: &Suffix, negative: bool) -> Option<Self> {
        let mut value: Decimal = unsigned.parse().ok()?;
        let mut places = match suffix {
            Suffix::Decimal(exponent) => places - exponent,
            Suffix::Binary(_) => places,
        };
        if !value.is_zero() {
            value = value.rounded_up(-FINEST);
            places = -FINEST;
        }
        if let Suffix::Binary(_) = suffix {
            value = value.min(Decimal::from(i64::MAX));
        }
        Some(Self::Large { value: if negative { value.negated() } else { value }, places })
    }

    pub(super) fn of_int(value: i64) -> Self {
        Self::Small { value, scale: 0 }
    }

    fn decimal(&self) -> Decimal {
        match self {
            Self::Small { value, scale } => Decimal::from(*value).shifted(*scale),
            Self::Large { value, .. } => value.clone(),
        }
    }

    fn places(&self) -> i32 {
        match self {
            Self::Small { scale, .. } => -scale,
            Self::Large { places, .. } => *places,
        }
    }

    pub(super) fn add(&self, other: &Self) -> Self {
        if let (Self::Small { value: a, scale: i }, Self::Small { value: b, scale: j }) = (self, other)
            && let Some((value, scale)) = add_small((*a, *i), (*b, *j))
        {
            return Self::Small { value, scale };
        }
        Self::Large { value: self.decimal().plus(&other.decimal()), places: self.places().max(other.places()) }
    }

    pub(super) fn sub(&self, other: &Self) -> Self {
        let negated = match other {
            Self::Small { value, scale } => value.checked_neg().map(|value| Self::Small { value, scale: *scale }),
            Self::Large { .. } => None,
        };
        let negated =
            negated.unwrap_or_else(|| Self::Large { value: other.decimal().negated(), places: other.places() });
        self.add(&negated)
    }

    pub(super) fn compare(&self, other: &Self) -> Ordering {
        self.decimal().cmp(&other.decimal())
    }

    pub(super) fn sign(&self) -> Ordering {
        self.decimal().cmp(&Decimal::from(0))
    }

    /// The integer that it is, in the form that it has.
    pub(super) fn as_integer(&self) -> Option<i64> {
        match self {
            Self::Small { value, scale } => scaled(*value, *scale),
            Self::Large { .. } => None,
        }
    }

    /// About the same, with the rounding of a multiplication.
    pub(super) fn as_float(&self) -> f64 {
        let (base, exponent) = match self {
            Self::Small { value, scale } => (number::of_int(*value), *scale),
            Self::Large { value, places } => {
                (value.clone().shifted(*places).to_string().parse().unwrap_or(f64::NAN), -places)
            }
        };
        if exponent == 0 { base } else { base * number::power_of_ten(exponent) }
    }
}

fn length(digits: &str) -> i32 {
    i32::try_from(digits.len()).unwrap_or(i32::MAX)
}

/// `value × 10^scale`, when that is an integer by its form.
fn scaled(value: i64, scale: i32) -> Option<i64> {
    if value == 0 && scale >= 0 {
        return Some(0);
    }
    10_i64.checked_pow(u32::try_from(scale).ok()?)?.checked_mul(value)
}

fn add_small(a: (i64, i32), b: (i64, i32)) -> Option<(i64, i32)> {
    if b.0 == 0 {
        return Some(a);
    }
    if a.0 == 0 {
        return Some(b);
    }
    let scale = a.1.min(b.1);
    Some((scaled(a.0, a.1 - scale)?.checked_add(scaled(b.0, b.1 - scale)?)?, scale))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    fn quantity(text: &str) -> Quantity {
        Quantity::parse(text).unwrap_or_else(|| panic!("{text}"))
    }

    #[test]
    fn integers_by_form() {
        for (text, integer) in [
            ("0", Some(0)),
            ("7", Some(7)),
            ("-007", Some(-7)),
            ("1k", Some(1000)),
            ("1e3", Some(1000)),
            ("8E", Some(8_000_000_000_000_000_000)),
            ("10E", None),
            ("1Ki", Some(1024)),
            ("1Ti", Some(1 << 40)),
            ("1Pi", None),
            ("1.0", None),
            ("1.5k", Some(1500)),
            ("1000m", None),
            ("1.0Ki", None),
            ("1234567890123456789", None),
            ("123456789012345678", Some(123_456_789_012_345_678)),
            (".", Some(0)),
            ("-", Some(0)),
        ] {
            assert_eq!(quantity(text).as_integer(), integer, "{text}");
        }
    }

    #[test]
    fn sums_keep_their_form() {
        assert_eq!(quantity("1.5").add(&quantity("0.5")).as_integer(), None);
        assert_eq!(quantity("1k").add(&quantity("1")).as_integer(), Some(1001));
        assert_eq!(quantity("1").sub(&quantity("2k")).as_integer(), Some(-1999));
        assert_eq!(quantity("1Ei").sub(&quantity("1Ei")).compare(&quantity("0")), Ordering::Equal);
        assert_eq!(quantity("9E").add(&quantity("9E")).compare(&quantity("18E")), Ordering::Equal);
        assert_eq!(quantity("1.5Gi").as_float().to_bits(), 1_610_612_736_f64.to_bits());
        assert_eq!(quantity("0.3").as_float().to_bits(), (3.0 * 0.1_f64).to_bits());
        assert_eq!(quantity("0.1n").compare(&quantity("1n")), Ordering::Equal, "rounded up");
        assert_eq!(quantity("-0.1n").compare(&quantity("-1n")), Ordering::Equal);
        assert_eq!(
            quantity("100Ei").compare(&quantity("9223372036854775807")),
            Ordering::Equal,
            "binary ones end there"
        );
    }

    #[test]
    fn refuses_what_is_none() {
        for text in ["", "x", "1 Gi", " 1", "1GiB", "1K", "1e", "1.2.3", "--1", "1e1.5", "0x1", "1_0", "1Gi ", "٣"] {
            assert_eq!(Quantity::parse(text), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn adds_as_decimals_do(a in any::<i32>(), b in any::<i32>(), i in 0_usize..8, j in 0_usize..8) {
            let suffixes = ["", "m", "k", "n", "Ki", "Gi", "E", ".5Mi"];
            let (a, b) = (quantity(&format!("{a}{}", suffixes[i])), quantity(&format!("{b}{}", suffixes[j])));
            let sum = a.add(&b);
            prop_assert_eq!(sum.sub(&b).compare(&a), Ordering::Equal);
            prop_assert_eq!(sum.compare(&b.add(&a)), Ordering::Equal);
            prop_assert_eq!(sum.compare(&a), b.sign());
        }

        #[test]
        fn never_panics(text in "[-+0-9.eEinumkKMGTP]{0,30}") {
            if let Some(quantity) = Quantity::parse(&text) {
                let twice = quantity.add(&quantity);
                let _ = (twice.as_integer(), twice.as_float(), twice.sub(&quantity).sign());
            }
        }
    }
}
