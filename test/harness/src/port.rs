//! Ports that stay a server's own, also while it is stopped.
//!
//! A port found by binding port 0 is from the range that the kernel hands to outgoing connections, so while a server is
//! stopped, any client (or one that keeps trying to reach that very port) can be given it, and the server cannot come
//! back. These ports are therefore from below that range, and among the labs of one machine each is reserved by holding
//! the UDP port of the same number: nobody needs it, and the kernel frees it when the process ends. Labs therefore never
//! race for a port, and no server has to be started again for a clash.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io;
use std::net::{Ipv4Addr, TcpListener, UdpSocket};

/// Below Linux's default `ip_local_port_range` (from 32768) and above what well-known servers use.
const FIRST: u16 = 18_000;
const COUNT: u16 = 14_000;
const ATTEMPTS: u32 = 200;

/// A TCP port of 127.0.0.1, reserved against other labs as long as this value lives.
#[derive(Debug)]
pub struct Port {
    number: u16,
    _reservation: UdpSocket,
}

impl Port {
    /// Finds a port that nobody listens on and no other lab has reserved.
    ///
    /// # Errors
    /// None was found.
    pub fn reserve() -> io::Result<Self> {
        for _ in 0..ATTEMPTS {
            let offset = u16::try_from(random() % u64::from(COUNT)).unwrap_or_default();
            let number = FIRST + offset;
            let Ok(reservation) = UdpSocket::bind((Ipv4Addr::LOCALHOST, number)) else {
                continue;
            };
            if TcpListener::bind((Ipv4Addr::LOCALHOST, number)).is_ok() {
                return Ok(Self { number, _reservation: reservation });
            }
        }
        let range = format!("{FIRST}–{}", FIRST + COUNT - 1);
        Err(io::Error::other(format!("no free port on 127.0.0.1 in {range} after {ATTEMPTS} attempts")))
    }

    /// The port.
    pub fn number(&self) -> u16 {
        self.number
    }

    /// It on 127.0.0.1, as servers are told where to listen.
    pub fn address(&self) -> String {
        format!("{}:{}", Ipv4Addr::LOCALHOST, self.number)
    }
}

/// An address for a server that this process starts: it stays reserved as long as the process lives.
///
/// # Errors
/// None was found.
pub fn free_address() -> io::Result<String> {
    let port = Port::reserve()?;
    let address = port.address();
    std::mem::forget(port);
    Ok(address)
}

/// A number that differs between processes and calls: the standard library seeds each `RandomState` anew.
pub(crate) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ports_that_are_held_are_distinct() {
        let held: Vec<Port> = (0..100).map(|_| Port::reserve().unwrap()).collect();
        let numbers: BTreeSet<u16> = held.iter().map(Port::number).collect();
        assert_eq!(numbers.len(), held.len());
    }
}
