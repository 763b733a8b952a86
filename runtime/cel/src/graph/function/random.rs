//! What looks like chance, and is always the same for a seed.

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
    ("random.seededInt", Style::Global, &[3], seeded_int),
    ("random.seededString", Style::Global, &[2], seeded_string),
];

const ALPHABET: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// Every fourth byte of the seed's hash begins a number that chooses a character: after eight it repeats.
fn seeded_string<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    let (length, seed) = (argument::int(args, 0)?, argument::text(args, 1)?);
    let length = usize::try_from(length).ok().filter(|length| *length > 0);
    let length = length.ok_or_else(|| Failure::wrong("length must be positive"))?;
    charge_made(length)?;
    let hash = Sha256::digest(seed);
    let letters = hash.chunks_exact(4).map(|part| {
        let number = part.iter().fold(0_usize, |number, byte| number << 8 | usize::from(*byte));
        char::from(*ALPHABET.get(number % ALPHABET.len()).unwrap_or(&b'0'))
    });
    let letters: Vec<char> = letters.collect();
    Ok(Value::text(letters.iter().cycle().take(length).collect::<String>()))
}

/// From the first to the second, without it.
fn seeded_int<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    let (min, max, seed) = (argument::int(args, 0)?, argument::int(args, 1)?, argument::text(args, 2)?);
    if min >= max {
        return Err(Failure::wrong("min must be less than max"));
    }
    let hash = Sha256::digest(seed);
    let number = hash.iter().take(8).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    Ok(Value::Int(min.wrapping_add_unsigned(number % max.abs_diff(min))))
}
