//! Addresses and networks, as `netip` and Kubernetes read them: without zones, and none of IPv4 in the form of IPv6.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

/// A network: an address, which need not be its first, and the length of its prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cidr {
    address: IpAddr,
    length: u32,
}

/// Reads an address; the error says what is wrong.
pub(super) fn parse_address(text: &str) -> Result<IpAddr, String> {
    let shown = || text.chars().take(60).collect::<String>();
    if text.contains('%') {
        return Err(format!("IP address {:?} with zone value is not allowed", shown()));
    }
    match text.parse() {
        Ok(IpAddr::V6(address)) if address.to_ipv4_mapped().is_some() => {
            Err(format!("IPv4-mapped IPv6 address {:?} is not allowed", shown()))
        }
        Ok(address) => Ok(address),
        Err(_) => Err(format!("{:?} is no IP address", shown())),
    }
}

pub(super) fn is_link_local_multicast(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => matches!(address.octets(), [224, 0, 0, _]),
        IpAddr::V6(address) => address.segments()[0] & 0xff0f == 0xff02,
    }
}

pub(super) fn is_link_local_unicast(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.segments()[0] & 0xffc0 == 0xfe80,
    }
}

/// Private ones too.
pub(super) fn is_global_unicast(address: IpAddr) -> bool {
    let broadcast = address == IpAddr::V4(Ipv4Addr::BROADCAST);
    !(broadcast
        || address.is_unspecified()
        || address.is_loopback()
        || address.is_multicast()
        || is_link_local_unicast(address))
}

impl Cidr {
    /// Reads a network; the error says what is wrong.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("{:?} is no network such as 10.0.0.0/8", text.chars().take(60).collect::<String>());
        let (address, length) = text.rsplit_once('/').ok_or_else(wrong)?;
        let address = parse_address(address)?;
        let plain = !length.is_empty() && length.bytes().all(|digit| digit.is_ascii_digit());
        let leading_zero = length.len() > 1 && length.starts_with('0');
        let length: u32 = length.parse().ok().filter(|_| plain && !leading_zero).ok_or_else(wrong)?;
        if length > bits_of(address) {
            return Err(wrong());
        }
        Ok(Self { address, length })
    }

    pub(super) fn address(self) -> IpAddr {
        self.address
    }

    pub(super) fn length(self) -> u32 {
        self.length
    }

    /// The same network with its first address.
    pub(super) fn masked(self) -> Self {
        Self { address: masked(self.address, self.length), length: self.length }
    }

    pub(super) fn contains(self, address: IpAddr) -> bool {
        address.is_ipv4() == self.address.is_ipv4() && masked(address, self.length) == masked(self.address, self.length)
    }

    pub(super) fn contains_network(self, other: Self) -> bool {
        self.length <= other.length && self.contains(other.address)
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

fn bits_of(address: IpAddr) -> u32 {
    if address.is_ipv4() { Ipv4Addr::BITS } else { Ipv6Addr::BITS }
}

fn masked(address: IpAddr, length: u32) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(Ipv4Addr::BITS.saturating_sub(length)).unwrap_or(0);
            IpAddr::V4(Ipv4Addr::from_bits(address.to_bits() & mask))
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(Ipv6Addr::BITS.saturating_sub(length)).unwrap_or(0);
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & mask))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn reads_and_writes_as_go_does() {
        for (text, shown) in [
            ("::1.2.3.4", "::102:304"),
            ("2001:DB8:0:0:1:0:0:1", "2001:db8::1:0:0:1"),
            ("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"),
            ("0:0:0:0:0:0:0:0", "::"),
            ("64:ff9b::1.2.3.4", "64:ff9b::102:304"),
        ] {
            assert_eq!(parse_address(text).unwrap().to_string(), shown);
        }
        for text in [
            "",
            "1.2.3",
            "1.2.3.4.5",
            "01.2.3.4",
            "1.2.3.256",
            "::ffff:1.2.3.4",
            "fe80::1%eth0",
            " ::1",
            "[::1]",
            "1::2::3",
        ] {
            assert!(parse_address(text).is_err(), "{text}");
        }
        for text in
            ["10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/08", "10.0.0.0/+8", "::/129", "/8", "10.0.0.0/8/8"]
        {
            assert!(Cidr::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn networks_contain_what_their_prefix_says() {
        let network = |text: &str| Cidr::parse(text).unwrap();
        assert!(network("0.0.0.0/0").contains("255.1.2.3".parse().unwrap()));
        assert!(!network("::/0").contains("1.2.3.4".parse().unwrap()));
        assert!(network("10.1.2.3/32").contains("10.1.2.3".parse().unwrap()));
        assert!(network("10.1.2.3/8").contains_network(network("10.9.0.0/8")));
        assert!(!network("10.0.0.0/9").contains_network(network("10.0.0.0/8")));
        assert_eq!(network("2001:db8::1/33").masked().to_string(), "2001:db8::/33");
        assert_eq!(network("1.2.3.4/0").masked().to_string(), "0.0.0.0/0");
    }
}
