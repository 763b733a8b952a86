//! What API servers compile, checked against Go's own answers when it was written.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

#[test]
fn what_api_servers_compile() {
    for pattern in [
        "",
        "^[a-z]+$",
        r"\d+",
        "a|b",
        "(|a)*",
        "()",
        "[a-z]{2,3}",
        "^https?://",
        "(?i)abc",
        "(?i:a)b",
        "(?s-i:a)",
        "(?)",
        "(?:a)",
        r"(?P<name>a)(?<other>b)(?<name>c)",
        "a{,3}",
        "{{x}}",
        "a{",
        "a{1",
        "a{01}",
        "a{1,x}",
        "x{2}y{3,}",
        "a{1000}",
        "(a{10}){100}",
        "a{0}",
        "(a{1000}){0}",
        "[]a]",
        "[^]a]",
        "[[]",
        "[a&&b]",
        "[[:alpha:]_]",
        "[[:^digit:]]",
        "[[:a]",
        "[a-]",
        "[-a]",
        "[a-b-c]",
        r"[\d.\-]",
        r"[\x41-\x5A]",
        r"[\]]",
        r"\pL\p{Greek}\P{^Lu}",
        r"\Qa.(\E+",
        r"\Q(",
        r"\x{10FFFF}",
        r"\07",
        r"\12",
        r"\_",
        r"\/",
        r"\A\b\B\z",
        "^*",
        "$+?",
        "a*?",
        "a+?b??",
        "]",
        "}",
        ".",
        "é+",
        "a(?i)*",
        r"\.",
        r"\Q(\E",
        r"\Q(",
        r"\p{Old_Italic}",
        "a{01}*",
        "[a-a]",
        r"[\pL_]",
        r"\a\f\n\r\t\v",
        r"[\067-\070]",
        r"\QaE(",
        r"\Q\(\E",
    ] {
        assert_eq!(check(pattern), Ok(()), "{pattern}");
    }
}

#[test]
fn what_they_do_not() {
    for pattern in [
        "(",
        ")",
        "a)",
        "[",
        "[]",
        "[a",
        "[z-a]",
        "[a-",
        "*",
        "+a",
        "(*)",
        "a|*",
        "a**",
        "a*+",
        "a*??",
        "a{2}{3}",
        "{1}",
        "a{2,1}",
        "a{1001}",
        "a{99999999999}",
        "(a{100}){11}",
        "((a{10}){10}){11}",
        "(?=a)",
        "(?!x)",
        "(?<=a)",
        "(?<!a)",
        "(?>a)",
        "(?#a)",
        "(?x)a",
        "(?i-)",
        "(?P<1-a>b)",
        "(?P<>a)",
        "(?P<a",
        "(?P=a)",
        r"(a)\1",
        r"\8",
        r"\",
        r"\h",
        r"\Z",
        r"\C",
        r"\E",
        r"\é",
        r"\x1",
        r"\x{110000}",
        r"\x{41",
        r"\x{}",
        r"\xGG",
        r"[\b]",
        r"[a-\d]",
        "[[:foo:]]",
        r"\p{",
        r"\pX",
        r"\p",
        "(?i",
        "(?",
        r"\Qa\E(",
        r"\p{a-b}",
        "a{0}*",
        "(?i--s:a)",
        r"[\101-\060]",
    ] {
        assert!(check(pattern).is_err(), "{pattern}");
    }
}

#[test]
fn long_patterns_are_checked_once() {
    for part in ["(", "[[:", "[", "(?P<a", "a{1", r"\Q", "((((a{9}){9}", "[[:alpha", r"\x{", "(?i", "a|"] {
        let _ = check(&part.repeat((1 << 20) / part.len()));
    }
    assert!(check(&format!("[{}a]", "[:".repeat(1 << 19))).is_ok());
    assert!(check(&format!("{}a{}", "(".repeat(1000), ")".repeat(1000))).is_ok());
    assert!(check(&format!("{}a{}", "(".repeat(1001), ")".repeat(1001))).is_err());
}

proptest! {
    #[test]
    fn never_panics(pattern in r"[\[\]\\\\(){}?*+|^$:,<>=!a-dpPQExi0-9-]{0,24}") {
        let _ = check(&pattern);
    }
}
