//! Patterns in RE2 syntax, on the `regex` crate: linear time, bounded memory.
//!
//! The two differ in a few signs, which are translated: in RE2 `\d`, `\s`, `\w` and `\b` are ASCII, and inside a class
//! `[`, `&` and `~` are plain characters. Syntax: <https://github.com/google/re2/wiki/Syntax>.

use regex::{Regex, RegexBuilder};

/// Longest pattern, in bytes.
const MAX_PATTERN: usize = 1024;

/// Longest text that a pattern is tried on, in bytes: matching takes pattern size × text length at worst.
pub(crate) const MAX_TEXT: usize = 16 * 1024;

/// Bytes that a compiled pattern, and its cache while matching, may take.
const MAX_COMPILED: usize = 128 * 1024;

/// Compiles a pattern; the error says what is wrong in one line.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    if pattern.len() > MAX_PATTERN {
        return Err(format!("is longer than {MAX_PATTERN} bytes"));
    }
    RegexBuilder::new(&translate(pattern))
        .size_limit(MAX_COMPILED)
        .dfa_size_limit(MAX_COMPILED)
        .nest_limit(32)
        .build()
        .map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => "is too large: use smaller repetitions".to_owned(),
            // The crate's own text is a picture over several lines; its last one says what is wrong.
            error => {
                let text = error.to_string();
                let last = text.lines().last().unwrap_or_default().trim();
                format!("is not an RE2 expression: {}", last.strip_prefix("error: ").unwrap_or(last))
            }
        })
}

fn translate(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + 16);
    let mut class = false;
    let mut chars = pattern.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\\' => match chars.next() {
                Some('d') => out.push_str("[0-9]"),
                Some('D') => out.push_str("[^0-9]"),
                Some('s') => out.push_str(r"[\t\n\f\r ]"),
                Some('S') => out.push_str(r"[^\t\n\f\r ]"),
                Some('w') => out.push_str("[0-9A-Za-z_]"),
                Some('W') => out.push_str("[^0-9A-Za-z_]"),
                Some('b') if !class => out.push_str(r"(?-u:\b)"),
                Some(other) => out.extend(['\\', other]),
                None => out.push('\\'),
            },
            '[' if class && chars.peek() == Some(&':') => {
                // A named class, [:alpha:], up to its closing bracket.
                out.push('[');
                for inner in chars.by_ref() {
                    out.push(inner);
                    if inner == ']' {
                        break;
                    }
                }
            }
            '[' | '&' | '~' if class => out.extend(['\\', char]),
            '[' => {
                class = true;
                out.push('[');
                out.extend(chars.next_if_eq(&'^'));
                // A closing bracket in the first place is a plain character.
                if chars.next_if_eq(&']').is_some() {
                    out.push_str(r"\]");
                }
            }
            ']' => {
                class = false;
                out.push(']');
            }
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn matches_as_re2_does() {
        for (pattern, text, matches) in [
            (r"^\d+$", "42", true),
            (r"^\d+$", "٤٢", false),
            (r"^[\d.]+$", "4.2", true),
            (r"^[^\d]+$", "٤٢", true),
            (r"^\\d$", r"\d", true),
            (r"\bcorp\b", "a.corp.com", true),
            (r"^[[]$", "[", true),
            (r"^[a&&b]+$", "a&b", true),
            (r"^[]a]+$", "]a", true),
            (r"^[[:alpha:]]+$", "abc", true),
            (r"^[^[:alpha:]]+$", "abc", false),
            (r"(?i)^ABC$", "abc", true),
            (r"^(?P<host>\w+)\.corp$", "x.corp", true),
            (r"corp", "my.corp.com", true),
        ] {
            assert_eq!(compile(pattern).unwrap().is_match(text), matches, "{pattern} on {text}");
        }
    }

    #[test]
    fn says_what_is_wrong_in_one_line() {
        for pattern in
            ["(", "a{2,1}", "[", r"\Qa", r"(a)\1", "(?=a)", r"(\w{50}){200}", &"(".repeat(200), &"a".repeat(1025)]
        {
            let error = compile(pattern).unwrap_err();
            assert!(!error.contains('\n') && error.starts_with("is "), "{error}");
        }
    }

    proptest! {
        #[test]
        fn never_panics(pattern in r"[\[\]\\&~^:()dDwWsSbQEa.*-]{0,24}", text in "\\PC{0,12}") {
            if let Ok(regex) = compile(&pattern) {
                regex.is_match(&text);
            }
        }
    }
}
