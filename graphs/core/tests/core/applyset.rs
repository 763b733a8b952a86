//! Inventories as strangers may have written them.

use std::collections::BTreeMap;

use broker_api::graphs::keys;
use graphs_core::applyset::{self, GroupKind, Inventory, InventoryError, MAX_GROUP_KINDS, MAX_NAMESPACES};
use proptest::prelude::*;

const ID: &str = "applyset-P1j6BayKAYKZX-mU7IWpBaTymLALAGPktgHAsTT6uGE-v1";

fn kind(text: &str) -> GroupKind {
    text.parse().unwrap()
}

fn inventory() -> Inventory {
    let mut inventory = Inventory::default();
    inventory.add(kind("Deployment.apps"), "default", "default");
    inventory.add(kind("ConfigMap"), "other", "default");
    inventory.add(kind("ClusterRole.rbac.authorization.k8s.io"), "", "default");
    inventory
}

/// The labels and annotations of an instance with this inventory, one of them set to another text.
fn instance(key: &str, text: Option<&str>) -> (BTreeMap<String, String>, BTreeMap<String, String>) {
    let mut labels = BTreeMap::from([(keys::APPLYSET_ID.to_owned(), ID.to_owned())]);
    let annotations = inventory().annotations(ID, "kro/v0.9.3");
    let mut annotations: BTreeMap<String, String> =
        annotations.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    let map = if key == keys::APPLYSET_ID { &mut labels } else { &mut annotations };
    match text {
        Some(text) => map.insert(key.to_owned(), text.to_owned()),
        None => map.remove(key),
    };
    (labels, annotations)
}

fn read(key: &str, text: Option<&str>) -> Result<Inventory, InventoryError> {
    let (labels, annotations) = instance(key, text);
    Inventory::read(ID, &labels, &annotations)
}

#[test]
fn the_id_is_that_of_kro() {
    assert_eq!(applyset::id("web", "default", "WebApp", "kro.run"), ID);
}

#[test]
fn what_is_written() {
    let inventory = inventory();
    assert_eq!(inventory.group_kinds_text(), "ClusterRole.rbac.authorization.k8s.io,ConfigMap,Deployment.apps");
    assert_eq!(inventory.namespaces_text(), "other", "without the instance's own");
    let empty = Inventory::default().annotations(ID, "kro/x");
    assert_eq!(empty[keys::APPLYSET_NAMESPACES], "", "the key is kept");
    let mut more = Inventory::default();
    more.add(kind("Secret"), "third", "default");
    let both = inventory.union(&more);
    assert!(both.group_kinds.len() == 4 && both.namespaces.len() == 2);
}

#[test]
fn texts_are_sorted_as_texts() {
    let mut inventory = Inventory::default();
    for text in ["A.b", "A-x.b", "A", "B"] {
        inventory.add(kind(text), "", "");
    }
    assert_eq!(inventory.group_kinds_text(), "A,A-x.b,A.b,B");
}

#[test]
fn what_is_right_is_read() {
    assert_eq!(read(keys::APPLYSET_TOOLING, Some("kro/v0.8.1")), Ok(inventory()));
    assert_eq!(read(keys::APPLYSET_HASH, None), Ok(inventory()), "older ones have none");
}

#[test]
fn what_somebody_changed_is_not_believed() {
    type Is = fn(&InventoryError) -> bool;
    let cases: [(&str, Option<&str>, Is); 9] = [
        (keys::APPLYSET_ID, None, |error| matches!(error, InventoryError::Id { .. })),
        (keys::APPLYSET_ID, Some("applyset-x-v1"), |error| matches!(error, InventoryError::Id { .. })),
        (keys::APPLYSET_TOOLING, None, |error| matches!(error, InventoryError::Tooling(_))),
        (keys::APPLYSET_TOOLING, Some("helm/v3"), |error| matches!(error, InventoryError::Tooling(_))),
        (keys::APPLYSET_GROUP_KINDS, None, |error| matches!(error, InventoryError::Missing(_))),
        (keys::APPLYSET_NAMESPACES, None, |error| matches!(error, InventoryError::Missing(_))),
        (keys::APPLYSET_GROUP_KINDS, Some("ConfigMap"), |error| matches!(error, InventoryError::Hash)),
        (keys::APPLYSET_NAMESPACES, Some("kube-system"), |error| matches!(error, InventoryError::Hash)),
        (keys::APPLYSET_HASH, Some(""), |error| matches!(error, InventoryError::Hash)),
    ];
    for (key, text, is) in cases {
        let error = read(key, text).unwrap_err();
        assert!(is(&error), "{key} {text:?}: {error}");
        assert!(
            error.to_string().contains(".kro.run/") || error.to_string().contains("applyset.kubernetes.io/"),
            "{error}"
        );
    }
}

/// Reads an inventory that has no hash.
fn unhashed(group_kinds: &str, namespaces: &str) -> Result<Inventory, InventoryError> {
    let (labels, mut annotations) = instance(keys::APPLYSET_HASH, None);
    annotations.insert(keys::APPLYSET_GROUP_KINDS.to_owned(), group_kinds.to_owned());
    annotations.insert(keys::APPLYSET_NAMESPACES.to_owned(), namespaces.to_owned());
    Inventory::read(ID, &labels, &annotations)
}

#[test]
fn entries_have_a_form() {
    assert_eq!(unhashed("", ""), Ok(Inventory::default()));
    assert_eq!(unhashed("B.c, A ,B.c", "b,a").unwrap().group_kinds_text(), "A,B.c");
    for text in [",", "A,", "A,,B", ".apps", "A.", "A..b", "A.B", "A/b", "1A", "A.b c", "é"] {
        assert!(matches!(unhashed(text, ""), Err(InventoryError::Entry { .. })), "{text}");
    }
    for text in [",", "A", "a.b", "-a", "a/b", "../x", &"a".repeat(64)] {
        assert!(matches!(unhashed("", text), Err(InventoryError::Entry { .. })), "{text}");
    }
}

#[test]
fn entries_are_bounded() {
    let many = vec!["a"; 5000].join(",");
    assert_eq!(
        unhashed("", &many),
        Err(InventoryError::TooLong { key: keys::APPLYSET_NAMESPACES, most: MAX_NAMESPACES })
    );
    let many = vec!["A"; MAX_GROUP_KINDS + 1].join(",");
    assert_eq!(
        unhashed(&many, ""),
        Err(InventoryError::TooLong { key: keys::APPLYSET_GROUP_KINDS, most: MAX_GROUP_KINDS })
    );
    let long = "A".repeat(1 << 20);
    assert_eq!(
        unhashed(&long, ""),
        Err(InventoryError::TooLong { key: keys::APPLYSET_GROUP_KINDS, most: MAX_GROUP_KINDS })
    );
    assert!(unhashed(&"A".repeat(10_000), "").unwrap_err().to_string().len() < 500);
}

#[test]
fn what_is_just_short_enough_is_read() {
    let (longest, longer) = (format!("A{}", "b".repeat(62)), format!("A{}", "b".repeat(63)));
    assert!(unhashed(&longest, "").is_ok());
    assert!(matches!(unhashed(&longer, ""), Err(InventoryError::Entry { .. })));
    let label = "g".repeat(63);
    let group = |last: usize| format!("A.{label}.{label}.{label}.{}", "g".repeat(last));
    assert!(unhashed(&group(61), "").is_ok());
    assert!(matches!(unhashed(&group(62), ""), Err(InventoryError::Entry { .. })), "254 are no subdomain");
    // As many namespaces as are read, as long as they may be, and a blank: as many bytes as an API server keeps.
    let all: Vec<String> = (0..MAX_NAMESPACES).map(|at| format!("{at:063}")).collect();
    let text = format!("{} ", all.join(","));
    assert_eq!(text.len(), 256 * 1024);
    assert_eq!(unhashed("", &text).unwrap().namespaces.len(), MAX_NAMESPACES);
    assert!(matches!(unhashed("", &format!("{text} ")), Err(InventoryError::TooLong { .. })));
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(
        kinds in prop::collection::btree_set(r"[A-Z][a-zA-Z0-9]{0,9}(\.[a-z0-9]{1,5}){0,3}", 0..6),
        namespaces in prop::collection::btree_set("[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?", 0..6),
    ) {
        let inventory = Inventory { group_kinds: kinds.iter().map(|text| kind(text)).collect(), namespaces };
        prop_assert_eq!(unhashed(&inventory.group_kinds_text(), &inventory.namespaces_text()), Ok(inventory));
    }

    #[test]
    fn never_panics(one in "\\PC{0,30}", other in "\\PC{0,30}") {
        let _ = unhashed(&one, &other);
    }
}
