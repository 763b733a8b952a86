//! `Bind`: an address to listen on, or none.

use std::net::SocketAddr;

/// An address to listen on, or none.
pub type Bind = Disabled<SocketAddr>;

/// Something that can be switched off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disabled<T> {
    /// Off.
    Off,
    /// On.
    On(T),
}

/// `0`, `:port` or `address:port`, as controller-runtime's flags have it.
pub fn bind_address(text: &str) -> Result<Bind, String> {
    if text == "0" || text.is_empty() {
        return Ok(Disabled::Off);
    }
    let full = if text.starts_with(':') { format!("0.0.0.0{text}") } else { text.to_owned() };
    full.parse()
        .map(Disabled::On)
        .map_err(|_| format!("{text:?} is no address: use :8081, 127.0.0.1:8081, or 0 to switch it off"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        assert_eq!(bind_address("0"), Ok(Disabled::Off));
        assert_eq!(bind_address(":80"), Ok(Disabled::On(([0, 0, 0, 0], 80).into())));
        assert!(bind_address("nowhere").is_err());
    }
}
