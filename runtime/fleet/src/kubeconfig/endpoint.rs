//! Which URLs a kubeconfig may send this process to.
//!
//! A kubeconfig makes a controller open connections from its own place in the network. Cloud metadata services answer
//! there without a credential and hand out the node's, so nothing may lead to them, however far its kubeconfig is trusted.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use http::Uri;
use kube::config::Cluster;

use super::{error::KubeconfigError, named::Named, trust::Trust};

/// Names of metadata services. Other names are checked by the addresses that they resolve to.
const METADATA_HOSTS: [&str; 6] = [
    "metadata",
    "metadata.google.internal",
    "metadata.goog",
    "metadata.azure.com",
    "instance-data",
    "instance-data.ec2.internal",
];

/// Metadata services that do not sit on a link-local address.
const METADATA_V4: [Ipv4Addr; 3] = [
    Ipv4Addr::new(100, 100, 100, 200), // Alibaba Cloud
    Ipv4Addr::new(168, 63, 129, 16),   // Azure wire server
    Ipv4Addr::new(192, 0, 0, 192),     // Oracle Cloud, classic
];
const METADATA_V6: [Ipv6Addr; 2] = [
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254), // AWS
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),  // Google Cloud
];

/// Whether nothing may be sent to this address: link-local (169.254.0.0/16, fe80::/10), a cloud's metadata service, or
/// one of these inside an IPv6 address (mapped, compatible, NAT64, 6to4).
///
/// To be asked for every address that a server's or a proxy's name resolves to, before connecting.
pub fn forbidden_address(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_link_local() || METADATA_V4.contains(&ip),
        IpAddr::V6(ip) => {
            ip.is_unicast_link_local()
                || METADATA_V6.contains(&ip)
                || embedded(ip).is_some_and(|ip| forbidden_address(IpAddr::V4(ip)))
        }
    }
}

/// The IPv4 address that a packet to this IPv6 address can end at.
fn embedded(ip: Ipv6Addr) -> Option<Ipv4Addr> {
    let ([0, 0, 0, 0, 0, 0 | 0xffff, high, low] // compatible, mapped
    | [0, 0, 0, 0, 0xffff, 0, high, low] // translated (SIIT)
    | [0x64, 0xff9b, 0, 0, 0, 0, high, low] // NAT64
    | [0x2002, high, low, ..]) = ip.segments() // 6to4
    else {
        return None;
    };
    Some(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)))
}

/// Checks `server` and `proxy-url`; the answer is the server's URL.
///
/// A proxy may come from a Secret too: whoever writes the Secret already chooses the server, so a proxy of their choice
/// reaches nothing new, and the server still has to prove itself by TLS. It has to be http or https (a tunnel by CONNECT).
pub(super) fn check(cluster: &Named<Cluster>, trust: &Trust) -> Result<String, KubeconfigError> {
    let field = cluster.field("server");
    let Some(server) = cluster.value.server.as_deref().filter(|url| !url.is_empty()) else {
        return Err(KubeconfigError::Endpoint { field, reason: "it is not set: write https://host:port".to_owned() });
    };
    let refused = |reason: String| KubeconfigError::Endpoint { field: field.clone(), reason };
    let url = Url::parse(server).map_err(refused)?;
    match url.scheme.as_str() {
        "https" => {}
        "http" if url.loopback() && trust.allows_local() => {}
        "http" => {
            return Err(refused("http sends credentials in the clear: use https".to_owned()));
        }
        _ => {
            return Err(refused("its scheme is not https: write https://host:port".to_owned()));
        }
    }
    if let Some(proxy) = cluster.value.proxy_url.as_deref() {
        let field = cluster.field("proxy-url");
        let refused = |reason: String| KubeconfigError::Endpoint { field: field.clone(), reason };
        let url = Url::parse(proxy).map_err(refused)?;
        if !matches!(url.scheme.as_str(), "http" | "https") {
            return Err(refused("only http and https proxies are supported".to_owned()));
        }
    }
    Ok(server.to_owned())
}

/// An API server, as a kubeconfig names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// `host:port/path` in lower case.
    pub server: String,
    /// SHA-256 of the certificate authority that it must prove itself by.
    pub authority: [u8; 32],
}

/// How a kubeconfig leads to an API server, whatever the credentials. Two with the same way end at the same server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Way {
    /// Whom it leads to.
    pub endpoint: Endpoint,
    /// Through whom: a proxy cannot pass for the server, but it can keep everybody waiting.
    pub proxy: Option<String>,
}

/// One spelling for all of one server.
pub(super) fn canonical(server: &str) -> String {
    let Ok(uri) = server.parse::<Uri>() else { return server.to_owned() };
    let host = uri.host().unwrap_or_default().to_ascii_lowercase();
    let port = uri.port_u16().unwrap_or(if uri.scheme_str() == Some("http") { 80 } else { 443 });
    format!("{}:{port}{}", host.trim_end_matches('.'), uri.path().trim_end_matches('/'))
}

/// The parts of a URL that the rules look at.
struct Url {
    /// In lower case.
    scheme: String,
    host: Host,
}

enum Host {
    Ip(IpAddr),
    /// In lower case, without a trailing dot.
    Name(String),
}

impl Url {
    /// The error is a reason with its remedy and quotes nothing but the host: the rest may hold a password.
    fn parse(text: &str) -> Result<Self, String> {
        let uri: Uri = text.parse().map_err(|_| "it is not a URL: write https://host:port".to_owned())?;
        let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return Err("it is not a full URL: write https://host:port".to_owned());
        };
        if authority.as_str().contains('@') {
            return Err("it holds a user name or password: remove the part before the @".to_owned());
        }
        let host = Host::parse(authority.host())?;
        host.check()?;
        Ok(Self { scheme: scheme.to_ascii_lowercase(), host })
    }

    fn loopback(&self) -> bool {
        match &self.host {
            Host::Ip(ip) => ip.is_loopback(),
            Host::Name(name) => name == "localhost",
        }
    }
}

impl Host {
    fn parse(text: &str) -> Result<Self, String> {
        if let Some(inner) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
            // A zone (fe80::1%eth0) belongs to link-local addresses only.
            return inner
                .parse()
                .map(|ip| Self::Ip(IpAddr::V6(ip)))
                .map_err(|_| "its host is not an IPv6 address (one with a zone is not allowed)".to_owned());
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_')) {
            return Err("its host is not a DNS name or an IP address".to_owned());
        }
        if let Ok(ip) = name.parse() {
            return Ok(Self::Ip(IpAddr::V4(ip)));
        }
        if reads_as_number(&name) {
            return Err("its host is an unusual spelling of an IPv4 address: write four decimal numbers".to_owned());
        }
        Ok(Self::Name(name))
    }

    fn check(&self) -> Result<(), String> {
        let (forbidden, shown) = match self {
            Self::Ip(ip) => (forbidden_address(*ip), ip.to_string()),
            Self::Name(name) => (METADATA_HOSTS.contains(&name.as_str()), name.clone()),
        };
        if forbidden {
            return Err(format!("{shown} is link-local or a cloud metadata service: name the API server itself"));
        }
        Ok(())
    }
}

/// Whether resolvers may take a name for an IPv4 address in decimal, octal or hexadecimal (`2852039166`, `0xa9.0376.1`):
/// its last label is a number (WHATWG URL, "ends in a number checker").
fn reads_as_number(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    let hex = last.strip_prefix("0x").is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_hexdigit()));
    hex || (!last.is_empty() && last.bytes().all(|b| b.is_ascii_digit()))
}
