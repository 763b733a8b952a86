//! `strconv.Quote`: a text between double quotes, as CEL reads it too.

use std::fmt::Write as _;

/// Between double quotes; what is no printable character is escaped.
pub(in crate::graph) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for char in text.chars() {
        match char {
            '"' | '\\' => out.extend(['\\', char]),
            ' '..='~' => out.push(char),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            _ if printable(char) => out.push(char),
            _ => {
                let code = u32::from(char);
                // Writing into a text does not fail.
                let _ = match code {
                    0..0x20 | 0x7f => write!(out, "\\x{code:02x}"),
                    ..0x1_0000 => write!(out, "\\u{code:04x}"),
                    _ => write!(out, "\\U{code:08x}"),
                };
            }
        }
    }
    out.push('"');
    out
}

/// Letters, marks, numbers, punctuation, symbols. Behind another character Rust escapes all else, and nothing of these.
fn printable(char: char) -> bool {
    let mut text = "x".to_owned();
    text.push(char);
    text.escape_debug().count() == 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_what_cannot_be_printed() {
        for (text, quoted) in [
            ("", r#""""#),
            ("a\"b\\c", r#""a\"b\\c""#),
            ("\n\t\r\u{7}\u{8}\u{b}\u{c}", r#""\n\t\r\a\b\v\f""#),
            ("\0\u{1b}\u{7f}", r#""\x00\x1b\x7f""#),
            ("é☃😀e\u{301}", "\"é☃😀e\u{301}\""),
            ("\u{a0}\u{2028}\u{feff}\u{e000}", r#""\u00a0\u2028\ufeff\ue000""#),
            ("\u{e0001}", r#""\U000e0001""#),
        ] {
            assert_eq!(quote(text), quoted);
        }
    }
}
