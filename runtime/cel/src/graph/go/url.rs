//! URLs: `url.ParseRequestURI` and what can be asked of its result.
//!
//! Not as browsers read them, which would mend and normalise: here a path stays as it was written.

use std::{collections::BTreeMap, net::Ipv6Addr};

/// A URL, or an absolute path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::graph) struct Url {
    scheme: String,
    /// What follows the scheme, where that is no path.
    opaque: String,
    user: Option<(Vec<u8>, Option<Vec<u8>>)>,
    host: Vec<u8>,
    path: Vec<u8>,
    /// The path as it was written, where escaping it again would make another text.
    raw_path: Option<String>,
    query: String,
    /// A question mark without a query.
    asks: bool,
    /// No host was written, as in `file:/a`.
    hostless: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    User,
    Host,
    Zone,
    Path,
    Query,
}

impl Url {
    /// Reads an absolute URL or path; the error says what is wrong.
    pub(in crate::graph) fn parse(text: &str) -> Result<Self, String> {
        if text.bytes().any(|byte| byte < 0x20 || byte == 0x7f) {
            return Err("invalid control character in URL".to_owned());
        }
        if text.is_empty() {
            return Err("empty url".to_owned());
        }
        let mut url = Self::default();
        if text == "*" {
            url.path = b"*".to_vec();
            return Ok(url);
        }
        let (scheme, mut rest) = split_scheme(text)?;
        url.scheme = scheme.to_ascii_lowercase();
        match rest.split_once('?') {
            Some((before, "")) => (url.asks, rest) = (true, before),
            Some((before, query)) => (url.query, rest) = (query.to_owned(), before),
            None => {}
        }
        if !rest.starts_with('/') {
            if url.scheme.is_empty() {
                return Err("invalid URI for request".to_owned());
            }
            rest.clone_into(&mut url.opaque);
            return Ok(url);
        }
        if let Some(authority) = rest.strip_prefix("//").filter(|_| !url.scheme.is_empty()) {
            let (authority, path) = authority.split_at(authority.find('/').unwrap_or(authority.len()));
            url.read_authority(authority)?;
            rest = path;
        } else {
            url.hostless = !url.scheme.is_empty();
        }
        url.path = unescaped(rest, Part::Path)?;
        url.raw_path = (escaped(&url.path) != rest).then(|| rest.to_owned());
        Ok(url)
    }

    fn read_authority(&mut self, authority: &str) -> Result<(), String> {
        let (user, host) = authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
        self.host = read_host(host)?;
        let Some(user) = user else { return Ok(()) };
        if !user.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&byte)) {
            return Err("invalid userinfo".to_owned());
        }
        let (name, password) = user.split_once(':').map_or((user, None), |(name, password)| (name, Some(password)));
        let password = password.map(|password| unescaped(password, Part::User)).transpose()?;
        self.user = Some((unescaped(name, Part::User)?, password));
        Ok(())
    }

    pub(in crate::graph) fn scheme(&self) -> &str {
        &self.scheme
    }

    /// With its port.
    pub(in crate::graph) fn host(&self) -> String {
        String::from_utf8_lossy(&self.host).into_owned()
    }

    /// Host without port and brackets, and port.
    pub(in crate::graph) fn host_and_port(&self) -> (String, String) {
        let host = self.host();
        let (name, port) = host.rsplit_once(':').filter(|(_, port)| is_port(port)).unwrap_or((&host, ""));
        let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
        (bare.unwrap_or(name).to_owned(), port.to_owned())
    }

    pub(in crate::graph) fn escaped_path(&self) -> String {
        let as_written = self.raw_path.as_ref().filter(|raw| {
            let plain = |byte: u8| b"!$&'()*+,;=:@[]%".contains(&byte) || !needs_escape(byte, Part::Path);
            raw.bytes().all(plain)
        });
        match as_written {
            Some(raw) => raw.clone(),
            None if self.path == b"*" => "*".to_owned(),
            None => escaped(&self.path),
        }
    }

    /// Values by name, in the order they have there. What cannot be read is left out.
    pub(in crate::graph) fn query(&self) -> BTreeMap<String, Vec<String>> {
        let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for pair in self.query.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';')) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let text = |part: &str| {
                let bytes = unescaped(part, Part::Query).ok()?;
                Some(String::from_utf8_lossy(&bytes).into_owned())
            };
            if let (Some(name), Some(value)) = (text(name), text(value)) {
                all.entry(name).or_default().push(value);
            }
        }
        all
    }
}

/// Scheme, or nothing, and what is behind its colon.
fn split_scheme(text: &str) -> Result<(&str, &str), String> {
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at == 0 => return Err("missing protocol scheme".to_owned()),
            b':' => return Ok((&text[..at], &text[at + 1..])),
            _ => break,
        }
    }
    Ok(("", text))
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

fn read_host(host: &str) -> Result<Vec<u8>, String> {
    let shown = || host.chars().take(80).collect::<String>();
    let Some(bracketed) = host.strip_prefix('[') else {
        if host.contains('[') {
            return Err(format!("invalid character \"[\" in host name {:?}", shown()));
        }
        if let Some((name, port)) = host.rsplit_once(':')
            && (!is_port(port) || name.contains(':'))
        {
            return Err(format!("invalid port {:?} after host", port.chars().take(40).collect::<String>()));
        }
        return unescaped(host, Part::Host);
    };
    let (address, port) = bracketed.rsplit_once(']').ok_or("missing ']' in host")?;
    if !port.is_empty() && !port.strip_prefix(':').is_some_and(is_port) {
        return Err(format!("invalid port {:?} after host", port.chars().take(40).collect::<String>()));
    }
    let (address, zone) = address.split_at(address.find("%25").unwrap_or(address.len()));
    let address = unescaped(address, Part::Host)?;
    if str::from_utf8(&address).ok().and_then(|address| address.parse::<Ipv6Addr>().ok()).is_none() {
        return Err(format!("invalid host {:?}", shown()));
    }
    let zone = unescaped(zone, Part::Zone)?;
    Ok([b"[".as_slice(), &address, &zone, b"]", port.as_bytes()].concat())
}

fn needs_escape(byte: u8, part: Part) -> bool {
    match byte {
        byte if byte.is_ascii_alphanumeric() => false,
        b'-' | b'_' | b'.' | b'~' => false,
        b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'=' | b':' | b'[' | b']' | b'<'
        | b'>' | b'"'
            if matches!(part, Part::Host | Part::Zone) =>
        {
            false
        }
        b'$' | b'&' | b'+' | b',' | b'/' | b':' | b';' | b'=' | b'@' => part != Part::Path,
        _ => true,
    }
}

fn unescaped(text: &str, part: Part) -> Result<Vec<u8>, String> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'%' => {
                let code = bytes.get(at + 1..at + 3).and_then(|code| str::from_utf8(code).ok()).unwrap_or_default();
                let wrong = || format!("invalid URL escape {:?}", format!("%{code}"));
                let digits = code.len() == 2 && code.bytes().all(|digit| digit.is_ascii_hexdigit());
                let value = u8::from_str_radix(code, 16).ok().filter(|_| digits).ok_or_else(wrong)?;
                let allowed = match part {
                    Part::Host => value >= 0x80 || value == b'%',
                    Part::Zone => value == b'%' || value == b' ' || !needs_escape(value, Part::Host),
                    _ => true,
                };
                if !allowed {
                    return Err(wrong());
                }
                out.push(value);
                at += 2;
            }
            b'+' if part == Part::Query => out.push(b' '),
            byte if matches!(part, Part::Host | Part::Zone) && byte.is_ascii() && needs_escape(*byte, part) => {
                return Err(format!("invalid character {:?} in host name", char::from(*byte)));
            }
            byte => out.push(*byte),
        }
        at += 1;
    }
    Ok(out)
}

fn escaped(path: &[u8]) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path {
        if needs_escape(*byte, Part::Path) {
            out.push('%');
            out.extend([byte >> 4, byte & 15].map(|digit| char::from(b"0123456789ABCDEF"[usize::from(digit)])));
        } else {
            out.push(char::from(*byte));
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
    fn parts_as_go_has_them() {
        let url = Url::parse("HTTPS://u:p%20w@Ex.com:8443/a%2Fb/c;d?x=1&x=2+3&y=%zz&z;=1&=e#f").unwrap();
        assert_eq!((url.scheme(), url.host().as_str()), ("https", "Ex.com:8443"));
        assert_eq!(url.host_and_port(), ("Ex.com".to_owned(), "8443".to_owned()));
        assert_eq!(url.escaped_path(), "/a%2Fb/c;d");
        let query = url.query();
        assert_eq!(query.get("x").unwrap(), &["1", "2 3"]);
        assert_eq!(query.keys().collect::<Vec<_>>(), ["", "x"]);
        for (text, path) in [
            ("http://a/é b", "/%C3%A9%20b"),
            ("http://a/[x]", "/[x]"),
            ("http://a/%5bx%5d", "/%5bx%5d"),
            ("http://a/#x", "/%23x"),
            ("http://a", ""),
            ("/a//b", "/a//b"),
            ("*", "*"),
            ("//a/b", "//a/b"),
        ] {
            assert_eq!(Url::parse(text).unwrap().escaped_path(), path, "{text}");
        }
        assert_eq!(Url::parse("http://[fe80::1%25en0]:80/").unwrap().host_and_port().0, "fe80::1%en0");
        assert_eq!(Url::parse("http://a:/").unwrap().host_and_port(), ("a".to_owned(), String::new()));
    }

    #[test]
    fn refuses_what_go_refuses() {
        for text in [
            "",
            "a",
            "a/b",
            ":x",
            "http://a b/",
            "http://a:b/",
            "http://[::1",
            "http://[::1]x",
            "http://a/%z",
            "http://%41/",
            "http://a\n/",
            "http://u ser@a/",
            "http://a:1:2/",
            "?x",
            "#x",
            "1http://a",
        ] {
            assert!(Url::parse(text).is_err(), "{text:?}");
        }
        for text in ["mailto:a@b", "file:/a", "file:///a", "http:///a", "a:b", "http://a?x", "http://a_b.c/"] {
            assert!(Url::parse(text).is_ok(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn never_panics(text in "\\PC{0,40}") {
            if let Ok(url) = Url::parse(&text) {
                let _ = (url.escaped_path(), url.query(), url.host_and_port());
            }
        }
    }
}
