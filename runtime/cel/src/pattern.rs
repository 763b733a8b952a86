//! Patterns in RE2 syntax, on the `regex` crate: linear time, bounded memory.
//!
//! The two differ in a few signs, which are translated: in RE2 `\d`, `\s`, `\w` and `\b` are ASCII, and inside a class
//! `[`, `&` and `~` are plain characters. Syntax: <https://github.com/google/re2/wiki/Syntax>.

use regex::{Regex, RegexBuilder};

/// Longest pattern, in bytes.
const MAX_PATTERN: usize = 1024;

/// Longest text that a pattern is tried on, in bytes.
pub const MAX_TEXT: usize = 4 * 1024;

/// Bytes that a compiled pattern, and its cache while matching, may take.
const MAX_COMPILED: usize = 128 * 1024;

/// Bytes that the smallest of patterns is taken to have.
const MIN_COMPILED: usize = 1024;

/// What matching costs beside what it costs for each byte of text, in bytes of text.
const OVERHEAD: u64 = 16;

/// A compiled pattern, and what it may cost.
#[derive(Debug, Clone)]
pub struct Pattern {
    regex: Regex,
    /// Bytes that it takes, as a power of two.
    size: usize,
}

impl Pattern {
    /// Compiles a pattern; the error says what is wrong in one line.
    pub fn compile(pattern: &str) -> Result<Self, String> {
        if pattern.len() > MAX_PATTERN {
            return Err(format!("is longer than {MAX_PATTERN} bytes"));
        }
        let pattern = translate(pattern);
        let mut size = MIN_COMPILED;
        // How large it is the crate does not say, but whether it is larger than this.
        loop {
            let built = RegexBuilder::new(&pattern).size_limit(size).dfa_size_limit(size).nest_limit(32).build();
            match built {
                Ok(regex) => return Ok(Self { regex, size }),
                Err(regex::Error::CompiledTooBig(_)) if size < MAX_COMPILED => size *= 2,
                Err(error) => return Err(described(&error)),
            }
        }
    }

    /// Whether it matches somewhere in a text of at most [`MAX_TEXT`] bytes.
    pub fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// The parts of a text that match, from left to right, none within another.
    pub fn find_all<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        self.regex.find_iter(text).map(|found| found.as_str())
    }

    /// What that costs at worst: matching takes time in proportion to the pattern's size and to the text's length.
    pub fn cost(&self, text: &str) -> u64 {
        (self.size as u64).saturating_mul(text.len() as u64 + OVERHEAD)
    }

    /// Bytes that it takes, as a power of two.
    pub fn size(&self) -> usize {
        self.size
    }
}

fn described(error: &regex::Error) -> String {
    if let regex::Error::CompiledTooBig(_) = error {
        return "is too large: use smaller repetitions".to_owned();
    }
    // The crate's own text is a picture over several lines; its last one says what is wrong.
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default().trim();
    format!("is not an RE2 expression: {}", last.strip_prefix("error: ").unwrap_or(last))
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
            assert_eq!(Pattern::compile(pattern).unwrap().is_match(text), matches, "{pattern} on {text}");
        }
    }

    #[test]
    fn says_what_is_wrong_in_one_line() {
        for pattern in
            ["(", "a{2,1}", "[", r"\Qa", r"(a)\1", "(?=a)", r"(\w{50}){200}", &"(".repeat(200), &"a".repeat(1025)]
        {
            let error = Pattern::compile(pattern).unwrap_err();
            assert!(!error.contains('\n') && error.starts_with("is "), "{error}");
        }
    }

    #[test]
    fn is_bounded() {
        let ones = |length: usize| Pattern::compile(&"a".repeat(length));
        assert!(ones(MAX_PATTERN).is_ok() && ones(MAX_PATTERN + 1).is_err());
        let large = |times: usize| format!("(a?){{{times}}}b");
        let takes = |most: usize, times: usize| RegexBuilder::new(&large(times)).size_limit(most).build().is_ok();
        let times = (1..10_000).find(|times| !takes(MAX_COMPILED, *times)).unwrap();
        assert!(takes(2 * MAX_COMPILED, times), "it is not twice as large");
        assert!(Pattern::compile(&large(times - 1)).is_ok());
        assert_eq!(Pattern::compile(&large(times)).unwrap_err(), "is too large: use smaller repetitions");
    }

    #[test]
    fn a_larger_pattern_and_a_longer_text_cost_more() {
        let (small, large) = (Pattern::compile("^web-").unwrap(), Pattern::compile("(a?){500}b").unwrap());
        assert_eq!(small.size(), MIN_COMPILED);
        assert!(large.size() > 16 * MIN_COMPILED && large.size() <= MAX_COMPILED, "{}", large.size());
        assert!(small.cost("") > 0 && small.cost("web") > small.cost(""));
        assert_eq!(large.cost("web") / small.cost("web"), (large.size() / small.size()) as u64);
    }

    proptest! {
        #[test]
        fn never_panics(pattern in r"[\[\]\\&~^:()dDwWsSbQEa.*-]{0,24}", text in "\\PC{0,12}") {
            if let Ok(pattern) = Pattern::compile(&pattern) {
                pattern.is_match(&text);
            }
        }
    }
}
