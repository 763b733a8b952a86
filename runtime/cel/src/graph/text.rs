//! Texts with `${…}` in them, in the dialect of graphs.
//!
//! Another than that of [`crate::template`], with which Migrations are written: here `$${a}` is a dollar and the value
//! of `a`, what is not closed is plain text, parts are joined with `+` and so must all be texts, and no key has any.
//!
//! A `${` ends at the brace that closes it; those in texts do not count. Comments are no exception: a brace in one
//! counts, and so does a double quote.

use super::go::quote::quote;

/// How often a text may be read, in all, because of `${` that nothing closes.
const READINGS: usize = 32;

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// As it stands there.
    Text(String),
    /// What stands between `${` and `}`.
    Expression(String),
}

/// A text and the expressions in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextTemplate {
    parts: Vec<Part>,
}

/// Why a text is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// There is a `${` within an expression.
    #[error("nested expressions are not allowed unless inside string literals; write a text that holds ${{ as \"${{\"")]
    Nested,
    /// There are too many `${` that nothing closes.
    #[error("too many ${{ that are not closed; close them, or write the text as an expression")]
    Unclosed,
}

/// What is behind a `${`.
enum Inner {
    /// An expression of so many bytes, and the brace.
    Closed(usize),
    /// Nothing closes it.
    Open,
}

impl TextTemplate {
    /// Reads a text. Takes time in proportion to its length.
    pub fn parse(text: &str) -> Result<Self, TextError> {
        let mut parts = Vec::new();
        let (mut plain, mut rest) = (String::new(), text);
        let mut budget = text.len().saturating_mul(READINGS);
        while let Some((before, inner)) = rest.split_once("${") {
            plain.push_str(before);
            match inner_end(inner)? {
                Inner::Closed(end) => {
                    if !plain.is_empty() {
                        parts.push(Part::Text(std::mem::take(&mut plain)));
                    }
                    let (expression, after) = inner.split_at(end);
                    parts.push(Part::Expression(expression.to_owned()));
                    rest = after.strip_prefix('}').unwrap_or_default();
                }
                Inner::Open => {
                    // To the end it was read, and will be again.
                    budget = budget.checked_sub(inner.len()).ok_or(TextError::Unclosed)?;
                    plain.push_str("${");
                    rest = inner;
                }
            }
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            parts.push(Part::Text(plain));
        }
        Ok(Self { parts })
    }

    /// Its pieces, in order; no two texts follow each other.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The expression, when the text is that and nothing else: then its value may be of any type.
    pub fn standalone(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [Part::Expression(expression)] => Some(expression),
            _ => None,
        }
    }

    /// The one expression that the whole becomes; `None` when there is none in it.
    pub fn cel(&self) -> Option<String> {
        if let Some(expression) = self.standalone() {
            return Some(expression.to_owned());
        }
        if !self.parts.iter().any(|part| matches!(part, Part::Expression(_))) {
            return None;
        }
        let parts = self.parts.iter().map(|part| match part {
            Part::Text(text) => quote(text),
            Part::Expression(expression) => format!("({expression})"),
        });
        Some(parts.collect::<Vec<_>>().join(" + "))
    }
}

/// Where the expression ends that a text begins with.
fn inner_end(text: &str) -> Result<Inner, TextError> {
    let bytes = text.as_bytes();
    let (mut at, mut open, mut comment) = (0, 0_usize, false);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'{' if at > 0 && bytes.get(at - 1) == Some(&b'$') => return Err(TextError::Nested),
            b'{' => open += 1,
            b'}' if open == 0 => return Ok(Inner::Closed(at)),
            b'}' => open -= 1,
            b'\n' => comment = false,
            b'/' if bytes.get(at + 1) == Some(&b'/') => comment = true,
            b'"' => match literal_end(text, at, false) {
                Some(end) => at = end,
                None => return Ok(Inner::Open),
            },
            // In a comment it is an apostrophe.
            b'\'' if !comment => match literal_end(text, at, is_raw(bytes, at)) {
                Some(end) => at = end,
                None => return Ok(Inner::Open),
            },
            _ => {}
        }
        at += 1;
    }
    Ok(Inner::Open)
}

/// Whether `r` stands right before the quote, as in `r'\d'`.
fn is_raw(bytes: &[u8], quote: usize) -> bool {
    let before = |back: usize| quote.checked_sub(back).and_then(|at| bytes.get(at)).copied().unwrap_or(b' ');
    let in_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    match (before(1).to_ascii_lowercase(), before(2).to_ascii_lowercase()) {
        (b'r', b'b') => !in_name(before(3)),
        (b'r', other) => !in_name(other),
        _ => false,
    }
}

/// The last byte of the text literal that begins with this quote.
fn literal_end(text: &str, start: usize, raw: bool) -> Option<usize> {
    let bytes = text.as_bytes();
    let quote = *bytes.get(start)?;
    let triple = [quote; 3];
    let closing: &[u8] = if bytes[start..].starts_with(&triple) { &triple } else { &triple[..1] };
    let mut at = start + closing.len();
    loop {
        let rest = bytes.get(at..).filter(|rest| !rest.is_empty())?;
        if rest.starts_with(closing) {
            return Some(at + closing.len() - 1);
        }
        at += if rest.starts_with(b"\\") && !raw { 2 } else { 1 };
    }
}
