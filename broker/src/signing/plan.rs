//! What to do about the Secrets that hold the signing keys. Pure: while anything may be signed with a key that is lost,
//! no other is made in its place unless a person says so.

use std::collections::BTreeMap;

use broker_api::keys::{SIGNING_KEY_BACKUP, SIGNING_KEY_SECRET};

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
        Marks::Unknown(missing) => Plan::Refuse(format!(
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
            let Plan::Refuse(told) = plan(&Found::Absent, &backup, None, false, unknown) else { panic!("{backup:?}") };
            assert!(told.contains("consumer#bart") && told.contains("--new-signing-key"), "{told}");
            assert_eq!(plan(&Found::Absent, &backup, None, false, NONE), Plan::Make);
            assert_eq!(plan(&Found::Absent, &backup, None, true, nobody), Plan::Make);
        }
    }
}
