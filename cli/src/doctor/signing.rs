//! The signing keys: whether they are there, usable, and kept twice. Nothing of them is held or told but a digest's
//! equality.

use std::collections::BTreeMap;

use broker_api::keys::{SIGNING_KEY_BACKUP, SIGNING_KEY_SECRET};
use broker_core::assignment::{KeyRing, KeyRingError};
use k8s_openapi::{ByteString, api::core::v1::Secret};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{
    facts::{Facts, Inside, Pair},
    finding::Finding,
};
use crate::cluster::Trouble;

const CHECK: &str = "signing-key";

const PUT_BACK: &str = "put it back from your backup (docs/operations.md, \"The signing key\")";

/// What a Secret of signing keys comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Keys {
    /// There is none.
    Absent,
    /// It holds no key ring, and why.
    Broken(String),
    /// It holds one: SHA-256 over all of it.
    Ring([u8; 32]),
}

impl Keys {
    /// Of a Secret.
    pub(crate) fn of(secret: Option<Value>) -> Self {
        let Some(secret) = secret else { return Self::Absent };
        let Ok(secret) = serde_json::from_value::<Secret>(secret) else {
            return Self::Broken("is no Secret that can be read".to_owned());
        };
        let data = secret.data.unwrap_or_default().into_iter();
        let data: BTreeMap<String, Vec<u8>> = data.map(|(id, ByteString(key))| (id, key)).collect();
        match KeyRing::from_secret_data(&data) {
            Ok(_) => Self::Ring(digest(&data)),
            // Whoever has put a key there in place of a name is not to see it here.
            Err(KeyRingError::UnknownPrimary(_)) => {
                Self::Broken("has an entry \"primary\" that names no key in it".to_owned())
            }
            Err(error) => Self::Broken(error.to_string()),
        }
    }
}

fn digest(data: &BTreeMap<String, Vec<u8>>) -> [u8; 32] {
    let mut digest = Sha256::new();
    for part in data.iter().flat_map(|(id, key)| [id.as_bytes(), key.as_slice()]) {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    }
    digest.finalize().into()
}

/// Judges them.
pub(crate) fn check(facts: &Facts, inside: &Inside) -> Vec<Finding> {
    let works = inside.deployed_brokers().iter().any(|broker| broker.available > 0);
    inside.keys.iter().flat_map(|(namespace, pair)| of_one(facts, namespace, pair, works)).collect()
}

fn of_one(facts: &Facts, namespace: &str, pair: &Pair, works: bool) -> Vec<Finding> {
    let place = |name: &str| format!("{} Secret {namespace}/{name}", facts.hub.name);
    let (first, backup) = (place(SIGNING_KEY_SECRET), place(SIGNING_KEY_BACKUP));
    let needs = |name: &str| format!("get of Secret {name} in namespace {namespace}");
    let unchecked = |place: &str, name: &str, why: &Trouble| vec![Finding::unchecked(CHECK, place, why, &needs(name))];
    match (&pair.first, &pair.backup) {
        (Err(why), _) => unchecked(&first, SIGNING_KEY_SECRET, why),
        (Ok(Keys::Broken(why)), _) => vec![Finding::error(
            CHECK,
            &first,
            format!("the signing keys cannot be used: the Secret {why}"),
            "put it right, or delete it to have its copy taken",
        )],
        (Ok(Keys::Absent), Ok(Keys::Ring(_))) => vec![Finding::error(
            CHECK,
            &first,
            "the signing keys are gone, but their copy is there",
            "a broker makes the Secret again from the copy; see its log where that does not happen",
        )],
        (Ok(Keys::Absent), _) if works => {
            vec![Finding::error(CHECK, &first, "there are no signing keys, and nothing is written without", PUT_BACK)]
        }
        (Ok(Keys::Absent), _) => vec![Finding::warning(
            CHECK,
            &first,
            "there are no signing keys yet",
            format!("the broker makes them at its first start; if it has been started before, {PUT_BACK}"),
        )],
        (Ok(Keys::Ring(_)), Err(why)) => unchecked(&backup, SIGNING_KEY_BACKUP, why),
        (Ok(Keys::Ring(one)), Ok(Keys::Ring(two))) if one == two => Vec::new(),
        (Ok(Keys::Ring(_)), Ok(kept)) => vec![Finding::warning(
            CHECK,
            &backup,
            match kept {
                Keys::Absent => "the signing keys are not kept a second time: there is no copy".to_owned(),
                Keys::Broken(why) => format!("the copy of the signing keys cannot be used: it {why}"),
                Keys::Ring(_) => "the copy of the signing keys is not what the Secret is now".to_owned(),
            },
            "the leading broker brings it up to date within half a minute; if not, it needs create and patch of that Secret (config/rbac/roles.yaml)",
        )],
    }
}

#[cfg(test)]
mod tests {
    use broker_api::keys::MANAGER;
    use serde_json::json;

    use super::*;
    use crate::{
        deployed::tests::broker,
        doctor::{
            facts::tests::{brokers, facts, inside},
            finding::Severity,
        },
    };

    fn secret(entries: &[(&str, &[u8])]) -> Keys {
        let data = entries.iter().map(|(id, key)| ((*id).to_owned(), json!(ByteString(key.to_vec()))));
        Keys::of(Some(json!({ "metadata": { "name": MANAGER }, "data": data.collect::<serde_json::Map<_, _>>() })))
    }

    fn found(first: Keys, backup: Keys) -> Vec<Finding> {
        let facts = facts(inside(), Vec::new());
        let mut inside = inside();
        inside.deployed = Ok(brokers(vec![broker(&["--watch-kind=A.v1.x.io"], 1, 1)]));
        inside.keys.insert("system".into(), Pair { first: Ok(first), backup: Ok(backup) });
        check(&facts, &inside)
    }

    #[test]
    fn both_are_there_and_equal() {
        let (one, other) = (secret(&[("k1", &[7; 32])]), secret(&[("k1", &[8; 32])]));
        assert!(found(one.clone(), one.clone()).is_empty());
        for (backup, words) in [(Keys::Absent, "no copy"), (other, "not what"), (secret(&[]), "cannot be used")] {
            let found = found(one.clone(), backup);
            assert!(found[0].severity == Severity::Warning && found[0].what.contains(words), "{found:?}");
        }
    }

    #[test]
    fn one_of_several_keys_has_to_sign() {
        let several: &[(&str, &[u8])] = &[("a", &[7; 32]), ("b", &[8; 32])];
        assert!(matches!(secret(several), Keys::Broken(why) if why.contains("primary")));
        let mut signing = several.to_vec();
        signing.push(("primary", b"b"));
        assert!(matches!(secret(&signing), Keys::Ring(_)));
        let found = found(secret(several), Keys::Absent);
        assert!(matches!(&found[..], [one] if one.severity == Severity::Error), "{found:?}");
    }

    #[test]
    fn lost_keys_are_told_and_never_shown() {
        let misplaced = secret(&[("k1", &[7; 32]), ("primary", b"tell nobody")]);
        assert!(matches!(misplaced, Keys::Broken(why) if !why.contains("nobody")));
        let lost = found(Keys::Absent, Keys::Absent);
        assert!(lost[0].severity == Severity::Error && lost[0].remedy.contains("backup"), "{lost:?}");
        let short = secret(&[("k1", b"tell nobody")]);
        assert!(!format!("{:?}", found(short, Keys::Absent)).contains("tell nobody"));
    }

    #[test]
    fn what_may_not_be_read_is_told() {
        let facts = facts(inside(), Vec::new());
        let mut inside = inside();
        let denied = || Err(Trouble::Forbidden("no".into()));
        inside.keys.insert("system".into(), Pair { first: denied(), backup: denied() });
        let found = check(&facts, &inside);
        assert!(matches!(&found[..], [one] if one.remedy.contains(SIGNING_KEY_SECRET)), "{found:?}");
    }
}
