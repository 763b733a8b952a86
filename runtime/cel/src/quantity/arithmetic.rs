//! Sums of quantities, exact.

use std::cmp::Ordering;

use super::Quantity;

impl Quantity {
    /// Whether it is nothing.
    pub fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    /// The same on the other side of zero.
    #[must_use]
    pub fn negated(mut self) -> Self {
        self.negative = !self.negative && !self.is_zero();
        self
    }

    /// The same times this power of ten.
    #[must_use]
    pub fn shifted(mut self, power: i32) -> Self {
        if !self.is_zero() {
            self.point = self.point.saturating_add(power);
        }
        self
    }

    /// The sum.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        let (larger, smaller) = if self.compare_size(other) == Ordering::Less { (other, self) } else { (self, other) };
        if smaller.is_zero() {
            return larger.clone();
        }
        let low = larger.low().min(smaller.low());
        // One digit more than the larger one has.
        let high = larger.point.saturating_add(1);
        let (mut digits, added) = (larger.spread(low, high), smaller.spread(low, high));
        let subtracts = larger.negative != smaller.negative;
        let mut carry = 0_i8;
        for (digit, added) in digits.iter_mut().zip(&added).rev() {
            let (mut sum, added) = (digit.cast_signed() + carry, added.cast_signed());
            sum += if subtracts { -added } else { added };
            carry = sum.div_euclid(10);
            *digit = sum.rem_euclid(10).cast_unsigned();
        }
        Self::new(larger.negative, digits, high)
    }

    /// With so many places behind the point at the most; what is finer makes it larger, away from zero.
    #[must_use]
    pub fn rounded_up(self, places: i32) -> Self {
        let kept = usize::try_from(self.point.saturating_add(places)).unwrap_or(0);
        if kept >= self.digits.len() {
            return self;
        }
        let (negative, point) = (self.negative, self.point);
        let mut digits = self.digits;
        digits.truncate(kept);
        let one = Self::new(negative, vec![1], 1 - places);
        if kept == 0 { one } else { Self::new(negative, digits, point).plus(&one) }
    }

    /// The power of ten of the last digit.
    fn low(&self) -> i32 {
        self.point.saturating_sub(i32::try_from(self.digits.len()).unwrap_or(i32::MAX))
    }

    /// All digits from one power of ten to another.
    fn spread(&self, low: i32, high: i32) -> Vec<u8> {
        let zeros = |count: i32| std::iter::repeat_n(0, usize::try_from(count).unwrap_or(0));
        zeros(high - self.point).chain(self.digits.iter().copied()).chain(zeros(self.low() - low)).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    fn quantity(text: &str) -> Quantity {
        text.parse().unwrap()
    }

    #[test]
    fn adds_across_powers_of_ten() {
        for (a, b, sum) in [
            ("1", "2", "3"),
            ("999", "1", "1000"),
            ("1", "-1", "0"),
            ("1E", "1n", "1000000000000000000.000000001"),
            ("-1", "0.5", "-0.5"),
            ("1.5Gi", "0", "1610612736"),
            ("1000", "-0.1", "999.9"),
        ] {
            assert_eq!(quantity(a).plus(&quantity(b)).to_string(), sum);
            assert_eq!(quantity(b).plus(&quantity(a)).to_string(), sum);
        }
        for (a, places, rounded) in [
            ("1.21", 1, "1.3"),
            ("-1.21", 1, "-1.3"),
            ("1.2", 1, "1.2"),
            ("0.001", 2, "0.01"),
            ("9.99", 1, "10"),
            ("12", 0, "12"),
        ] {
            assert_eq!(quantity(a).rounded_up(places).to_string(), rounded, "{a}");
        }
    }

    proptest! {
        #[test]
        fn adds_as_integers_do(a in any::<i32>(), b in any::<i32>(), power in -9_i32..9) {
            let of = |number: i64| Quantity::from(number).shifted(power);
            prop_assert_eq!(of(a.into()).plus(&of(b.into())), of(i64::from(a) + i64::from(b)));
            prop_assert_eq!(of(a.into()).plus(&of(a.into()).negated()), of(0));
        }
    }
}
