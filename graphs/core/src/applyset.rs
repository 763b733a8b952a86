//! The set of an instance's children: its id, and the inventory on the instance that pruning and deletion search.
//!
//! What the inventory says is believed only as far as its hash and form go: people can write annotations.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    str::FromStr,
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use broker_api::graphs::keys;
use sha2::{Digest, Sha256};

/// Longest text of an annotation that is read, in bytes: API servers allow no more for all of an object's together.
const MAX_TEXT: usize = 256 * 1024;

/// Most kinds that are searched: those of two graphs, each of as many resources as it may have. Each costs a watch.
pub const MAX_GROUP_KINDS: usize = 1024;

/// Most namespaces that are searched.
pub const MAX_NAMESPACES: usize = 4096;

/// How much of a wrong text is told, in characters.
const SHOWN: usize = 80;

/// Id of the set of an instance's children, for [`keys::APPLYSET_ID`] and [`keys::APPLYSET_PART_OF`]. The namespace of a
/// cluster-scoped instance, and the core group, are empty.
pub fn id(name: &str, namespace: &str, kind: &str, group: &str) -> String {
    let hash = Sha256::digest(format!("{name}.{namespace}.{kind}.{group}").as_bytes());
    format!("applyset-{}-v1", URL_SAFE_NO_PAD.encode(hash))
}

/// A kind, whatever its version. In text `Deployment.apps`, or `ConfigMap` in the core group.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupKind {
    /// Kind.
    pub kind: String,
    /// API group; empty for the core group.
    pub group: String,
}

impl fmt::Display for GroupKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, group } = self;
        let dot = if group.is_empty() { "" } else { "." };
        write!(f, "{kind}{dot}{group}")
    }
}

impl FromStr for GroupKind {
    type Err = InventoryError;

    fn from_str(text: &str) -> Result<Self, InventoryError> {
        let (kind, group) = text.split_once('.').unwrap_or((text, ""));
        let is_kind = kind.bytes().next().is_some_and(|first| first.is_ascii_alphabetic())
            && kind.len() <= 63
            && kind.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if is_kind && (!text.contains('.') || is_subdomain(group)) {
            Ok(Self { kind: kind.to_owned(), group: group.to_owned() })
        } else {
            Err(InventoryError::Entry { key: keys::APPLYSET_GROUP_KINDS, entry: shown(text) })
        }
    }
}

fn is_label(text: &str) -> bool {
    let ends = [text.bytes().next(), text.bytes().next_back()];
    (1..=63).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        && ends.into_iter().flatten().all(|byte| byte != b'-')
}

fn is_subdomain(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_label)
}

fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

/// Where an instance's children may be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inventory {
    /// Their kinds.
    pub group_kinds: BTreeSet<GroupKind>,
    /// Their namespaces, without the instance's own.
    pub namespaces: BTreeSet<String>,
}

/// Why an inventory is not believed. Nothing can be deleted by it until a person repairs what is named.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InventoryError {
    /// The label with the id is missing or says another one.
    #[error(
        "label {key} is {found:?}, not {wanted:?}: the inventory of another object; set the label to {wanted:?}",
        key = keys::APPLYSET_ID
    )]
    Id {
        /// What it says.
        found: String,
        /// What it has to say.
        wanted: String,
    },
    /// The annotation with the tooling is missing or not kro's.
    #[error(
        "annotation {key} is {0:?}: another tool's inventory; remove that tool's annotations, or set it to kro/ and a version",
        key = keys::APPLYSET_TOOLING
    )]
    Tooling(String),
    /// An annotation is missing.
    #[error("annotation {0} is missing: restore it, or the objects it names are not found")]
    Missing(&'static str),
    /// An annotation is longer than any that is read.
    #[error("annotation {key} is too long: no more than {MAX_TEXT} bytes and {most} entries are read")]
    TooLong {
        /// Its key.
        key: &'static str,
        /// So many entries are read.
        most: usize,
    },
    /// An annotation has an entry of another form.
    #[error("annotation {key} has the entry {entry:?}, which cannot be one: correct it")]
    Entry {
        /// Its key.
        key: &'static str,
        /// The entry.
        entry: String,
    },
    /// The hash is not that of the id and the two texts.
    #[error(
        "annotation {key} is not the hash of the inventory, which somebody has changed: restore the inventory, or remove \
         this annotation when it is right as it is",
        key = keys::APPLYSET_HASH
    )]
    Hash,
}

impl Inventory {
    /// Adds a child's kind, and its namespace unless it has none or the instance's own.
    pub fn add(&mut self, group_kind: GroupKind, namespace: &str, own_namespace: &str) {
        self.group_kinds.insert(group_kind);
        if !namespace.is_empty() && namespace != own_namespace {
            self.namespaces.insert(namespace.to_owned());
        }
    }

    /// What is in either.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        Self { group_kinds: &self.group_kinds | &other.group_kinds, namespaces: &self.namespaces | &other.namespaces }
    }

    /// Value of [`keys::APPLYSET_GROUP_KINDS`]: sorted as texts, by commas.
    pub fn group_kinds_text(&self) -> String {
        let texts: BTreeSet<String> = self.group_kinds.iter().map(ToString::to_string).collect();
        joined(texts.iter())
    }

    /// Value of [`keys::APPLYSET_NAMESPACES`]: sorted, by commas.
    pub fn namespaces_text(&self) -> String {
        joined(self.namespaces.iter())
    }

    /// Value of [`keys::APPLYSET_HASH`].
    pub fn hash(&self, id: &str) -> String {
        hash(id, &self.group_kinds_text(), &self.namespaces_text())
    }

    /// The annotations of an instance with this inventory. `tooling` is [`keys::TOOLING_PREFIX`] and a version.
    pub fn annotations(&self, id: &str, tooling: &str) -> BTreeMap<&'static str, String> {
        let (group_kinds, namespaces) = (self.group_kinds_text(), self.namespaces_text());
        BTreeMap::from([
            (keys::APPLYSET_TOOLING, tooling.to_owned()),
            (keys::APPLYSET_HASH, hash(id, &group_kinds, &namespaces)),
            (keys::APPLYSET_GROUP_KINDS, group_kinds),
            (keys::APPLYSET_NAMESPACES, namespaces),
        ])
    }

    /// Reads the inventory of the instance whose set has this id from its labels and annotations.
    ///
    /// The label must be ours, the tooling kro's, both texts there, and the hash right if there is one: earlier releases
    /// of kro wrote none.
    pub fn read(
        id: &str,
        labels: &BTreeMap<String, String>,
        annotations: &BTreeMap<String, String>,
    ) -> Result<Self, InventoryError> {
        let found = labels.get(keys::APPLYSET_ID).map(String::as_str).unwrap_or_default();
        if found != id {
            return Err(InventoryError::Id { found: shown(found), wanted: id.to_owned() });
        }
        let tooling = annotations.get(keys::APPLYSET_TOOLING).map(String::as_str).unwrap_or_default();
        if !tooling.starts_with(keys::TOOLING_PREFIX) {
            return Err(InventoryError::Tooling(shown(tooling)));
        }
        let text = |key: &'static str| annotations.get(key).ok_or(InventoryError::Missing(key));
        let group_kinds = text(keys::APPLYSET_GROUP_KINDS)?;
        let namespaces = text(keys::APPLYSET_NAMESPACES)?;
        // Over the texts as they are: another order of the same entries was not written by us either.
        if annotations.get(keys::APPLYSET_HASH).is_some_and(|found| *found != hash(id, group_kinds, namespaces)) {
            return Err(InventoryError::Hash);
        }
        Ok(Self {
            group_kinds: entries(keys::APPLYSET_GROUP_KINDS, group_kinds, MAX_GROUP_KINDS)?
                .map(GroupKind::from_str)
                .collect::<Result<_, _>>()?,
            namespaces: entries(keys::APPLYSET_NAMESPACES, namespaces, MAX_NAMESPACES)?
                .map(namespace)
                .collect::<Result<_, _>>()?,
        })
    }
}

fn namespace(entry: &str) -> Result<String, InventoryError> {
    if is_label(entry) {
        Ok(entry.to_owned())
    } else {
        Err(InventoryError::Entry { key: keys::APPLYSET_NAMESPACES, entry: shown(entry) })
    }
}

fn joined<'a>(texts: impl Iterator<Item = &'a String>) -> String {
    texts.map(String::as_str).collect::<Vec<_>>().join(",")
}

fn hash(id: &str, group_kinds: &str, namespaces: &str) -> String {
    let hash = Sha256::digest(format!("{id}\0{group_kinds}\0{namespaces}").as_bytes());
    format!("sha256:{}", URL_SAFE_NO_PAD.encode(hash))
}

/// The entries of a list by commas, without the blanks around them; none in an empty text.
fn entries<'a>(key: &'static str, text: &'a str, most: usize) -> Result<impl Iterator<Item = &'a str>, InventoryError> {
    if text.len() > MAX_TEXT || text.bytes().filter(|byte| *byte == b',').count() >= most {
        return Err(InventoryError::TooLong { key, most });
    }
    let text = text.trim();
    Ok(text.split(',').map(str::trim).filter(move |_| !text.is_empty()))
}
