//! Signatures: what the broker wrote, it knows again; what anybody else wrote, it does not believe.
//!
//! An *assignment* rides on the consumer object and says which provider serves it. An *origin* rides on a copy and
//! says which object it was made from. Both carry an `epoch` that grows with every assignment of the object, so that
//! an older assignment put back by hand loses against what the providers hold.
//!
//! This module knows texts and keys. Where they are stored and who is told of a wrong one is decided elsewhere.

use std::{collections::BTreeMap, fmt};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use broker_api::ClusterName;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Fewest bytes of a secret: the size of the hash (RFC 2104, section 3).
const MIN_SECRET: usize = 32;

/// Longest key id; it is part of every annotation.
const MAX_ID: usize = 32;

/// Version of the texts, and first field of what is signed.
const VERSION: &str = "v1";

/// Marks the epoch of an assignment that a person chose.
const PINNED: &str = "p";

/// Marks the epoch of a move away from a provider that a person chose.
const PINNED_BEFORE: &str = "b";

/// Stands for the epoch in the mark of a Migration that a person made.
const PERSON: &str = "p";

/// The entry of the Secret that names the key that signs.
const PRIMARY: &str = "primary";

/// One signing key.
#[derive(Clone)]
pub struct Key {
    /// Short name, printed in every signature: 1 to 32 of `A-Z a-z 0-9 _ -`.
    pub id: String,
    /// At least 32 random bytes.
    pub secret: Vec<u8>,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Why keys are not a key ring. Never holds a secret.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum KeyRingError {
    /// No key at all.
    #[error("holds no key: add an entry of at least {MIN_SECRET} random bytes, its name is the key's id")]
    Empty,
    /// An id that cannot stand in a signature.
    #[error("{0:?} is not a key id: use 1 to {MAX_ID} of A-Z, a-z, 0-9, '_' and '-'")]
    Id(String),
    /// The same id twice.
    #[error("two keys have the id {0:?}")]
    Twice(String),
    /// Too few bytes to be safe.
    #[error("key {id:?} has {length} bytes: use at least {MIN_SECRET} random bytes")]
    Short {
        /// Which key.
        id: String,
        /// Its bytes.
        length: usize,
    },
    /// Several keys and no word on which one signs.
    #[error("holds several keys: add an entry {PRIMARY:?} with the id of the one that signs")]
    NoPrimary,
    /// The entry `primary` names no key.
    #[error("entry {PRIMARY:?} names the key {0:?}, which is not there")]
    UnknownPrimary(String),
}

/// Several keys: the first signs, all verify. So a key can be replaced while objects still carry the old one's mark.
#[derive(Clone)]
pub struct KeyRing {
    keys: Vec<(String, Hmac<Sha256>)>,
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.keys.iter().map(|(id, _)| id)).finish()
    }
}

/// The consumer object that an assignment or an origin speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OriginRef<'a> {
    /// Consumer cluster.
    pub cluster: &'a ClusterName,
    /// API group; empty for the core group.
    pub group: &'a str,
    /// Kind.
    pub kind: &'a str,
    /// Namespace; empty for a cluster-scoped object.
    pub namespace: &'a str,
    /// Name.
    pub name: &'a str,
    /// `metadata.uid`, so that a recreated object of the same name is another one.
    pub uid: &'a str,
}

/// Who serves an object. Provider names are without their role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The provider that serves it.
    pub provider: String,
    /// The provider it moves to.
    pub new_provider: Option<String>,
    /// Grows with every assignment of the object.
    pub epoch: u64,
    /// A person chose the provider: no other attracts the object while this one accepts it.
    pub pinned: bool,
    /// A person chose the provider that the object is leaving: where the move is undone, that choice stands again.
    pub pinned_before: bool,
}

/// What an assignment's signature proves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proven {
    /// See [`Assignment::epoch`].
    pub epoch: u64,
    /// See [`Assignment::pinned`].
    pub pinned: bool,
    /// See [`Assignment::pinned_before`].
    pub pinned_before: bool,
}

/// A Migration and the move that it is for, as its mark speaks of them. Provider names are without their role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Errand<'a> {
    /// Namespace of the Migration.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its `metadata.uid`. One that the broker makes has none when it is signed.
    pub uid: &'a str,
    /// The provider that is left.
    pub from: &'a str,
    /// The provider that takes over.
    pub to: &'a str,
}

/// Who made a Migration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Maker {
    /// The broker, for the move that the assignment of this epoch began.
    Broker(u64),
    /// A person; the broker found out which origin it is about.
    Person,
}

/// What a copy says of its making.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seal {
    /// Epoch of the assignment the copy was made under.
    pub epoch: u64,
    /// Digest of the payload that was last applied.
    pub digest: [u8; 8],
}

impl KeyRing {
    /// A ring of these keys; the first signs.
    pub fn new(keys: Vec<Key>) -> Result<Self, KeyRingError> {
        let mut ring: Vec<(String, Hmac<Sha256>)> = Vec::with_capacity(keys.len());
        for Key { id, secret } in keys {
            let fits = (1..=MAX_ID).contains(&id.len())
                && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
            if !fits {
                return Err(KeyRingError::Id(id));
            }
            if ring.iter().any(|(other, _)| *other == id) {
                return Err(KeyRingError::Twice(id));
            }
            let length = secret.len();
            match Hmac::new_from_slice(&secret) {
                Ok(mac) if length >= MIN_SECRET => ring.push((id, mac)),
                _ => return Err(KeyRingError::Short { id, length }),
            }
        }
        if ring.is_empty() { Err(KeyRingError::Empty) } else { Ok(Self { keys: ring }) }
    }

    /// The ring that a Secret's `data` holds: each entry is a key, its name the key's id.
    ///
    /// With one key that key signs. With several an entry `primary` (no key itself) holds the id of the one that signs:
    /// to rotate, add a key, let every broker read it, then change `primary`, and remove the old key once all objects
    /// were signed anew.
    pub fn from_secret_data(data: &BTreeMap<String, Vec<u8>>) -> Result<Self, KeyRingError> {
        let primary = data.get(PRIMARY).map(|id| String::from_utf8_lossy(id).trim().to_owned());
        let mut keys: Vec<Key> = data
            .iter()
            .filter(|(id, _)| *id != PRIMARY)
            .map(|(id, secret)| Key { id: id.clone(), secret: secret.clone() })
            .collect();
        match primary {
            Some(primary) => match keys.iter().position(|key| key.id == primary) {
                Some(index) => keys[..=index].rotate_right(1),
                None => return Err(KeyRingError::UnknownPrimary(primary)),
            },
            None if keys.len() > 1 => return Err(KeyRingError::NoPrimary),
            None => {}
        }
        Self::new(keys)
    }

    /// Whether a signature was made with the key that signs now. Says nothing of whether it is right.
    pub fn is_current(&self, text: &str) -> bool {
        text.split('.').nth(1) == Some(self.signs_with())
    }

    /// Id of the key that signs.
    pub fn signs_with(&self) -> &str {
        self.keys.first().map_or("", |(id, _)| id)
    }

    /// Text of the assignment annotation: `v1.<key id>.<epoch>.<mac>`; a `p` behind the epoch: pinned; a `b`: was pinned
    /// before the move.
    pub fn sign_assignment(&self, subject: &OriginRef<'_>, assignment: &Assignment) -> String {
        let Assignment { provider, new_provider, epoch, pinned, pinned_before } = assignment;
        let proven = Proven { epoch: *epoch, pinned: *pinned, pinned_before: *pinned_before };
        let mark = |set: bool, mark: &'static str| if set { mark } else { "" };
        let fields = format!("{epoch}{}{}", mark(*pinned, PINNED), mark(*pinned_before, PINNED_BEFORE));
        self.sign(&fields, |mac| {
            feed_assignment(mac, subject, provider, new_provider.as_deref(), proven);
        })
    }

    /// What it proves, when `text` is the annotation of exactly this assignment. Malformed text is a wrong signature.
    pub fn verify_assignment(
        &self,
        subject: &OriginRef<'_>,
        provider: &str,
        new_provider: Option<&str>,
        text: &str,
    ) -> Option<Proven> {
        let (id, [field], mac) = split(text)?;
        let proven = parse_assignment(field)?;
        self.verify(id, mac, |mac| {
            feed_assignment(mac, subject, provider, new_provider, proven);
        })?;
        Some(proven)
    }

    /// Text of the origin annotation: `v1.<key id>.<epoch>.<digest>.<mac>`.
    pub fn sign_origin(&self, subject: &OriginRef<'_>, provider: &str, origin: &Seal) -> String {
        let fields = format!("{}.{}", origin.epoch, hex::encode(origin.digest));
        self.sign(&fields, |mac| feed_origin(mac, subject, provider, origin))
    }

    /// The origin, when `text` is the annotation of a copy of `subject` at `provider`.
    pub fn verify_origin(&self, subject: &OriginRef<'_>, provider: &str, text: &str) -> Option<Seal> {
        let (id, [epoch, hexed], mac) = split(text)?;
        let mut digest = [0; 8];
        hex::decode_to_slice(hexed, &mut digest).ok()?;
        let origin = Seal { epoch: parse_epoch(epoch)?, digest };
        self.verify(id, mac, |mac| feed_origin(mac, subject, provider, &origin))?;
        Some(origin)
    }

    /// Text of the origin annotation of a Migration about `subject`: `v1.<key id>.<epoch>.<mac>`, `p` for an epoch where a
    /// person made it. The same as often as it is signed with one key.
    pub fn sign_migration(&self, subject: &OriginRef<'_>, errand: &Errand<'_>, maker: Maker) -> String {
        let field = match maker {
            Maker::Broker(epoch) => epoch.to_string(),
            Maker::Person => PERSON.to_owned(),
        };
        self.sign(&field, |mac| feed_migration(mac, subject, errand, maker))
    }

    /// Who made a Migration, when `text` is the annotation of this one about `subject`.
    pub fn verify_migration(&self, subject: &OriginRef<'_>, errand: &Errand<'_>, text: &str) -> Option<Maker> {
        let (id, [field], mac) = split(text)?;
        let maker = if field == PERSON { Maker::Person } else { Maker::Broker(parse_epoch(field)?) };
        self.verify(id, mac, |mac| feed_migration(mac, subject, errand, maker))?;
        Some(maker)
    }

    /// Text for what the Migration of this uid recorded: `v1.<key id>.<mac>`. `content` is all of it.
    pub fn sign_record(&self, uid: &str, content: &str) -> String {
        self.sign_fields(&[], |mac| feed_record(mac, uid, content))
    }

    /// Whether `text` was made by [`KeyRing::sign_record`] for the same.
    pub fn verify_record(&self, uid: &str, content: &str, text: &str) -> bool {
        let verify = || {
            let (id, [], mac) = split(text)?;
            self.verify(id, mac, |mac| feed_record(mac, uid, content))
        };
        verify().is_some()
    }

    fn sign(&self, field: &str, feed: impl FnOnce(&mut Hmac<Sha256>)) -> String {
        self.sign_fields(&[field], feed)
    }

    fn sign_fields(&self, fields: &[&str], feed: impl FnOnce(&mut Hmac<Sha256>)) -> String {
        // `new` refuses an empty ring; an empty signature verifies nowhere.
        let Some((id, key)) = self.keys.first() else {
            return String::new();
        };
        let mut mac = key.clone();
        feed(&mut mac);
        let mac = BASE64_URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes());
        [&[VERSION, id], fields, &[&mac]].concat().join(".")
    }

    fn verify(&self, id: &str, text: &str, feed: impl FnOnce(&mut Hmac<Sha256>)) -> Option<()> {
        let (_, key) = self.keys.iter().find(|(own, _)| own == id)?;
        let theirs = BASE64_URL_SAFE_NO_PAD.decode(text).ok()?;
        let mut mac = key.clone();
        feed(&mut mac);
        // Compares in constant time.
        mac.verify_slice(&theirs).ok()
    }
}

/// `v1.<id>.<N fields>.<mac>` in parts.
fn split<const N: usize>(text: &str) -> Option<(&str, [&str; N], &str)> {
    let mut parts = text.split('.');
    if parts.next()? != VERSION {
        return None;
    }
    let id = parts.next()?;
    let mut fields = [""; N];
    for field in &mut fields {
        *field = parts.next()?;
    }
    let mac = parts.next()?;
    parts.next().is_none().then_some((id, fields, mac))
}

/// What an assignment's text says, whoever wrote it: for people, who have no key.
pub fn claimed(text: &str) -> Option<Proven> {
    let (_, [field], _) = split(text)?;
    parse_assignment(field)
}

fn parse_assignment(field: &str) -> Option<Proven> {
    let before = field.strip_suffix(PINNED_BEFORE);
    let field = before.unwrap_or(field);
    let epoch = field.strip_suffix(PINNED);
    Some(Proven {
        epoch: parse_epoch(epoch.unwrap_or(field))?,
        pinned: epoch.is_some(),
        pinned_before: before.is_some(),
    })
}

/// Only the form that we print: `+1` and `01` are not ours.
fn parse_epoch(text: &str) -> Option<u64> {
    text.parse().ok().filter(|epoch: &u64| epoch.to_string() == text)
}

fn feed_assignment(mac: &mut Hmac<Sha256>, subject: &OriginRef<'_>, provider: &str, new: Option<&str>, proven: Proven) {
    feed_subject(mac, "assignment", subject);
    feed_text(mac, provider);
    // None and Some("") are told apart.
    mac.update(&[u8::from(new.is_some())]);
    feed_text(mac, new.unwrap_or_default());
    mac.update(&proven.epoch.to_be_bytes());
    // One byte, as it was before there were two of them: older signatures hold.
    mac.update(&[u8::from(proven.pinned) | u8::from(proven.pinned_before) << 1]);
}

fn feed_origin(mac: &mut Hmac<Sha256>, subject: &OriginRef<'_>, provider: &str, origin: &Seal) {
    feed_subject(mac, "origin", subject);
    feed_text(mac, provider);
    mac.update(&origin.epoch.to_be_bytes());
    mac.update(&origin.digest);
}

fn feed_migration(mac: &mut Hmac<Sha256>, subject: &OriginRef<'_>, errand: &Errand<'_>, maker: Maker) {
    let Errand { namespace, name, uid, from, to } = errand;
    feed_subject(mac, "migration", subject);
    for text in [namespace, name, from, to] {
        feed_text(mac, text);
    }
    match maker {
        Maker::Broker(epoch) => mac.update(&epoch.to_be_bytes()),
        // Another one of the same name is to be found out about anew.
        Maker::Person => feed_text(mac, uid),
    }
    mac.update(&[u8::from(maker == Maker::Person)]);
}

fn feed_record(mac: &mut Hmac<Sha256>, uid: &str, content: &str) {
    for text in [VERSION, "record", uid, content] {
        feed_text(mac, text);
    }
}

fn feed_subject(mac: &mut Hmac<Sha256>, purpose: &str, subject: &OriginRef<'_>) {
    let OriginRef { cluster, group, kind, namespace, name, uid } = subject;
    for text in [VERSION, purpose, cluster.role().as_str(), cluster.name(), group, kind, namespace, name, uid] {
        feed_text(mac, text);
    }
}

/// Length first, so that no two lists of fields run together to the same bytes.
fn feed_text(mac: &mut Hmac<Sha256>, text: &str) {
    mac.update(&(text.len() as u64).to_be_bytes());
    mac.update(text.as_bytes());
}
