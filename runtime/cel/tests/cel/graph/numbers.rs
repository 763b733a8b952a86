//! Numbers: what of them fits, how they are read and written, and how those of two kinds compare. As cel-go has it.

use super::{all_fail, all_true};

#[test]
fn a_conversion_ends_where_the_other_kind_does() {
    all_true(&[
        "int(-9223372036854774784.0) == -9223372036854774784 && int(9223372036854774784.0) == 9223372036854774784",
        "uint(0.0) == 0u && uint(-0.0) == 0u && uint(18446744073709549568.0) == 18446744073709549568u",
        "int('+5') == 5 && int('-0') == 0 && uint('007') == 7u && uint('18446744073709551615') > 1u",
    ]);
    all_fail(&[
        // Not even the least of them: as a double nobody knows whether it is the next one.
        ("int(-9223372036854775808.0)", "integer overflow"),
        ("uint(18446744073709551615.0)", "unsigned integer overflow"),
        ("int(9223372036854775808u)", "integer overflow"),
        ("uint(-1)", "unsigned integer overflow"),
        ("int('')", "type conversion error"),
        ("int('+')", "type conversion error"),
        ("int('1_0')", "type conversion error"),
        ("int('9223372036854775808')", "type conversion error"),
        ("uint('')", "type conversion error"),
        ("uint('+5')", "type conversion error"),
        ("uint('-0')", "type conversion error"),
        ("uint('18446744073709551616')", "type conversion error"),
    ]);
}

#[test]
fn whole_numbers_of_two_kinds_compare_as_such_and_not_as_doubles() {
    all_true(&[
        // As doubles these are the same.
        "dyn(9007199254740993u) != dyn(9007199254740992) && dyn(9007199254740993u) > dyn(9007199254740992)",
        "dyn(9223372036854775807) != dyn(9223372036854775808u) && dyn(9223372036854775807) == dyn(9223372036854775807u)",
        "dyn(-1) != dyn(18446744073709551615u)",
    ]);
}

#[test]
fn operators_of_each_kind() {
    all_true(&[
        "3.5 - 1.25 == 2.25 && 3.5 * 0.5 == 1.75 && 7u - 4u == 3u && 7 - 9 == -2",
        "7u % 4u == 3u && 7u / 2u == 3u && 7.0 / 2.0 == 3.5",
    ]);
    all_fail(&[
        ("1 / 0", "division by zero"),
        ("1u / 0u", "division by zero"),
        ("1 % 0", "modulus by zero"),
        ("1u % 0u", "modulus by zero"),
        ("7.0 % 2.0", "no such overload"),
    ]);
}

#[test]
fn underscores_stand_between_digits() {
    all_true(&[
        "double('1_23.50_0_0e+1_2') == 1.235e14 && double('0') == 0.0",
        // Behind the prefix, too; what is a digit depends on it.
        "double('0x_1_2.3_4_5p+1_2') == 74565.0 && double('0x12_a.b_cp1') == 597.46875 && double('0x1p0_0') == 1.0",
    ]);
    for text in [
        "_123.5e+12",
        "-_123.5e+12",
        "1__23.5e+12",
        "123_.5e+12",
        "123._5e+12",
        "123.5_e+12",
        "123.5e_+12",
        "123.5e+_12",
        "123.5e-_12",
        "123.5e+12_",
        "1_a",
        "0x__1p0",
        "0x1_p0",
        "0x1._0p0",
        "0x1_g.p0",
        "0b1",
    ] {
        all_fail(&[(&format!("double('{text}')"), "type conversion error")]);
    }
}

#[test]
fn more_digits_than_a_double_has_decide_how_it_is_rounded() {
    all_true(&[
        // Half of what is the least that can be told: to the even one, unless anything stands behind it, however far.
        "double('0x1.00000000000008p0') == 1.0 && double('0x1.000000000000080000p0') == 1.0",
        "double('0x1.0000000000000801p0') == 1.0000000000000002 && double('0x1.00000000000008001p0') == 1.0000000000000002",
        "double('0x1.00000000000008011p0') == 1.0000000000000002 && double('0x1.0000000000000811p0') == 1.0000000000000002",
        "double('0x1.000000000000180000p0') == 1.0000000000000004 && double('0x1.fffffffffffff7ffffp0') == 1.9999999999999998",
    ]);
}

#[test]
fn what_is_no_number_is_written_too() {
    all_true(&[
        "string(0.0) == '0' && string(-0.0) == '-0' && string(0.0 / 0.0) == 'NaN'",
        "string(1.0 / 0.0) == '+Inf' && string(-1.0 / 0.0) == '-Inf'",
    ]);
}
