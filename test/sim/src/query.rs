//! `Query`: what comes after the path of a request.

use std::collections::BTreeMap;

/// Whether a request with this query, as it is sent, asks to watch.
pub fn watches(query: &str) -> bool {
    query.split('&').any(|pair| matches!(pair, "watch=1" | "watch=true"))
}

/// Names and values, decoded.
#[derive(Debug, Clone, Default)]
pub(crate) struct Query(BTreeMap<String, String>);

impl Query {
    pub(crate) fn parse(query: &str) -> Self {
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        Self(
            pairs
                .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
                .map(|(name, value)| (decode(name), decode(value)))
                .collect(),
        )
    }

    /// Empty where it is not said.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    pub(crate) fn is(&self, name: &str) -> bool {
        matches!(self.get(name), "true" | "1")
    }

    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.get(name).parse().ok()
    }
}

fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        let escaped = match (first, tail) {
            (b'%', [high, low, ..]) => {
                let digits = [*high, *low];
                std::str::from_utf8(&digits).ok().and_then(|digits| u8::from_str_radix(digits, 16).ok())
            }
            _ => None,
        };
        match escaped {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => bytes.push(if *first == b'+' { b' ' } else { *first }),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_read() {
        let query = Query::parse("labelSelector=a%20in%20%28b%2Cc%29&watch=1&limit=5&x=%zz");
        assert_eq!(query.get("labelSelector"), "a in (b,c)");
        assert!(query.is("watch") && query.number("limit") == Some(5));
        assert_eq!((query.get("x"), query.get("y")), ("%zz", ""));
    }
}
