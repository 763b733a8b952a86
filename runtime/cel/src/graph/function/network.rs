//! Addresses and networks.

use std::net::IpAddr;

use super::{
    argument,
    entry::{Entry, Style},
};
use crate::graph::{
    failure::{Answer, Failure},
    network::{self, Cidr},
    value::{Foreign, Value},
};

pub(super) const FUNCTIONS: &[Entry] = &[
    ("cidr", Style::Global, &[1], cidr),
    ("containsCIDR", Style::Method, &[1], contains_cidr),
    ("containsIP", Style::Method, &[1], contains_ip),
    ("family", Style::Method, &[0], |args| Ok(Value::Int(if address(args, 0)?.is_ipv4() { 4 } else { 6 }))),
    ("ip", Style::Global, &[1], ip),
    ("ip", Style::Method, &[0], |args| Ok(Value::foreign(Foreign::Ip(own(args)?.address())))),
    ("ip.isCanonical", Style::Global, &[1], is_canonical),
    ("isCIDR", Style::Global, &[1], |args| Ok(Value::Bool(Cidr::parse(argument::text(args, 0)?).is_ok()))),
    ("isGlobalUnicast", Style::Method, &[0], |args| Ok(Value::Bool(network::is_global_unicast(address(args, 0)?)))),
    ("isIP", Style::Global, &[1], |args| Ok(Value::Bool(network::parse_address(argument::text(args, 0)?).is_ok()))),
    ("isLinkLocalMulticast", Style::Method, &[0], |args| {
        Ok(Value::Bool(network::is_link_local_multicast(address(args, 0)?)))
    }),
    ("isLinkLocalUnicast", Style::Method, &[0], |args| {
        Ok(Value::Bool(network::is_link_local_unicast(address(args, 0)?)))
    }),
    ("isLoopback", Style::Method, &[0], |args| Ok(Value::Bool(address(args, 0)?.is_loopback()))),
    ("isUnspecified", Style::Method, &[0], |args| Ok(Value::Bool(address(args, 0)?.is_unspecified()))),
    ("masked", Style::Method, &[0], |args| Ok(Value::foreign(Foreign::Cidr(own(args)?.masked())))),
    ("prefixLength", Style::Method, &[0], |args| Ok(Value::Int(i64::from(own(args)?.length())))),
];

fn ip<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    let address = network::parse_address(argument::text(args, 0)?).map_err(Failure::Wrong)?;
    Ok(Value::foreign(Foreign::Ip(address)))
}

fn cidr<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    Ok(Value::foreign(Foreign::Cidr(Cidr::parse(argument::text(args, 0)?).map_err(Failure::Wrong)?)))
}

/// Whether the address is written as it would be written here.
fn is_canonical<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    let text = argument::text(args, 0)?;
    let address = network::parse_address(text).map_err(Failure::Wrong)?;
    Ok(Value::Bool(address.to_string() == text))
}

fn address(args: &[Value<'_>], index: usize) -> Answer<IpAddr> {
    if let Value::Foreign(value) = argument::value(args, index)?
        && let Foreign::Ip(address) = value.as_ref()
    {
        return Ok(*address);
    }
    Err(Failure::Misfit)
}

fn network_at(args: &[Value<'_>], index: usize) -> Answer<Cidr> {
    if let Value::Foreign(value) = argument::value(args, index)?
        && let Foreign::Cidr(network) = value.as_ref()
    {
        return Ok(*network);
    }
    Err(Failure::Misfit)
}

fn own(args: &[Value<'_>]) -> Answer<Cidr> {
    network_at(args, 0)
}

/// An address, or its text.
fn contains_ip<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    let sought = match argument::value(args, 1)? {
        Value::Text(text) => network::parse_address(text).map_err(Failure::Wrong)?,
        _ => address(args, 1)?,
    };
    Ok(Value::Bool(own(args)?.contains(sought)))
}

/// A network, or its text.
fn contains_cidr<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    let sought = match argument::value(args, 1)? {
        Value::Text(text) => Cidr::parse(text).map_err(Failure::Wrong)?,
        _ => network_at(args, 1)?,
    };
    Ok(Value::Bool(own(args)?.contains_network(sought)))
}
