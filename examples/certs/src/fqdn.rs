//! Which names a certificate can be issued for.

/// Why no certificate can be issued for a name. Shown to people in a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FqdnError {
    /// More than 253 characters, or none at all.
    #[error("a domain name has 1 to 253 characters")]
    Length,
    /// `localhost`, `corp`.
    #[error("a domain name has at least two parts, such as www.example.com")]
    Parts,
    /// An empty part, one of more than 63 characters, or one with other characters than a-z, 0-9 and `-` inside.
    #[error("each part of a domain name has 1 to 63 characters a-z, 0-9 and '-', and no '-' at its ends")]
    Part,
    /// `10.0.0.1`.
    #[error("an IP address is not a domain name")]
    Address,
}

/// The name as it stands in a certificate: a host name (RFC 1123), with `*` allowed as its whole first part, in lower
/// case and without the dot at the end that says that it is absolute.
pub fn normal(name: &str) -> Result<String, FqdnError> {
    let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
    if name.is_empty() || name.len() > 253 {
        return Err(FqdnError::Length);
    }
    if name.parse::<std::net::IpAddr>().is_ok() {
        return Err(FqdnError::Address);
    }
    let host = name.strip_prefix("*.").unwrap_or(&name);
    if !host.contains('.') {
        return Err(FqdnError::Parts);
    }
    if host.split('.').all(is_part) { Ok(name) } else { Err(FqdnError::Part) }
}

fn is_part(part: &str) -> bool {
    (1..=63).contains(&part.len())
        && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        && !part.starts_with('-')
        && !part.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_host_names_and_wildcards() {
        for name in ["www.internal.corp", "*.corp.com", "xn--bcher-kva.corp.com", "a.b", "1.corp.com"] {
            assert_eq!(normal(name).as_deref(), Ok(name));
        }
    }

    #[test]
    fn one_name_has_one_form() {
        assert_eq!(normal("WWW.Internal.Corp.").as_deref(), Ok("www.internal.corp"));
    }

    #[test]
    fn refuses_what_is_no_host_name() {
        let long_part = format!("{}.corp", "a".repeat(64));
        let long_name = format!("{}corp", "a.".repeat(125));
        for (name, why) in [
            ("", FqdnError::Length),
            (long_name.as_str(), FqdnError::Length),
            ("localhost", FqdnError::Parts),
            ("*.corp", FqdnError::Parts),
            ("10.0.0.1", FqdnError::Address),
            ("::1", FqdnError::Address),
            ("a..corp", FqdnError::Part),
            ("a.corp..", FqdnError::Part),
            ("-a.corp", FqdnError::Part),
            ("a-.corp", FqdnError::Part),
            ("a b.corp", FqdnError::Part),
            ("a.*.corp", FqdnError::Part),
            (long_part.as_str(), FqdnError::Part),
        ] {
            assert_eq!(normal(name), Err(why), "{name}");
        }
    }
}
