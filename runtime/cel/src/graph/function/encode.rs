//! `base64` and `hash`.

use base64::{
    Engine, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig, general_purpose::STANDARD},
};
use md5::Md5;
use sha2::{Digest, Sha256};

use super::{
    argument,
    entry::{Entry, Style},
};
use crate::graph::{
    failure::{Answer, Failure, charge_made},
    value::Value,
};

pub(super) const FUNCTIONS: &[Entry] = &[
    ("base64.decode", Style::Global, &[1], decode),
    ("base64.encode", Style::Global, &[1], encode),
    ("hash.fnv64a", Style::Global, &[1], fnv),
    ("hash.md5", Style::Global, &[1], md5),
    ("hash.sha256", Style::Global, &[1], sha256),
];

/// As Go decodes: padded, and what the last sign has too much of does not matter.
const PADDED: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_allow_trailing_bits(true)
    .with_decode_padding_mode(DecodePaddingMode::RequireCanonical);

fn encode<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    let bytes = argument::bytes(args, 0)?;
    charge_made(bytes.len().div_ceil(3) * 4)?;
    Ok(Value::text(STANDARD.encode(bytes)))
}

/// Padded or not; line ends do not count.
fn decode<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    let text: String = argument::text(args, 0)?.chars().filter(|char| !matches!(char, '\n' | '\r')).collect();
    let with = |config| GeneralPurpose::new(&alphabet::STANDARD, config).decode(&text);
    let bare = PADDED.with_decode_padding_mode(DecodePaddingMode::RequireNone);
    let bytes = with(PADDED).or_else(|_| with(bare));
    bytes.map(Value::bytes).map_err(|_| Failure::wrong("illegal base64 data"))
}

fn sha256<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    Ok(Value::bytes(Sha256::digest(argument::text(args, 0)?).as_slice()))
}

fn md5<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    Ok(Value::bytes(Md5::digest(argument::text(args, 0)?).as_slice()))
}

fn fnv<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    let bytes = argument::text(args, 0)?.bytes();
    let hash =
        bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    Ok(Value::bytes(hash.to_be_bytes()))
}
