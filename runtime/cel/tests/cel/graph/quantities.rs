//! Quantities, as `resource.Quantity` has them.

use super::{all_fail, all_true};

#[test]
fn each_suffix_is_a_thousand_of_the_one_before() {
    all_true(&[
        "quantity('1u') == quantity('1000n') && quantity('1m') == quantity('1000u') && quantity('1') == quantity('1000m')",
        "quantity('1k') == quantity('1000') && quantity('1M') == quantity('1000k') && quantity('1G') == quantity('1000M')",
        "quantity('1T') == quantity('1000G') && quantity('1P') == quantity('1000T') && quantity('1E') == quantity('1000P')",
        "quantity('1.5u') == quantity('1500n')",
    ]);
}

#[test]
fn an_exponent_is_no_larger_than_three_hundred() {
    all_true(&["isQuantity('1e300') && isQuantity('1e-300') && !isQuantity('1e301') && !isQuantity('1e-301')"]);
}

#[test]
fn nothing_is_an_integer_however_it_is_written() {
    all_true(&["quantity('0e30').asInteger() == 0 && quantity('0e30').isInteger() && quantity('0').isInteger()"]);
    all_fail(&[("quantity('0m').asInteger()", "cannot convert value to integer")]);
}

#[test]
fn about_the_same_number_is_that_of_a_multiplication() {
    // Digits, with a power of ten that is the one of the form, not of the number: so it is seen where they are rounded.
    all_true(&[
        "quantity('3e40').asApproximateFloat() == 3e40 && quantity('1e300').asApproximateFloat() == 1e300",
        "quantity('3e25').asApproximateFloat() == 3.0000000000000005e25 && quantity('1.1').asApproximateFloat() == 1.1",
        "quantity('0.3').asApproximateFloat() == 0.30000000000000004 && quantity('0.7').asApproximateFloat() == 0.7000000000000001",
        "quantity('1234567890123456789.3').asApproximateFloat() == 1.234567890123457e18",
        "quantity('123456789.123').add(quantity('7e20')).asApproximateFloat() == 7.000000000001236e20",
        "quantity('0.00000000000000000000m').add(quantity('1.5Gi')).asApproximateFloat() == 1610612736.0000002",
        "quantity('0.00000000000000000000').add(quantity('33333333333333333333')).asApproximateFloat() == 3.3333333333333328e19",
        "quantity('0.1').add(quantity('0.00000000000000000000')).asApproximateFloat() == 0.09999999999999999",
    ]);
}
