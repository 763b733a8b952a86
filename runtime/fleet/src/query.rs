//! Queries of paths, escaped.

/// Adds `name=value` to a path's query unless the value is empty. Everything but unreserved characters is escaped (RFC 3986).
pub(crate) fn push_query(path: &mut String, name: &str, value: &str) {
    if value.is_empty() {
        return;
    }
    path.push('&');
    path.push_str(name);
    path.push('=');
    for byte in value.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => path.push(byte as char),
            other => {
                use std::fmt::Write as _;
                // Writing to a String cannot fail.
                let _ = write!(path, "%{other:02X}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_escaped() {
        let mut path = String::from("/x?limit=1");
        push_query(&mut path, "labelSelector", "a in (b,c)");
        push_query(&mut path, "continue", "");
        assert_eq!(path, "/x?limit=1&labelSelector=a%20in%20%28b%2Cc%29");
    }
}
