//! What the platform lets a provider do, whatever that says in its AcceptAPIs.
//!
//! It stands where the provider cannot write: in annotations of its cluster Secret, or in a file beside its kubeconfig.
//! One that cannot be read is read as strictly as can be without moving anything: what the provider has stays, and
//! nothing new comes.

use std::{collections::BTreeMap, str::FromStr};

use broker_api::keys;
use runtime_effect::{kind::Kind, selector::Selector};
use serde::Deserialize;

/// How much of what cannot be read is repeated, in characters.
const SHOWN: usize = 64;

/// Most kinds that are named.
const MAX_KINDS: usize = 256;

/// The bounds of one provider.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// Higher priorities count as this one.
    pub max_priority: Option<i64>,
    /// Whether objects that are placed already may be attracted.
    pub allow_rebalance: bool,
    serves: Option<Vec<String>>,
    consumers: Option<Selector>,
    errors: Vec<String>,
}

/// A policy as a file has it. `labels` are the cluster's own, for others' `consumers`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct PolicyDocument {
    /// See [`Policy::max_priority`].
    pub max_priority: Option<i64>,
    /// See [`Policy::allow_rebalance`].
    pub allow_rebalance: bool,
    /// Kinds, as `Kind.group` or `Kind.version.group`; all when not set.
    pub serves: Option<Vec<String>>,
    /// Label selector over consumers; all when not set.
    pub consumers: Option<String>,
    /// Labels of the cluster.
    pub labels: BTreeMap<String, String>,
}

impl Policy {
    /// The policy that a cluster Secret's annotations hold.
    pub fn annotated(annotations: &BTreeMap<String, String>) -> Self {
        let mut policy = Self::default();
        let mut errors = Vec::new();
        let given = |key: &str| annotations.get(key).map(String::as_str);
        policy.max_priority = given(keys::MAX_PRIORITY).and_then(|text| {
            let parsed = text.trim().parse().ok();
            if parsed.is_none() {
                errors.push(format!("annotation {} is {:?}, not a whole number", keys::MAX_PRIORITY, shown(text)));
            }
            parsed
        });
        policy.allow_rebalance = match given(keys::ALLOW_REBALANCE) {
            Some(keys::TRUE) => true,
            None | Some("false") => false,
            Some(text) => {
                errors.push(format!(
                    "annotation {} is {:?}, neither \"true\" nor \"false\"",
                    keys::ALLOW_REBALANCE,
                    shown(text)
                ));
                false
            }
        };
        let kinds = given(keys::SERVES)
            .map(|text| text.split(',').map(str::trim).filter(|kind| !kind.is_empty()).map(str::to_owned).collect());
        policy.set_serves(kinds, &format!("annotation {}", keys::SERVES), &mut errors);
        policy.set_consumers(given(keys::CONSUMERS), &format!("annotation {}", keys::CONSUMERS), &mut errors);
        Self { errors, ..policy }
    }

    /// The policy that a file holds.
    pub fn written(document: &PolicyDocument) -> Self {
        let mut policy =
            Self { max_priority: document.max_priority, allow_rebalance: document.allow_rebalance, ..Self::default() };
        let mut errors = Vec::new();
        policy.set_serves(document.serves.clone(), "serves", &mut errors);
        policy.set_consumers(document.consumers.as_deref(), "consumers", &mut errors);
        Self { errors, ..policy }
    }

    /// One that cannot be read, and why.
    pub fn unreadable(why: impl Into<String>) -> Self {
        Self { errors: vec![why.into()], ..Self::default() }
    }

    fn set_serves(&mut self, kinds: Option<Vec<String>>, place: &str, errors: &mut Vec<String>) {
        let Some(kinds) = kinds else { return };
        let wrong = kinds.iter().find(|kind| !is_kind(kind));
        if let Some(wrong) = wrong {
            let shown = shown(wrong);
            errors.push(format!(
                "{place}: {shown:?} is no kind; write Kind.group or Kind.version.group (for the core group: core), separated by commas"
            ));
        } else if kinds.len() > MAX_KINDS {
            errors.push(format!("{place}: names {} kinds; at most {MAX_KINDS}", kinds.len()));
        } else {
            self.serves = Some(kinds);
        }
    }

    fn set_consumers(&mut self, text: Option<&str>, place: &str, errors: &mut Vec<String>) {
        match text.map(Selector::from_str) {
            None => {}
            Some(Ok(selector)) => self.consumers = Some(selector),
            Some(Err(error)) => errors.push(format!("{place} {error}")),
        }
    }

    /// What is wrong with it; then nothing new comes.
    pub fn errors(&self) -> &[String] {
        &self.errors
    }

    /// Whether objects of a kind may be served.
    pub fn serves(&self, kind: &Kind) -> bool {
        let Some(kinds) = &self.serves else { return true };
        let group = if kind.group.is_empty() { "core" } else { &kind.group };
        kinds.iter().any(|named| {
            named.strip_prefix(&*kind.kind).and_then(|rest| rest.strip_prefix('.')).is_some_and(|rest| {
                rest == group
                    || rest.strip_prefix(&*kind.version).and_then(|rest| rest.strip_prefix('.')) == Some(group)
            })
        })
    }

    /// Which consumers may be served, by their labels; all when `None`.
    pub fn consumers(&self) -> Option<&Selector> {
        self.consumers.as_ref()
    }
}

fn is_kind(text: &str) -> bool {
    let Some((kind, rest)) = text.split_once('.') else { return false };
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
    kind.starts_with(|char: char| char.is_ascii_uppercase())
        && kind.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && !rest.is_empty()
        && rest.bytes().all(plain)
}

fn shown(text: &str) -> String {
    text.chars().take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn annotated(pairs: &[(&str, &str)]) -> Policy {
        Policy::annotated(&pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect())
    }

    fn kind(kind: &str, version: &str, group: &str) -> Kind {
        Kind { group: group.into(), version: version.into(), kind: kind.into() }
    }

    #[test]
    fn without_a_word_of_the_platform_nothing_is_attracted_and_all_else_is_free() {
        let policy = annotated(&[("other", "x")]);
        assert_eq!(policy, Policy::default());
        assert!(!policy.allow_rebalance && policy.max_priority.is_none() && policy.errors().is_empty());
        assert!(policy.serves(&kind("VM", "v1", "g")) && policy.consumers().is_none());
    }

    #[test]
    fn annotations_and_files_say_the_same() {
        let policy = annotated(&[
            (keys::MAX_PRIORITY, "-5"),
            (keys::ALLOW_REBALANCE, "true"),
            (keys::SERVES, "VM.example.org, Secret.core"),
            (keys::CONSUMERS, "tier=gold"),
        ]);
        let document = PolicyDocument {
            max_priority: Some(-5),
            allow_rebalance: true,
            serves: Some(vec!["VM.example.org".into(), "Secret.core".into()]),
            consumers: Some("tier=gold".into()),
            labels: BTreeMap::new(),
        };
        assert_eq!(policy, Policy::written(&document));
        assert!(policy.errors().is_empty());
        let labels = |tier: &str| BTreeMap::from([("tier".to_owned(), tier.to_owned())]);
        let selector = policy.consumers().unwrap();
        assert!(selector.selects(&labels("gold")) && !selector.selects(&labels("silver")));
    }

    #[test]
    fn a_kind_is_named_with_or_without_its_version() {
        for (named, expected) in [
            ("VM.example.org", true),
            ("VM.v1.example.org", true),
            ("VM.v2.example.org", false),
            ("VM.org", false),
            ("V.example.org", false),
            ("VMs.example.org", false),
            ("", false),
        ] {
            let policy = annotated(&[(keys::SERVES, named)]);
            assert!(policy.errors().is_empty(), "{named}");
            assert_eq!(policy.serves(&kind("VM", "v1", "example.org")), expected, "{named}");
        }
        assert!(annotated(&[(keys::SERVES, "Secret.v1.core")]).serves(&kind("Secret", "v1", "")));
    }

    #[test]
    fn what_cannot_be_read_is_an_error() {
        for (key, text) in [
            (keys::MAX_PRIORITY, "high"),
            (keys::ALLOW_REBALANCE, "yes"),
            (keys::SERVES, "vms"),
            (keys::SERVES, "VM.example.org,certificates.example.org"),
            (keys::CONSUMERS, ""),
            (keys::CONSUMERS, "tier in gold"),
        ] {
            let policy = annotated(&[(key, text)]);
            assert_eq!(policy.errors().len(), 1, "{key} {text}");
            assert!(policy.errors()[0].contains(key) && !policy.allow_rebalance, "{:?}", policy.errors());
        }
        assert_eq!(Policy::unreadable("no YAML").errors(), ["no YAML"]);
    }

    #[test]
    fn what_is_no_kind_is_named_so_far_and_no_more_are_taken_than_so_many() {
        let errors = |kinds: Vec<String>| annotated(&[(keys::SERVES, &kinds.join(","))]).errors().to_vec();
        let wrong = &errors(vec!["VM.example.org".into(), "x".repeat(100)])[0];
        assert!(wrong.contains(&format!(": {:?} is no kind", "x".repeat(SHOWN))), "{wrong}");
        let many = |count: usize| errors(vec!["VM.example.org".into(); count]);
        assert_eq!((many(MAX_KINDS).len(), many(MAX_KINDS + 1).len()), (0, 1));
    }
}
