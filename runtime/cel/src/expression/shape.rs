//! Counts in the text of an expression what makes the parser and the interpreter recurse or loop.
//!
//! Not a parser: it reads texts, comments and brackets well enough to count, and must never count less than there is.
//! So a text that CEL's lexer would not take as one is refused here: the lexer drops its quote and reads on, and what
//! was a text to us would be code to the parser. Lexical rules:
//! <https://github.com/google/cel-spec/blob/master/doc/langdef.md#syntax>.

use super::{error::ExpressionError, limits::Shape};

/// The macros that loop.
const LOOPS: &[&str] = &[
    "all",
    "exists",
    "exists_one",
    "existsOne",
    "filter",
    "map",
    "sortBy",
    "transformList",
    "transformMap",
    "transformMapEntry",
];

/// Refuses a text that is empty, too long, or too complex.
pub(crate) fn check(source: &str, most: &Shape) -> Result<(), ExpressionError> {
    if source.len() > most.bytes {
        return Err(ExpressionError::TooLong { bytes: source.len(), most: most.bytes });
    }
    if source.trim().is_empty() {
        return Err(ExpressionError::Empty);
    }
    let mut counter = Counter::default();
    let mut tokens = Tokens { source, position: 0 };
    while let Some((position, token)) = tokens.next_token() {
        let verdict = token.map_err(str::to_owned).and_then(|token| counter.count(token, most));
        verdict.map_err(|what| {
            let (line, column) = place(source, position);
            ExpressionError::TooComplex { line, column, what }
        })?;
    }
    Ok(())
}

/// Line and column of a byte, both from 1, the column in characters.
fn place(source: &str, position: usize) -> (usize, usize) {
    let before = &source[..position];
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (before.matches('\n').count() + 1, column)
}

/// Where a name stands first: as one of its own, or behind a dot.
pub(crate) fn place_of(source: &str, name: &str, behind_dot: bool) -> Option<(usize, usize)> {
    let mut tokens = Tokens { source, position: 0 };
    let mut dot = false;
    while let Some((position, Ok(token))) = tokens.next_token() {
        if token == Token::Word(name) && dot == behind_dot {
            return Some(place(source, position));
        }
        dot = token == Token::Dot;
    }
    None
}

/// Where the `}` is that closes an expression, in bytes; those in its texts, comments and maps do not. The error says why
/// there is none.
pub fn closing_brace(source: &str) -> Result<usize, &'static str> {
    let mut open = 0_usize;
    let mut tokens = Tokens { source, position: 0 };
    while let Some((position, token)) = tokens.next_token() {
        match (token?, source.as_bytes()[position]) {
            (Token::Open, b'{') => open += 1,
            (Token::Close, b'}') if open == 0 => return Ok(position),
            (Token::Close, b'}') => open -= 1,
            _ => {}
        }
    }
    Err("a brace that is not closed")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    Open,
    Close,
    Dot,
    Operator,
    Word(&'a str),
    Other,
}

#[derive(Default)]
struct Counter {
    /// Open brackets; true where a loop's arguments stand.
    open: Vec<bool>,
    operators: usize,
    dots: usize,
    loops: usize,
    /// The last word was one of [`LOOPS`].
    after_loop: bool,
}

impl Counter {
    fn count(&mut self, token: Token<'_>, most: &Shape) -> Result<(), String> {
        let after_loop = std::mem::take(&mut self.after_loop);
        match token {
            Token::Open => {
                self.open.push(after_loop);
                self.loops += usize::from(after_loop);
                let nested = self.open.iter().filter(|is_loop| **is_loop).count();
                at_most(self.open.len(), most.brackets, "brackets within brackets")?;
                at_most(self.loops, most.loops, "loops (all, exists, map, …)")?;
                at_most(nested, most.nested_loops, "loops within loops")
            }
            Token::Close => {
                self.open.pop();
                Ok(())
            }
            Token::Dot => {
                self.dots += 1;
                at_most(self.dots, most.dots, "fields and methods")
            }
            Token::Operator | Token::Word("in") => {
                self.operators += 1;
                at_most(self.operators, most.operators, "operators")
            }
            Token::Word(word) => {
                self.after_loop = LOOPS.contains(&word);
                Ok(())
            }
            Token::Other => Ok(()),
        }
    }
}

fn at_most(count: usize, most: usize, what: &str) -> Result<(), String> {
    if count > most { Err(format!("more than {most} {what}")) } else { Ok(()) }
}

struct Tokens<'a> {
    source: &'a str,
    position: usize,
}

impl<'a> Tokens<'a> {
    /// The next token, or why there is none, and where it begins; blanks and comments are skipped.
    fn next_token(&mut self) -> Option<(usize, Result<Token<'a>, &'static str>)> {
        loop {
            let rest = &self.source[self.position..];
            let first = rest.chars().next()?;
            if first.is_whitespace() {
                self.position += first.len_utf8();
            } else if rest.starts_with("//") {
                self.position += rest.find('\n').unwrap_or(rest.len());
            } else {
                let start = self.position;
                let token = read(rest, first);
                self.position += token.map_or(1, |(length, _)| length);
                return Some((start, token.map(|(_, token)| token)));
            }
        }
    }
}

/// Length and kind of the token that `rest` begins with.
fn read(rest: &str, first: char) -> Result<(usize, Token<'_>), &'static str> {
    Ok(match first {
        '(' | '[' | '{' => (1, Token::Open),
        ')' | ']' | '}' => (1, Token::Close),
        '.' => (1, Token::Dot),
        '&' | '|' | '=' if rest[1..].starts_with(first) => (2, Token::Operator),
        '<' | '>' | '!' if rest[1..].starts_with('=') => (2, Token::Operator),
        '+' | '-' | '*' | '/' | '%' | '<' | '>' | '=' | '!' | '&' | '|' | '?' => (1, Token::Operator),
        '"' | '\'' => (text(rest, false)?, Token::Other),
        '`' => {
            let length = rest[1..].find('`').ok_or("a name in backticks that is not closed")?;
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-/ ".contains(&byte);
            if !rest[1..=length].bytes().all(plain) {
                return Err("a name in backticks with other than letters, digits, '_', '.', '-', '/' and blanks");
            }
            (length + 2, Token::Other)
        }
        first if first.is_ascii_alphabetic() || first == '_' => {
            let length = rest.find(|char: char| !char.is_ascii_alphanumeric() && char != '_').unwrap_or(rest.len());
            let word = &rest[..length];
            if !rest[length..].starts_with(['"', '\'']) {
                return Ok((length, Token::Word(word)));
            }
            // r'…', b"…", br'''…''': the backslash of a raw text escapes nothing.
            let raw = match word.to_ascii_lowercase().as_str() {
                "b" => false,
                "r" | "br" => true,
                _ => return Err("a text right behind a name"),
            };
            (length + text(&rest[length..], raw)?, Token::Other)
        }
        other => (other.len_utf8(), Token::Other),
    })
}

/// Length of the text literal that `rest` begins with.
fn text(rest: &str, raw: bool) -> Result<usize, &'static str> {
    let quote = &rest[..1];
    let triple = quote.repeat(3);
    let quote = if rest.starts_with(&triple) { triple.as_str() } else { quote };
    let mut position = quote.len();
    while let Some(char) = rest[position..].chars().next() {
        if rest[position..].starts_with(quote) {
            return Ok(position + quote.len());
        }
        if quote.len() == 1 && matches!(char, '\n' | '\r') {
            break;
        }
        position += if char == '\\' && !raw { escape(&rest[position..])? } else { char.len_utf8() };
    }
    Err("a text that is not closed")
}

/// Length of the escape that `rest` begins with.
fn escape(rest: &str) -> Result<usize, &'static str> {
    let (digits, fits): (usize, fn(&u8) -> bool) = match rest.as_bytes().get(1) {
        Some(b'a' | b'b' | b'f' | b'n' | b'r' | b't' | b'v' | b'"' | b'\'' | b'\\' | b'?' | b'`') => (0, |_| true),
        Some(b'x' | b'X') => (2, u8::is_ascii_hexdigit),
        Some(b'u') => (4, u8::is_ascii_hexdigit),
        Some(b'U') => (8, u8::is_ascii_hexdigit),
        Some(b'0'..=b'3') => (2, |byte| matches!(byte, b'0'..=b'7')),
        _ => return Err("a text with an escape that CEL does not know"),
    };
    match rest.as_bytes().get(2..2 + digits) {
        Some(bytes) if bytes.iter().all(fits) => Ok(2 + digits),
        _ => Err("a text with an escape that CEL does not know"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    fn refused(source: &str) -> String {
        check(source, &Shape::default()).unwrap_err().to_string()
    }

    #[test]
    fn a_name_is_found_behind_a_dot_or_as_one_of_its_own() {
        let source = "x.a +\n a";
        assert_eq!([true, false].map(|behind| place_of(source, "a", behind)), [Some((1, 3)), Some((2, 2))]);
        assert_eq!([true, false].map(|behind| place_of("x.a", "x", behind)), [None, Some((1, 1))]);
    }

    #[test]
    fn takes_what_people_write() {
        for source in [
            "'''a\nb''' != ''",
            "self.spec.fqdn.endsWith('.corp') && self.spec.size <= 8",
            "self.spec.zones.all(z, z.hosts.exists(h, h != ''))",
            "'((((((((((((((((((((((' == r'\\' || true",
            "\"\"\" \" (((((((((((((((((((((((( \"\"\" != ''",
            "true // ((((((((((((((((((((((((",
            "has(self.spec.a) ? self.spec.a in ['x', 'y'] : false",
            r"'\x41\u00e9\U0001F600\101\n\'' == b'((((((((((((((((((((' || br'\' == R'\'",
            "self.`a//b`.c // '",
        ] {
            assert_eq!(check(source, &Shape::default()), Ok(()), "{source}");
        }
    }

    #[test]
    fn counts_and_names_the_place() {
        let most = Shape::default();
        assert_eq!(check(" \n\t", &most), Err(ExpressionError::Empty));
        assert_eq!(check(&" ".repeat(2049), &most), Err(ExpressionError::TooLong { bytes: 2049, most: 2048 }));
        assert_eq!(
            refused(&format!("true ||\n{}", "(".repeat(17))),
            "line 2, column 17: more than 16 brackets within brackets"
        );
        assert_eq!(refused(&"[".repeat(17)), "line 1, column 17: more than 16 brackets within brackets");
        assert!(refused(&["1"; 1000].join("+")).ends_with("more than 128 operators"));
        assert!(refused(&"!".repeat(2000)).ends_with("more than 128 operators"));
        assert!(refused(&["1"; 400].join(" in ")).ends_with("more than 128 operators"));
        assert!(refused(&["a"; 1000].join(".")).ends_with("more than 256 fields and methods"));
        assert!(refused("a.all(x, x.all(y, y.all(z, z)))").ends_with("more than 2 loops within loops"));
        assert!(refused("a.map (x, x . filter\n(y, y.exists_one(z, z)))").ends_with("more than 2 loops within loops"));
        assert!(refused(&format!("a{}", ".map(x, x)".repeat(9))).contains("more than 8 loops"));
        assert!(refused(&format!("'{}", "'+'".repeat(200))).contains("operators"));
    }

    #[test]
    fn a_text_cannot_hide_code() {
        let deep = "(".repeat(100);
        for (opening, error) in [
            ("'", "not closed"),
            ("\"", "not closed"),
            ("'''", "not closed"),
            ("'\r", "not closed"),
            ("'\n", "not closed"),
            (r"'\q", "escape"),
            (r"'\x4", "escape"),
            (r"'\400", "escape"),
            (r"'''\uZZZZ", "escape"),
            (r"rb'\' '", "behind a name"),
            ("self'", "behind a name"),
            ("a.`//`", "brackets"),
            ("a.`'`", "backticks"),
            ("a.`", "backticks"),
            ("r'\\'", "brackets"),
            ("// '\n", "brackets"),
            ("''''''", "brackets"),
        ] {
            let refused = refused(&format!("{opening}{deep}"));
            assert!(refused.contains(error), "{opening}: {refused}");
        }
    }

    proptest! {
        #[test]
        fn never_panics(source in "\\PC{0,60}") {
            let _ = check(&source, &Shape::default());
        }

        #[test]
        fn never_panics_on_quotes(source in "[rRbBx4\"'`\\\\\n/(). é]{0,40}") {
            let _ = check(&source, &Shape::default());
        }
    }
}
