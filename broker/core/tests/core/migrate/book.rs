//! Which Migrations are known, and who each of them concerns.

use std::{collections::BTreeSet, sync::Arc};

use broker_api::{ClusterName, keys};
use broker_core::{
    memory::Subject,
    migration::{
        book::Book,
        known::{Known, Side},
        moved_origin::MovedOrigin,
    },
    snapshot::OriginKey,
};
use runtime_effect::{kind::Kind, object_key::ObjectKey};
use serde_json::{Value, json};

use super::world::view;

/// A person's Migration of `n/a8b70b353e97-cert` from `one` to `two`, with these fields put over it.
fn migration(patch: &Value) -> Known {
    let side = |cluster: &str| {
        let gvk = json!({"group": "example.platform-mesh.io", "version": "v1alpha1", "kind": "Certificate"});
        json!({"gvk": gvk, "name": "a8b70b353e97-cert", "namespace": "n", "clusterName": cluster})
    };
    let mut value = json!({
        "metadata": {"name": "m", "namespace": "n", "uid": "u", "resourceVersion": "1", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"from": side("one"), "to": side("two")},
    });
    for (part, fields) in patch.as_object().into_iter().flatten() {
        for (name, field) in fields.as_object().into_iter().flatten() {
            value[part][name] = field.clone();
        }
    }
    let metadata = &value["metadata"];
    let text = |field: &str| metadata[field].as_str().unwrap().to_owned();
    let key = ObjectKey::new(text("namespace"), text("name"));
    Known::parse(&key, &view(&value), None, None).unwrap()
}

fn named(name: &str, created: &str) -> Known {
    migration(&json!({"metadata": {"name": name, "creationTimestamp": created}}))
}

fn origin(name: &str) -> OriginKey {
    let kind = Kind { group: "g".into(), version: "v1".into(), kind: "K".into() };
    let cluster = ClusterName::consumer("homer");
    OriginKey { cluster, gvk: Arc::new(kind), namespace: "n".into(), name: name.into() }
}

fn about(name: &str) -> MovedOrigin {
    MovedOrigin::Known(origin(name), "1".into())
}

/// Takes it in; returns whom that concerns.
fn take(book: &mut Book<u8>, known: Known, about: MovedOrigin) -> Vec<OriginKey> {
    book.update(&known.key.clone(), Some((known, about))).concerned
}

#[test]
fn an_origin_finds_its_migrations_the_oldest_first() {
    let mut book = Book::default();
    for (name, created) in [("b", "2026-01-01T00:00:00Z"), ("c", "2025-01-01T00:00:00Z"), ("a", "2026-01-01T00:00:00Z")]
    {
        assert_eq!(take(&mut book, named(name, created), about("x")), [origin("x")]);
    }
    let names = |book: &Book<u8>, origin: &OriginKey| {
        book.of(origin, "1").into_iter().map(|view| view.name).collect::<Vec<_>>()
    };
    assert_eq!(names(&book, &origin("x")), ["c", "a", "b"]);

    // It turns out to be about another: both hear of it.
    let known = named("c", "2025-01-01T00:00:00Z");
    assert_eq!(take(&mut book, known.clone(), about("y")), [origin("y"), origin("x")]);
    assert_eq!(
        (names(&book, &origin("x")), names(&book, &origin("y"))),
        (vec!["a".into(), "b".into()], vec!["c".to_owned()])
    );
    assert!(take(&mut book, known.clone(), about("y")).is_empty(), "nothing new");
    assert_eq!(book.update(&known.key, None).concerned, [origin("y")]);
    assert!(names(&book, &origin("y")).is_empty());
}

#[test]
fn the_origin_may_be_found_later() {
    let mut book = Book::default();
    let known = migration(&json!({}));
    let key = known.key.clone();
    take(&mut book, known.clone(), MovedOrigin::Unknown);
    let held = |book: &Book<u8>| Arc::clone(book.get(&key).unwrap().known());
    let before = held(&book);
    take(&mut book, known, MovedOrigin::Unknown);
    assert!(book.of(&origin("x"), "1").is_empty());
    assert!(book.set_about(&before, about("x")).is_empty(), "it was read again since");
    let now = held(&book);
    assert_eq!(book.set_about(&now, about("x")), [origin("x")]);
    assert!(book.set_about(&now, about("x")).is_empty(), "nothing new");
    assert_eq!(book.of(&origin("x"), "1").len(), 1);
    assert!(book.of(&origin("x"), "of another object").is_empty());
    book.update(&key, None);
    assert!(book.of(&origin("x"), "1").is_empty());
}

#[test]
fn whoever_leaves_a_copy_waits_for_the_one_that_makes_it() {
    let mut book = Book::default();
    let gvk = json!({"group": "example.platform-mesh.io", "version": "v1alpha1", "kind": "Certificate"});
    let side =
        |cluster: &str| json!({"gvk": gvk, "name": "a8b70b353e97-cert", "namespace": "n", "clusterName": cluster});
    take(&mut book, named("first", "2026-01-01T00:00:00Z"), about("x"));
    let next = |from: &str| {
        let metadata = json!({"name": "next", "creationTimestamp": "2026-01-01T00:00:01Z"});
        migration(&json!({"metadata": metadata, "spec": {"from": side(from), "to": side("three")}}))
    };
    assert!(book.makes_for(&next("two")) && !book.makes_for(&next("one")));
}

#[test]
fn another_migration_of_the_same_name_has_no_past() {
    let mut book = Book::default();
    let known = migration(&json!({}));
    let key = known.key.clone();
    take(&mut book, known, about("x"));
    let entry = book.get_mut(&key).unwrap();
    entry.memory.wrote(Subject::Migration, [1; 8], None, 5);
    entry.rest = 7;
    let edited = book.update(&key, Some((migration(&json!({"spec": {"force": true}})), about("x"))));
    assert!(edited.gone.is_none());
    let wants_again = |book: &Book<u8>| book.get(&key).unwrap().memory.wants_again(Subject::Migration, [1; 8]);
    assert!(wants_again(&book) && book.get(&key).unwrap().rest == 7);
    let other = book.update(&key, Some((migration(&json!({"metadata": {"uid": "other"}})), about("x"))));
    assert_eq!(other.gone.unwrap().rest, 7, "what was remembered of it is let go of");
    assert!(!wants_again(&book) && book.get(&key).unwrap().rest == 0);
}

/// By what each is found while it is open: its origin, its copy, its clusters; and its stage objects, as long as it is there.
#[test]
fn what_is_open_is_found_by_all_that_it_has_to_do_with() {
    let mut book = Book::default();
    let known = migration(&json!({"status": {"id": "x1"}}));
    let key = known.key.clone();
    take(&mut book, known.clone(), MovedOrigin::Unknown);
    let clusters = [ClusterName::provider("one"), ClusterName::provider("two"), ClusterName::consumer("homer")];
    let at = |book: &Book<u8>| clusters.each_ref().map(|cluster| book.open_at(cluster).len());
    let copy = known.from.key.clone();
    let found = |book: &Book<u8>| {
        let of = [book.open_about(&origin("x")).len(), book.open_of_copy(&copy).len(), book.open().len()];
        (of, at(book), book.with_id("x1").len())
    };
    assert_eq!(found(&book), ([0, 1, 1], [1, 1, 0], 1));
    let held = Arc::clone(book.get(&key).unwrap().known());
    book.set_about(&held, about("x"));
    assert_eq!(found(&book), ([1, 1, 1], [1, 1, 1], 1), "it is known whose object it is");
    let to = Side { provider: ClusterName::provider("three"), ..known.to.clone() };
    take(&mut book, Known { to, ..known.clone() }, about("x"));
    assert_eq!(at(&book), [1, 0, 1], "it was edited");
    let ended = json!({"status": {"state": "Failed", "id": "x1"}});
    take(&mut book, migration(&ended), about("x"));
    assert_eq!(found(&book), ([0, 0, 0], [0, 0, 0], 1), "it has ended");
    // Its finalizer waits for the move to end.
    let waits =
        json!({"metadata": {"finalizers": [keys::FINALIZER]}, "status": {"state": "CutoverCompleted", "id": "x1"}});
    take(&mut book, migration(&waits), about("x"));
    assert_eq!(found(&book), ([1, 1, 1], [1, 1, 1], 1));
    assert_eq!(book.update(&key, None).gone.unwrap().known().key, key);
    assert_eq!(format!("{book:?}"), format!("{:?}", Book::<u8>::default()), "nothing is kept of one that has gone");
    assert!(book.with_id("x1").is_empty() && *book.open() == BTreeSet::new());
}
