//! Whether a text is a regular expression as API servers read it: the RE2 syntax that Go has.
//!
//! No crate says so: the `regex` crate refuses `a{,3}`, `{{x}}`, `[[]` and `\Q.\E`, and takes `[a&&b]` for something else. No
//! matching here, and no recursion. Syntax: <https://pkg.go.dev/regexp/syntax>.

use std::{iter::Peekable, str::Chars};

/// Groups within each other, at the most.
const MAX_GROUPS: usize = 1000;

/// Highest count of a repetition, and of repetitions within each other, multiplied.
const MAX_REPEAT: u32 = 1000;

const POSIX: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "word",
    "xdigit",
];

/// Whether API servers compile it; the error says in a few words why not.
pub(super) fn check(pattern: &str) -> Result<(), String> {
    Checker { chars: pattern.chars().peekable(), groups: Vec::new(), no_posix_class: false }.run()
}

/// What stands in one group, or outside of all.
#[derive(Clone, Copy)]
struct Group {
    /// Counts of repetitions within each other, multiplied: the most of all parts.
    most: u32,
    /// The same for the part that a repetition would repeat.
    last: Option<u32>,
    /// That part ends with a repetition.
    repeated: bool,
}

impl Group {
    const EMPTY: Self = Self { most: 1, last: None, repeated: false };

    fn part(&mut self, counts: u32) {
        *self = Self { most: self.most.max(counts), last: Some(counts), repeated: false };
    }
}

struct Checker<'a> {
    chars: Peekable<Chars<'a>>,
    /// Those that are open around the current one.
    groups: Vec<Group>,
    /// No `:]` is left in the pattern.
    no_posix_class: bool,
}

impl Checker<'_> {
    fn run(mut self) -> Result<(), String> {
        let mut current = Group::EMPTY;
        while let Some(char) = self.chars.next() {
            match char {
                '(' => {
                    if self.opens()? {
                        if self.groups.len() >= MAX_GROUPS {
                            return Err(format!("more than {MAX_GROUPS} groups within each other"));
                        }
                        self.groups.push(current);
                        current = Group::EMPTY;
                    } else {
                        current.repeated = false;
                    }
                }
                ')' => {
                    let counts = current.most;
                    current = self.groups.pop().ok_or("unexpected )")?;
                    current.part(counts);
                }
                '|' => current = Group { last: None, repeated: false, ..current },
                '*' | '+' | '?' => self.repeat(&mut current, 1)?,
                '{' => match self.counts()? {
                    Some(counts) => self.repeat(&mut current, counts)?,
                    None => current.part(1),
                },
                '[' => {
                    self.class()?;
                    current.part(1);
                }
                '\\' => self.escape(&mut current)?,
                _ => current.part(1),
            }
        }
        if self.groups.is_empty() { Ok(()) } else { Err("missing closing )".to_owned()) }
    }

    fn repeat(&mut self, current: &mut Group, times: u32) -> Result<(), String> {
        let Some(counts) = current.last else {
            return Err("missing argument to repetition operator".to_owned());
        };
        if current.repeated {
            return Err("invalid nested repetition operator".to_owned());
        }
        self.chars.next_if_eq(&'?');
        let counts = if times == 0 { 1 } else { counts.saturating_mul(times) };
        if counts > MAX_REPEAT {
            return Err("invalid repeat count".to_owned());
        }
        current.part(counts);
        current.repeated = true;
        Ok(())
    }

    /// The count of `{n}`, `{n,}` or `{n,m}` behind its brace; none, and nothing is read, where the brace stands for
    /// itself.
    fn counts(&mut self) -> Result<Option<u32>, String> {
        let mut ahead = self.chars.clone();
        let Some(least) = whole(&mut ahead) else { return Ok(None) };
        let most = if ahead.next_if_eq(&',').is_none() {
            Some(least)
        } else if ahead.peek() == Some(&'}') {
            None
        } else if let Some(most) = whole(&mut ahead) {
            Some(most)
        } else {
            return Ok(None);
        };
        if ahead.next() != Some('}') {
            return Ok(None);
        }
        self.chars = ahead;
        if least > MAX_REPEAT || most.is_some_and(|most| most > MAX_REPEAT || most < least) {
            return Err("invalid repeat count".to_owned());
        }
        Ok(Some(most.unwrap_or(least)))
    }

    /// Behind `(`: whether a group begins, rather than flags being set.
    fn opens(&mut self) -> Result<bool, String> {
        if self.chars.next_if_eq(&'?').is_none() {
            return Ok(true);
        }
        let mut ahead = self.chars.clone();
        ahead.next_if_eq(&'P');
        if ahead.next_if_eq(&'<').is_some() {
            self.chars = ahead;
            return self.group_name().map(|()| true);
        }
        let (mut negative, mut flagged) = (false, false);
        for char in self.chars.by_ref() {
            match char {
                'i' | 'm' | 's' | 'U' => flagged = true,
                '-' if !negative => (negative, flagged) = (true, false),
                ':' | ')' if !negative || flagged => return Ok(char == ':'),
                _ => break,
            }
        }
        Err("invalid or unsupported Perl syntax: (?".to_owned())
    }

    fn group_name(&mut self) -> Result<(), String> {
        // Two groups may have one name.
        let name = self.until('>').unwrap_or_default();
        if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            Ok(())
        } else {
            Err("invalid or unclosed name of a group".to_owned())
        }
    }

    fn escape(&mut self, current: &mut Group) -> Result<(), String> {
        match self.chars.peek() {
            Some('A' | 'b' | 'B' | 'z' | 'd' | 'D' | 's' | 'S' | 'w' | 'W') => {
                self.chars.next();
            }
            Some('p' | 'P') => self.unicode_class()?,
            Some('Q') => {
                self.chars.next();
                while let Some(char) = self.chars.next() {
                    if char == '\\' && self.chars.next_if_eq(&'E').is_some() {
                        return Ok(());
                    }
                    current.part(1);
                }
                return Ok(());
            }
            _ => {
                self.escaped_char()?;
            }
        }
        current.part(1);
        Ok(())
    }

    /// The character that an escape stands for, behind its backslash.
    fn escaped_char(&mut self) -> Result<u32, String> {
        let invalid = || Err("invalid escape sequence".to_owned());
        let Some(char) = self.chars.next() else {
            return Err("trailing backslash at end of expression".to_owned());
        };
        match char {
            '0'..='7' => {
                if char != '0' && !self.chars.peek().is_some_and(|next| next.is_digit(8)) {
                    return Err("a reference to a group, which RE2 does not have".to_owned());
                }
                let more = (0..2).map_while(|_| self.chars.next_if(|next| next.is_digit(8)));
                let digits = std::iter::once(char).chain(more.collect::<Vec<_>>());
                Ok(digits.filter_map(|digit| digit.to_digit(8)).fold(0, |sum, digit| sum * 8 + digit))
            }
            'x' => {
                let digits: String = if self.chars.next_if_eq(&'{').is_some() {
                    self.until('}').unwrap_or_default()
                } else {
                    let digits: String = self.chars.by_ref().take(2).collect();
                    if digits.len() == 2 { digits } else { return invalid() }
                };
                let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
                match u32::from_str_radix(&digits, 16) {
                    Ok(code) if is_hex && code <= 0x10_ffff => Ok(code),
                    _ => invalid(),
                }
            }
            'a' => Ok(7),
            'f' => Ok(12),
            'n' => Ok(10),
            'r' => Ok(13),
            't' => Ok(9),
            'v' => Ok(11),
            other if other.is_ascii() && !other.is_ascii_alphanumeric() => Ok(u32::from(other)),
            _ => invalid(),
        }
    }

    /// What stands before this character; none when it is not there.
    fn until(&mut self, end: char) -> Option<String> {
        let mut text = String::new();
        for char in self.chars.by_ref() {
            if char == end {
                return Some(text);
            }
            text.push(char);
        }
        None
    }

    /// `\pL`, `\p{Greek}`, `\P{^Lu}`; which scripts there are is not looked at.
    fn unicode_class(&mut self) -> Result<(), String> {
        self.chars.next();
        let known = match self.chars.next() {
            Some('{') => {
                self.chars.next_if_eq(&'^');
                let name = self.until('}').unwrap_or_default();
                !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_')
            }
            Some(letter) => "CLMNPSZ".contains(letter.to_ascii_uppercase()),
            None => false,
        };
        if known { Ok(()) } else { Err("invalid Unicode class".to_owned()) }
    }

    /// Behind `[`, up to its closing bracket.
    fn class(&mut self) -> Result<(), String> {
        self.chars.next_if_eq(&'^');
        // A closing bracket in the first place stands for itself.
        let mut first = true;
        while first || self.chars.peek() != Some(&']') {
            first = false;
            let next = *self.chars.peek().ok_or("missing closing ]")?;
            let is_class = match next {
                '[' => self.posix_class()?,
                '\\' => self.char_class()?,
                _ => false,
            };
            if is_class {
                continue;
            }
            let low = self.class_char()?;
            let mut ahead = self.chars.clone();
            if ahead.next() == Some('-') && ahead.peek().is_some_and(|next| *next != ']') {
                self.chars.next();
                if self.class_char()? < low {
                    return Err("invalid character class range".to_owned());
                }
            }
        }
        self.chars.next();
        Ok(())
    }

    fn class_char(&mut self) -> Result<u32, String> {
        match self.chars.next() {
            None => Err("missing closing ]".to_owned()),
            Some('\\') => self.escaped_char(),
            Some(other) => Ok(u32::from(other)),
        }
    }

    /// Reads `[:alpha:]` within a class, if one is next. A bracket that none is behind stands for itself.
    fn posix_class(&mut self) -> Result<bool, String> {
        let mut ahead = self.chars.clone();
        ahead.next();
        if self.no_posix_class || ahead.next() != Some(':') {
            return Ok(false);
        }
        ahead.next_if_eq(&'^');
        // No known name is longer; without its end it is no class at all, which only the rest of the text can tell.
        let mut name = String::new();
        let mut closed = false;
        while let Some(char) = ahead.next() {
            if char == ':' && ahead.peek() == Some(&']') {
                ahead.next();
                closed = true;
                break;
            }
            if name.len() < 16 {
                name.push(char);
            }
        }
        if !closed {
            // Nor will any later one be closed: looking for it each time would take time by the square.
            self.no_posix_class = true;
            return Ok(false);
        }
        if !POSIX.contains(&name.as_str()) {
            return Err(format!("invalid character class [:{name}:]"));
        }
        self.chars = ahead;
        Ok(true)
    }

    /// Reads `\d` or `\pL` within a class, if one is next.
    fn char_class(&mut self) -> Result<bool, String> {
        let mut ahead = self.chars.clone();
        ahead.next();
        match ahead.peek() {
            Some('d' | 'D' | 's' | 'S' | 'w' | 'W') => {
                ahead.next();
                self.chars = ahead;
                Ok(true)
            }
            Some('p' | 'P') => {
                self.chars = ahead;
                self.unicode_class().map(|()| true)
            }
            _ => Ok(false),
        }
    }
}

/// A whole number without leading zeros; one that is too large is the largest.
fn whole(chars: &mut Peekable<Chars<'_>>) -> Option<u32> {
    let first = chars.next_if(char::is_ascii_digit)?;
    if first == '0' && chars.peek().is_some_and(char::is_ascii_digit) {
        return None;
    }
    let mut sum = first.to_digit(10)?;
    while let Some(digit) = chars.next_if(char::is_ascii_digit) {
        sum = sum.saturating_mul(10).saturating_add(digit.to_digit(10)?);
    }
    Some(sum)
}

#[cfg(test)]
#[path = "re2_tests.rs"]
mod tests;
