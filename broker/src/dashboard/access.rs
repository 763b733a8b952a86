//! `Access`: who may see the page.
//!
//! On a loopback address whoever can connect may, for he is on this machine, or was let in by whoever may forward ports to it;
//! but not the pages of other sites in his browser, whatever names they have given this machine. On any other address whoever
//! brings a token of the coordination cluster, and may see the page by what is granted there.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use axum::http::{HeaderMap, HeaderName, header, request::Parts};

use super::{refusal::Refusal, review::Reviewer};

/// Longest token that is looked at. Those of ServiceAccounts have some 1,200 characters, those of people's providers a few
/// thousand.
const LONGEST_TOKEN: usize = 16 << 10;

/// See the module.
pub(super) enum Access {
    /// The page is on a loopback address.
    Loopback,
    /// It is on another.
    Token(Reviewer),
}

impl Access {
    /// To what is served at an address. `reviewer` is called where tokens are to be looked at.
    pub(super) fn at(address: SocketAddr, reviewer: impl FnOnce() -> Reviewer) -> Self {
        if address.ip().is_loopback() { Self::Loopback } else { Self::Token(reviewer()) }
    }

    /// Whether whoever made a request may see the page.
    pub(super) async fn check(&self, request: &Parts) -> Result<(), Refusal> {
        match self {
            Self::Loopback => is_own(request),
            Self::Token(reviewer) => reviewer.review(token(&request.headers)?).await,
        }
    }

    /// Whether rights may be taken away from who sees the page.
    pub(super) fn may_end(&self) -> bool {
        matches!(self, Self::Token(_))
    }
}

/// The one value of a header. `Err`: it has several, or one that is no text.
fn only<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, ()> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| ()),
        (Some(_), Some(_)) => Err(()),
    }
}

/// The token of a request.
fn token(headers: &HeaderMap) -> Result<&str, Refusal> {
    let none = Refusal::Unknown("send a token of the coordination cluster: Authorization: Bearer TOKEN");
    let Ok(Some(value)) = only(headers, &header::AUTHORIZATION) else { return Err(none) };
    let Some((scheme, token)) = value.split_once(' ') else { return Err(none) };
    let token = token.trim_matches(' ');
    let is_one = !token.is_empty() && token.len() <= LONGEST_TOKEN && token.bytes().all(|byte| byte.is_ascii_graphic());
    if scheme.eq_ignore_ascii_case("bearer") && is_one { Ok(token) } else { Err(none) }
}

/// Whether a request was made for a loopback address by its own name, and by nobody else's page. A browser that was told that
/// `attacker.example` is 127.0.0.1 says so in `Host`.
fn is_own(request: &Parts) -> Result<(), Refusal> {
    let foreign = Refusal::Foreign(
        "this page is served to this machine only: open it under localhost, 127.0.0.1 or [::1], in a tab of its own",
    );
    let only = |name: HeaderName| only(&request.headers, &name).map_err(|()| foreign.clone());
    let host = only(header::HOST)?;
    let authority = request.uri.authority().map(axum::http::uri::Authority::as_str);
    // HTTP/2, and whoever takes this for a proxy, name it in the URI.
    let mut named = host.into_iter().chain(authority).peekable();
    let is_named = named.peek().is_some() && named.all(is_loopback);
    let origin = only(header::ORIGIN)?;
    let from_here = origin.is_none_or(|origin| {
        let of = origin.strip_prefix("http://").unwrap_or_default();
        host.or(authority).is_some_and(|host| host.eq_ignore_ascii_case(of))
    });
    let site = only(HeaderName::from_static("sec-fetch-site"))?;
    let same_site = site.is_none_or(|site| matches!(site, "same-origin" | "none"));
    if is_named && from_here && same_site { Ok(()) } else { Err(foreign) }
}

/// Whether `host[:port]` can only be this machine.
fn is_loopback(host: &str) -> bool {
    let (name, port) = if let Some(rest) = host.strip_prefix('[') {
        let Some((address, port)) = rest.split_once(']') else { return false };
        (address.parse::<Ipv6Addr>().ok().map(IpAddr::V6), port)
    } else {
        let (name, port) = host.split_at(host.find(':').unwrap_or(host.len()));
        let local = name.eq_ignore_ascii_case("localhost").then_some(Ipv4Addr::LOCALHOST);
        (local.or_else(|| name.parse().ok()).map(IpAddr::V4), port)
    };
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    let good_port = port.is_empty() || port.strip_prefix(':').is_some_and(is_port);
    good_port && name.is_some_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    fn request(uri: &str, headers: &[(&str, &str)]) -> Parts {
        let request = headers.iter().fold(Request::get(uri), |request, (name, value)| request.header(*name, *value));
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn this_machine_is_known_by_its_names() {
        for host in ["localhost", "LOCALHOST:8082", "127.0.0.1:8082", "127.8.9.1", "[::1]", "[::1]:80", "localhost:"] {
            assert!(is_loopback(host), "{host}");
        }
        for host in [
            "",
            ":80",
            "attacker.example",
            "localhost.attacker.example",
            "127.0.0.1.attacker.example:80",
            "localhost:80@attacker.example",
            "user@localhost",
            "10.0.0.1",
            "0.0.0.0",
            "[::]",
            "[::ffff:127.0.0.1]",
            "[::1",
            "[::1]x",
            "::1",
            "127.1",
            "2130706433",
            "localhost:80:80",
            "localhost.",
        ] {
            assert!(!is_loopback(host), "{host}");
        }
    }

    #[test]
    fn a_page_of_another_site_sees_nothing() {
        let host = ("host", "localhost:8082");
        let is_own = |uri: &str, headers: &[(&str, &str)]| is_own(&request(uri, headers)).is_ok();
        assert!(is_own("/", &[host]));
        assert!(is_own("/", &[host, ("sec-fetch-site", "none")]), "typed by a person");
        assert!(is_own("/", &[host, ("sec-fetch-site", "same-origin"), ("origin", "http://localhost:8082")]));
        assert!(is_own("http://127.0.0.1:8082/", &[]), "HTTP/2");
        let nothing: &[(&str, &str)] = &[];
        for headers in [
            nothing,
            &[("host", "attacker.example:8082")],
            &[host, ("host", "attacker.example")],
            &[host, ("origin", "http://attacker.example")],
            &[host, ("origin", "http://localhost:3000")],
            &[host, ("origin", "https://localhost:8082")],
            &[host, ("origin", "null")],
            &[host, ("sec-fetch-site", "cross-site")],
            &[host, ("sec-fetch-site", "same-site")],
        ] {
            assert!(!is_own("/", headers), "{headers:?}");
        }
        assert!(!is_own("http://attacker.example/", &[host]));
    }

    #[test]
    fn a_token_is_one_word_behind_its_scheme() {
        let read = |headers: &[(&str, &str)]| token(&request("/", headers).headers).map(str::to_owned).ok();
        assert_eq!(read(&[("authorization", "Bearer abc.def-1")]).as_deref(), Some("abc.def-1"));
        assert_eq!(read(&[("authorization", "bearer  abc ")]).as_deref(), Some("abc"));
        let long = format!("Bearer {}", "a".repeat(LONGEST_TOKEN + 1));
        for value in ["", "Bearer", "Bearer ", "Basic abc", "abc", "Bearer a b", &long] {
            assert_eq!(read(&[("authorization", value)]), None, "{value}");
        }
        assert_eq!(read(&[]), None);
        assert_eq!(read(&[("authorization", "Bearer a"), ("authorization", "Bearer b")]), None);
    }
}
