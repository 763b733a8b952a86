//! Names of copies: the hash of the consumer cluster, a dash, the object's name; and the way back.
//!
//! Owns nothing but text. Whether an object of that name is ours is a question of signatures, never of its name.

use broker_api::ClusterName;
use sha2::{Digest, Sha256};

/// Hex digits of a consumer cluster's hash.
const HASH: usize = 12;

/// Hex digits that keep a cut name unique.
const TAIL: usize = 8;

/// How long the names of a kind may be, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameLimit {
    /// A DNS subdomain (RFC 1123), the rule for most kinds.
    Subdomain = 253,
    /// A DNS label (RFC 1123), the rule for Namespaces, Services and kinds that become labels.
    Label = 63,
}

/// The first 12 hex digits of SHA-256 over the printed name (`consumer#homer`).
pub fn consumer_hash(cluster: &ClusterName) -> String {
    hex_prefix(&cluster.to_string(), HASH)
}

/// Name of the copy of the object `name` of `cluster`: `<consumer hash>-<name>`.
///
/// One over the limit is cut.
pub fn copy_name(cluster: &ClusterName, name: &str, limit: NameLimit) -> String {
    cut(format!("{}-{name}", consumer_hash(cluster)), limit)
}

/// Whether a text can be the name of a namespace (RFC 1123).
pub fn is_namespace(text: &str) -> Result<(), String> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let within = text.bytes().all(|byte| plain(byte) || byte == b'-');
    let ends = [text.bytes().next(), text.bytes().last()].into_iter().all(|byte| byte.is_some_and(plain));
    if within && ends && text.len() <= 63 {
        return Ok(());
    }
    Err(format!(
        "{text:?} is no name of a namespace: use at most 63 of a-z, 0-9 and -, a letter or digit first and last"
    ))
}

/// A name over the limit is cut and ends with `-<8 hex>` of SHA-256 over the whole, so that two long names stay two.
pub(crate) fn cut(whole: String, limit: NameLimit) -> String {
    let limit = limit as usize;
    if whole.len() <= limit {
        return whole;
    }
    let mut end = limit - TAIL - 1;
    while !whole.is_char_boundary(end) {
        end -= 1;
    }
    // In front of the tail's dash a dot would make an empty, or a dash-led, part: not a DNS name.
    let kept = whole[..end].trim_end_matches(['.', '-']);
    format!("{kept}-{}", hex_prefix(&whole, TAIL))
}

/// Whether a copy's name may be a cut one, which does not say what its origin is called.
pub fn may_be_cut(name: &str) -> bool {
    let hex = |tail: &str| tail.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    name.rsplit_once('-').is_some_and(|(_, tail)| tail.len() == TAIL && hex(tail))
}

/// The name without this cluster's prefix; the name itself when it has none.
pub fn strip_prefix<'a>(cluster: &ClusterName, name: &'a str) -> &'a str {
    name.strip_prefix(&consumer_hash(cluster))
        .and_then(|rest| rest.strip_prefix('-'))
        .filter(|rest| !rest.is_empty())
        .unwrap_or(name)
}

/// The hash that leads a name, if it looks like one, and the rest.
pub fn leading_hash(name: &str) -> Option<(&str, &str)> {
    let (hash, rest) = name.split_once('-')?;
    let hex = hash.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    (hash.len() == HASH && hex && !rest.is_empty()).then_some((hash, rest))
}

/// True when the name carries a prefix of our form that is not this cluster's: it was made for another consumer.
pub fn foreign_prefix(cluster: &ClusterName, name: &str) -> bool {
    let Some((prefix, _)) = name.split_once('-') else {
        return false;
    };
    prefix.len() == HASH
        && prefix.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        && prefix != consumer_hash(cluster)
}

/// The first hex digits of SHA-256.
pub(crate) fn hex_prefix(text: &str, digits: usize) -> String {
    let mut hash = hex::encode(&Sha256::digest(text.as_bytes())[..digits.div_ceil(2)]);
    hash.truncate(digits);
    hash
}
