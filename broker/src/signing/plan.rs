//! What to do about the Secrets that hold the signing keys. Pure: while anything may be signed with a key that is lost,
//! no other is made in its place unless a person says so.

use std::collections::{BTreeMap, BTreeSet};

use broker_api::{
    ClusterName,
    keys::{SIGNING_KEY_BACKUP, SIGNING_KEY_SECRET},
};

/// The data of a Secret: key id → key, and which one signs.
pub(super) type Keys = BTreeMap<String, Vec<u8>>;

/// What is known of one of the two Secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    /// Not read yet.
    Unknown,
    /// It may not be read, and why.
    Denied(String),
    /// There is none.
    Absent,
    /// It holds no key ring, and why.
    Broken(String),
    /// A key ring.
    Keys(Keys),
}

/// Whether anything carries the broker's signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Marks {
    /// Not all is known: what is missing.
    Unknown(String),
    /// Nothing does.
    None,
    /// This does, among others.
    Found(String),
}

/// How much is known of one cluster's objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// All of them.
    All,
    /// Not all, and the rest is about to come.
    Coming,
    /// Not all: it cannot be reached, or does not tell.
    Away,
}

/// What a consumer's objects say.
#[derive(Debug, Clone)]
pub(super) struct Consumer {
    /// Its name.
    pub(super) name: ClusterName,
    /// How much is known.
    pub(super) known: Known,
    /// One of its objects that carries an assignment.
    pub(super) assigned: Option<String>,
}

/// What a provider's objects say.
#[derive(Debug, Clone)]
pub(super) struct Provider {
    /// Its name.
    pub(super) name: ClusterName,
    /// How much is known.
    pub(super) known: Known,
    /// The consumers of which it holds signed copies.
    pub(super) copies_of: BTreeSet<ClusterName>,
}

/// Whether anything is lost with the keys: an assignment in a consumer *and* its copy at a provider. Only both together
/// count, so that no cluster alone, by what it says or does not say, keeps the first key from being made. Two that are
/// both away are not waited for where others show that this broker has placed nothing yet.
pub(super) fn marks(consumers: &[Consumer], providers: &[Provider]) -> Marks {
    let clean = |known: Known, marked: bool| known == Known::All && !marked;
    let fresh = consumers.iter().any(|one| clean(one.known, one.assigned.is_some()))
        && providers.iter().any(|one| clean(one.known, !one.copies_of.is_empty()));
    let mut missing = BTreeSet::new();
    for consumer in consumers {
        for provider in providers {
            let copies = provider.copies_of.contains(&consumer.name);
            match (&consumer.assigned, copies) {
                (Some(example), true) => return Marks::Found(example.clone()),
                (None, _) if consumer.known == Known::All => {}
                (_, false) if provider.known == Known::All => {}
                (None, false) if fresh && consumer.known == Known::Away && provider.known == Known::Away => {}
                (Some(_), false) => drop(missing.insert(provider.name.to_string())),
                (None, true) => drop(missing.insert(consumer.name.to_string())),
                (None, false) => {
                    missing.insert(consumer.name.to_string());
                    missing.insert(provider.name.to_string());
                }
            }
        }
    }
    let first: Vec<String> = missing.iter().take(5).cloned().collect();
    match missing.len() - first.len() {
        _ if missing.is_empty() => Marks::None,
        0 => Marks::Unknown(first.join(", ")),
        more => Marks::Unknown(format!("{} and {more} others", first.join(", "))),
    }
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Plan {
    /// All is well.
    Rest,
    /// It cannot be told yet, and why.
    Wait(String),
    /// Nothing is written without keys: why, and what a person can do.
    Refuse(String),
    /// Make a key: there has never been one, or a person has asked for it.
    Make,
    /// Make the Secret again from these keys.
    Restore(Keys),
    /// Put a copy of these keys into the second Secret.
    Keep(Keys),
}

/// `held`: the keys in use. `new`: a person wants a new key where all are lost. `marks` is asked only where it matters.
pub(super) fn plan(
    first: &Found,
    backup: &Found,
    held: Option<&Keys>,
    new: bool,
    marks: impl FnOnce() -> Marks,
) -> Plan {
    match (first, held) {
        (Found::Unknown, _) => Plan::Wait("the signing keys are not read yet".to_owned()),
        (Found::Denied(_) | Found::Broken(_), Some(_)) => Plan::Rest,
        (Found::Denied(why), None) => {
            Plan::Wait(format!("Secret {SIGNING_KEY_SECRET} may not be read: {why}; grant list and watch on it"))
        }
        (Found::Broken(why), None) => Plan::Refuse(format!(
            "the signing keys cannot be used: Secret {SIGNING_KEY_SECRET} {why}; put it right, or delete it to have its copy {SIGNING_KEY_BACKUP} taken"
        )),
        (Found::Keys(keys), _) => match backup {
            Found::Keys(copy) if copy == keys => Plan::Rest,
            Found::Keys(_) | Found::Absent | Found::Broken(_) => Plan::Keep(keys.clone()),
            Found::Unknown | Found::Denied(_) => Plan::Rest,
        },
        (Found::Absent, Some(held)) => Plan::Restore(held.clone()),
        (Found::Absent, None) => match backup {
            Found::Keys(copy) => Plan::Restore(copy.clone()),
            Found::Unknown => {
                Plan::Wait(format!("the copy of the signing keys, Secret {SIGNING_KEY_BACKUP}, is not read yet"))
            }
            Found::Absent | Found::Broken(_) | Found::Denied(_) if new => Plan::Make,
            Found::Absent | Found::Broken(_) | Found::Denied(_) => lost(marks()),
        },
    }
}

fn lost(marks: Marks) -> Plan {
    let lead = format!("there is no Secret {SIGNING_KEY_SECRET} and no usable copy in {SIGNING_KEY_BACKUP}");
    match marks {
        Marks::None => Plan::Make,
        Marks::Found(example) => Plan::Refuse(format!(
            "the signing keys are lost: {lead}, but {example} is signed with one; nothing is written. Put the Secret back from a backup. If there is none, start the broker once with --new-signing-key: no assignment can be proven then, and objects are placed anew without a Migration"
        )),
        Marks::Unknown(missing) => Plan::Wait(format!(
            "{lead}, and it is not known whether anything is signed with a lost one: waiting for {missing}. If this is the first start and that does not come, take it out of the configuration until the broker is ready, or start once with --new-signing-key"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(id: &str) -> Keys {
        BTreeMap::from([(id.to_owned(), vec![7; 32])])
    }

    fn ring(id: &str) -> Found {
        Found::Keys(keys(id))
    }

    fn nobody() -> Marks {
        panic!("marks are not asked for")
    }

    const NONE: fn() -> Marks = || Marks::None;

    #[test]
    fn the_copy_follows_the_secret() {
        assert_eq!(plan(&ring("a"), &ring("a"), None, false, nobody), Plan::Rest);
        assert_eq!(plan(&ring("a"), &Found::Absent, None, false, nobody), Plan::Keep(keys("a")));
        assert_eq!(plan(&ring("b"), &ring("a"), Some(&keys("a")), false, nobody), Plan::Keep(keys("b")));
        assert_eq!(plan(&ring("a"), &Found::Unknown, None, false, nobody), Plan::Rest);
    }

    #[test]
    fn a_process_that_has_the_keys_puts_them_back_and_never_over_others() {
        assert_eq!(plan(&Found::Absent, &ring("old"), Some(&keys("a")), true, nobody), Plan::Restore(keys("a")));
        assert_eq!(plan(&Found::Absent, &Found::Absent, Some(&keys("a")), false, nobody), Plan::Restore(keys("a")));
        let broken = Found::Broken("holds no key".to_owned());
        assert_eq!(plan(&broken, &ring("a"), Some(&keys("a")), true, nobody), Plan::Rest);
        assert!(matches!(plan(&broken, &ring("a"), None, true, nobody), Plan::Refuse(_)));
    }

    #[test]
    fn a_fresh_process_takes_the_copy_and_makes_no_key_while_anything_may_be_signed() {
        assert_eq!(plan(&Found::Absent, &ring("a"), None, true, nobody), Plan::Restore(keys("a")));
        assert!(matches!(plan(&Found::Absent, &Found::Unknown, None, true, nobody), Plan::Wait(_)));
        assert!(matches!(plan(&Found::Unknown, &Found::Absent, None, true, nobody), Plan::Wait(_)));
        for backup in [Found::Absent, Found::Broken("x".to_owned()), Found::Denied("x".to_owned())] {
            let found = || Marks::Found("Certificate a/b in consumer#homer".to_owned());
            let Plan::Refuse(told) = plan(&Found::Absent, &backup, None, false, found) else { panic!("{backup:?}") };
            assert!(told.contains("a/b in consumer#homer") && told.contains("--new-signing-key"), "{told}");
            let unknown = || Marks::Unknown("consumer#bart".to_owned());
            let Plan::Wait(told) = plan(&Found::Absent, &backup, None, false, unknown) else { panic!("{backup:?}") };
            assert!(told.contains("consumer#bart") && told.contains("--new-signing-key"), "{told}");
            assert_eq!(plan(&Found::Absent, &backup, None, false, NONE), Plan::Make);
            assert_eq!(plan(&Found::Absent, &backup, None, true, nobody), Plan::Make);
        }
    }

    fn consumer(name: &str, known: Known, assigned: bool) -> Consumer {
        let assigned = assigned.then(|| format!("Certificate a/b in {name}"));
        Consumer { name: ClusterName::consumer(name), known, assigned }
    }

    fn provider(name: &str, known: Known, copies_of: &[&str]) -> Provider {
        let copies_of = copies_of.iter().map(|name| ClusterName::consumer(*name)).collect();
        Provider { name: ClusterName::provider(name), known, copies_of }
    }

    #[test]
    fn an_assignment_and_its_copy_are_lost_with_the_keys() {
        use Known::{All, Away, Coming};
        for known in [All, Away, Coming] {
            let marks = marks(&[consumer("homer", known, true)], &[provider("theseus", known, &["homer"])]);
            assert!(matches!(&marks, Marks::Found(told) if told.contains("homer")), "{marks:?}");
        }
    }

    #[test]
    fn no_cluster_alone_keeps_the_first_key_from_being_made() {
        use Known::{All, Away, Coming};
        let none: (&[&str], bool) = (&[], false);
        for (known, assigned) in [(All, true), (Away, false), (Away, true), (Coming, false)] {
            let consumers = [consumer("homer", All, none.1), consumer("bart", known, assigned)];
            assert_eq!(marks(&consumers, &[provider("theseus", All, none.0)]), Marks::None, "{known:?} {assigned}");
        }
        for (known, copies) in [(All, &["homer"][..]), (Away, &[]), (Away, &["homer"]), (Coming, &[])] {
            let providers = [provider("theseus", All, none.0), provider("ariadne", known, copies)];
            assert_eq!(marks(&[consumer("homer", All, none.1)], &providers), Marks::None, "{known:?} {copies:?}");
        }
        let away = marks(
            &[consumer("homer", All, false), consumer("bart", Away, false)],
            &[provider("theseus", All, &[]), provider("ariadne", Away, &[])],
        );
        assert_eq!(away, Marks::None, "the others show that it is the first start");
    }

    #[test]
    fn what_may_be_lost_is_waited_for() {
        use Known::{All, Away, Coming};
        let waits = |consumer: Consumer, provider: Provider, whom: &str| {
            let (consumers, providers) = ([consumer], [provider]);
            let waited = Marks::Unknown(whom.to_owned());
            assert_eq!(marks(&consumers, &providers), waited, "{consumers:?} {providers:?}");
        };
        waits(consumer("homer", Away, false), provider("theseus", Away, &[]), "consumer#homer, provider#theseus");
        waits(consumer("homer", All, true), provider("theseus", Away, &[]), "provider#theseus");
        waits(consumer("homer", Away, false), provider("theseus", All, &["homer"]), "consumer#homer");
        // As long as one of the two is about to come, whatever the others show.
        for (one, other) in [(Away, Coming), (Coming, Away), (Coming, Coming)] {
            let consumers = [consumer("homer", All, false), consumer("bart", one, false)];
            let providers = [provider("theseus", All, &[]), provider("ariadne", other, &[])];
            let waited = Marks::Unknown("consumer#bart, provider#ariadne".to_owned());
            assert_eq!(marks(&consumers, &providers), waited, "{one:?} {other:?}");
        }
    }
}
