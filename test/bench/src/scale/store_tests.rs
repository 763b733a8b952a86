#![allow(clippy::unwrap_used)]

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::*;

const ONE: Target<'static> = Target { kind: Kind::Widget, namespace: "n", name: "a", status: false };
const STATUS: Target<'static> = Target { status: true, ..ONE };
const ALL: Target<'static> = Target { kind: Kind::Widget, namespace: "", name: "", status: false };

fn store(role: Role) -> (Store, UnboundedReceiver<Change>) {
    let (sender, receiver) = unbounded_channel();
    (Store::new(role, 7, sender), receiver)
}

fn read(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap()
}

/// A Widget that says so much, and is to be the one with these metadata.
fn widget(spec: u64, mut metadata: Value) -> Value {
    metadata["name"] = json!("a");
    json!({"apiVersion": "bench.example.org/v1", "kind": "Widget", "metadata": metadata, "spec": {"x": spec}})
}

fn list(store: &Store, page: &Page) -> Value {
    read(&store.list(&ALL, page))
}

fn news(store: &Store, since: u64) -> Vec<Value> {
    let (lines, _) = store.news(Kind::Widget, since).unwrap();
    lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(read).collect()
}

#[test]
fn a_copy_is_made_served_and_kept_in_step() {
    let (mut store, mut changes) = store(Role::Provider);
    let absent = || widget(1, json!({"resourceVersion": "1", "labels": {"l": "1"}}));
    let made = store.apply(&ONE, absent(), "broker").unwrap();
    let told = read(&made.body);
    assert_eq!((made.code, &told["metadata"]["generation"], &told["status"]), (201, &json!(1), &json!(null)));
    let held = read(store.get(&ONE).unwrap());
    assert_eq!((&held["status"]["status"], &held["status"]["revision"]), (&json!("Available"), &json!(1)));
    assert_eq!(held["metadata"]["managedFields"][0]["manager"], "broker");
    // A second one of the name is another's.
    assert_eq!(store.apply(&ONE, absent(), "broker").unwrap_err().code, 409);

    let uid = held["metadata"]["uid"].as_str().unwrap();
    let wrong = store.apply(&ONE, widget(2, json!({"uid": "another"})), "broker");
    assert_eq!(wrong.unwrap_err().code, 409);
    let again = store.apply(&ONE, widget(2, json!({"uid": uid})), "broker").unwrap();
    assert_eq!(again.code, 200);
    let held = read(store.get(&ONE).unwrap());
    assert_eq!((&held["metadata"]["generation"], &held["status"]["revision"]), (&json!(2), &json!(2)));
    assert_eq!(held["metadata"]["labels"], json!(null), "what is not applied any more goes");
    let seen: Vec<(u64, u64)> =
        std::iter::from_fn(|| changes.try_recv().ok()).map(|change| (change.generation, change.revision)).collect();
    assert_eq!(seen, [(1, 0), (1, 1), (2, 1), (2, 2)]);

    let before = store.revision;
    store.apply(&ONE, widget(2, json!({"uid": uid})), "broker").unwrap();
    assert_eq!(store.revision, before, "the same again is no change");
}

#[test]
fn a_patch_holds_only_for_what_was_seen() {
    let (mut store, _changes) = store(Role::Consumer);
    assert_eq!(store.patch(&ONE, json!({})).unwrap_err().code, 404);
    let made = read(&store.create(&ONE, widget(1, json!({"namespace": "n"}))).unwrap().body);
    let version = &made["metadata"]["resourceVersion"];
    let marks =
        |version: &Value| json!({"metadata": {"resourceVersion": version, "finalizers": ["f"]}, "status": {"no": 1}});
    let marked = read(&store.patch(&ONE, marks(version)).unwrap().body);
    assert_eq!((&marked["metadata"]["finalizers"], &marked["metadata"]["generation"]), (&json!(["f"]), &json!(1)));
    assert_eq!((&marked["status"], &marked["metadata"]["uid"]), (&json!(null), &made["metadata"]["uid"]));
    assert_eq!(store.patch(&ONE, marks(version)).unwrap_err().code, 409);

    let status = json!({"metadata": {"uid": made["metadata"]["uid"]}, "status": {"a": 1}, "spec": {"x": 9}});
    let told = read(&store.patch(&STATUS, status).unwrap().body);
    assert_eq!(
        (&told["status"], &told["spec"], &told["metadata"]["generation"]),
        (&json!({"a": 1}), &json!({"x": 1}), &json!(1))
    );
    let edited = read(&store.patch(&ONE, json!({"spec": {"x": 2}})).unwrap().body);
    assert_eq!((&edited["metadata"]["generation"], &edited["status"]), (&json!(2), &json!({"a": 1})));
}

#[test]
fn what_is_held_goes_with_its_last_finalizer() {
    let (mut store, _changes) = store(Role::Consumer);
    store.create(&ONE, widget(1, json!({"finalizers": ["f"]}))).unwrap();
    let from = store.revision;
    assert_eq!(store.delete(&ONE, &json!({"preconditions": {"uid": "another"}})).unwrap_err().code, 409);
    let left = read(&store.delete(&ONE, &json!({})).unwrap().unwrap().body);
    assert!(object::is_deleting(&left));
    store.patch(&ONE, json!({"metadata": {"finalizers": []}})).unwrap();
    assert_eq!((store.count(Kind::Widget), store.get(&ONE).is_none()), (0, true));
    let types: Vec<Value> = news(&store, from).iter().map(|event| event["type"].clone()).collect();
    assert_eq!(types, ["MODIFIED", "DELETED"]);
    assert_eq!(store.delete(&ONE, &json!({})).unwrap_err().code, 404);
}

#[test]
fn lists_come_in_pages_of_one_version_and_watches_go_on_from_there() {
    let (mut store, _changes) = store(Role::Consumer);
    for name in ["a", "b", "c"] {
        store.create(&Target { name, ..ONE }, widget(1, json!({"namespace": "n"}))).unwrap();
    }
    let first = list(&store, &Page { limit: 2, ..Page::default() });
    assert_eq!(first["items"].as_array().unwrap().len(), 2);
    let version: u64 = first["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
    let (_, key) = first["metadata"]["continue"].as_str().unwrap().split_once('.').unwrap();
    let key = String::from_utf8(hex::decode(key).unwrap()).unwrap();
    store.create(&Target { name: "d", ..ONE }, widget(1, json!({"namespace": "n"}))).unwrap();
    let second = list(&store, &Page { limit: 2, behind: Some((version, key)), metadata_only: true });
    assert_eq!((second["items"].as_array().unwrap().len(), &second["metadata"]["continue"]), (2, &json!("")));
    assert_eq!((&second["kind"], &second["items"][0]["spec"]), (&json!("PartialObjectMetadataList"), &json!(null)));
    assert_eq!(second["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
    assert_eq!(news(&store, version).len(), 1);
    assert!(
        read(&store.list(&Target { namespace: "m", ..ALL }, &Page::default()))["items"].as_array().unwrap().is_empty()
    );

    store.forget();
    assert!(store.news(Kind::Widget, version).is_none());
    assert!(news(&store, store.revision).is_empty());
}
