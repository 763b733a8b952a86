//! Parts of paths and queries, escaped: none can be read as more than one part.

use std::{borrow::Cow, fmt::Write as _};

/// Adds `name=value` to a path's query unless the value is empty. Everything but unreserved characters is escaped (RFC 3986).
pub(crate) fn push_query(path: &mut String, name: &str, value: &str) {
    if value.is_empty() {
        return;
    }
    path.push('&');
    path.push_str(name);
    path.push('=');
    escape(path, value, is_unreserved);
}

/// A name as one segment of a path. Those that API servers take stay as they are, `system:node` too.
pub(crate) fn segment(name: &str) -> Cow<'_, str> {
    let stays = |byte| is_unreserved(byte) || byte == b':';
    if name.bytes().all(stays) {
        return name.into();
    }
    let mut escaped = String::new();
    escape(&mut escaped, name, stays);
    escaped.into()
}

fn escape(text: &mut String, part: &str, stays: impl Fn(u8) -> bool) {
    for byte in part.bytes() {
        if stays(byte) {
            text.push(byte as char);
        } else {
            // Writing to a String cannot fail.
            let _ = write!(text, "%{byte:02X}");
        }
    }
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_segment() {
        assert!(matches!(segment("system:a.b-c"), Cow::Borrowed("system:a.b-c")));
        assert_eq!(segment("a/secrets?watch=true#"), "a%2Fsecrets%3Fwatch%3Dtrue%23");
    }

    #[test]
    fn queries_are_escaped() {
        let mut path = String::from("/x?limit=1");
        push_query(&mut path, "labelSelector", "a in (b,c)");
        push_query(&mut path, "continue", "");
        assert_eq!(path, "/x?limit=1&labelSelector=a%20in%20%28b%2Cc%29");
    }
}
