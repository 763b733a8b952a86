//! `Query`: what stands behind the question mark of a path.

use std::fmt;

/// The parameters of a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Query<'a>(Option<&'a str>);

/// Longest value that is looked at, in characters. Names and namespaces are shorter.
const LONGEST: usize = 512;

impl<'a> Query<'a> {
    /// Those of a URI's query.
    pub(super) fn new(query: Option<&'a str>) -> Self {
        Self(query)
    }

    /// The value of a parameter, as a form sends it; empty where there is none.
    pub(super) fn value(&self, name: &str) -> String {
        let mut pairs = self.0.unwrap_or_default().split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        let found = pairs.find(|(key, _)| decoded(key) == name);
        found.map(|(_, value)| decoded(value).chars().take(LONGEST).collect()).unwrap_or_default()
    }

    /// Whether it has none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_none_or(str::is_empty)
    }
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

/// What forms encode. A `%` that begins nothing stays one.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let pair = bytes.get(at + 1).zip(bytes.get(at + 2)).and_then(|(high, low)| hex(*high).zip(hex(*low)));
        match (byte, pair) {
            (b'%', Some((high, low))) => {
                plain.push(16 * high + low);
                at += 2;
            }
            (b'+', _) => plain.push(b' '),
            (other, _) => plain.push(other),
        }
        at += 1;
    }
    String::from_utf8_lossy(&plain).into_owned()
}

/// A value as it stands in a link: nothing is left of it but letters, digits and what means nothing (RFC 3986).
#[derive(Debug, Clone, Copy)]
pub(super) struct Encoded<'a>(pub(super) &'a str);

impl fmt::Display for Encoded<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.0.bytes() {
            match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                    write!(f, "{}", char::from(byte))?;
                }
                other => write!(f, "%{other:02X}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_forms_send_them() {
        let query = Query::new(Some("q=a+b%2Fc&cluster=consumer%23homer&empty=&flag&q=second"));
        assert_eq!((query.value("q"), query.value("cluster")), ("a b/c".into(), "consumer#homer".into()));
        assert_eq!((query.value("empty"), query.value("flag"), query.value("none")), Default::default());
        assert!(!query.is_empty() && Query::new(None).is_empty() && Query::new(Some("")).is_empty());
    }

    #[test]
    fn what_is_malformed_is_harmless() {
        for (text, plain) in
            [("%", "%"), ("%2", "%2"), ("%zz", "%zz"), ("%%41", "%A"), ("%FF", "\u{fffd}"), ("%00", "\0")]
        {
            assert_eq!(Query::new(Some(&format!("q={text}"))).value("q"), plain, "{text}");
        }
        let long = format!("q={}", "%41".repeat(10_000));
        assert_eq!(Query::new(Some(&long)).value("q").len(), LONGEST);
    }

    #[test]
    fn what_is_encoded_is_decoded_again() {
        let hostile = "a&b=c#d\"<e>' /ä%\n";
        let encoded = Encoded(hostile).to_string();
        assert!(encoded.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"%-._~".contains(&byte)), "{encoded}");
        assert_eq!(Query::new(Some(&format!("x=1&q={encoded}"))).value("q"), hostile);
    }
}
