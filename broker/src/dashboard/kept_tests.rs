//! Tests of [`super`].

use serde_json::json;

use super::*;
use crate::{
    conventions,
    dashboard::{definition::Definition, rollout::Rollout},
};

fn object(name: &str, version: u64, state: &str) -> (ObjectKey, Arc<Object>) {
    let object = json!({
        "metadata": {"name": name, "uid": name, "resourceVersion": version.to_string()},
        "status": {"state": state},
    });
    let (key, object) = conventions::object(&object);
    (key, Arc::new(object))
}

#[tokio::test]
async fn each_version_is_read_once() {
    let (broker, _channels) = Broker::of_one_kind();
    let kept = Kept::<Definition>::watch(&broker);
    let first = kept.rows(vec![object("a", 1, "Active"), object("b", 1, "Active")]);
    let again = kept.rows(vec![object("a", 1, "Active"), object("b", 2, "Inactive")]);
    assert!(Arc::ptr_eq(&first[0], &again[0]) && !Arc::ptr_eq(&first[1], &again[1]));
    assert_eq!((&*first[1].state, &*again[1].state), ("Active", "Inactive"));
    assert_eq!(kept.rows(vec![object("a", 1, "Active")]).len(), 1);
    assert_eq!(lock(&kept.read).len(), 1, "what is gone is forgotten");
}

#[tokio::test]
async fn what_was_dropped_for_want_of_memory_is_as_it_was_read() {
    let (broker, _channels) = Broker::of_one_kind();
    let kept = Kept::<Definition>::watch(&broker);
    let bare = |version| {
        let (key, object) = object("a", version, "Active");
        (key, Arc::new(object.bare()))
    };
    kept.rows(vec![object("a", 1, "Active")]);
    assert_eq!(kept.rows(vec![bare(1)])[0].state, "Active");
    let unread = &kept.rows(vec![bare(2)])[0];
    assert!(unread.state.is_empty() && unread.why.contains("want of memory"), "{unread:?}");
    assert_eq!(kept.rows(vec![object("a", 2, "Active")])[0].state, "Active", "it is there again");
}

#[test]
fn those_that_need_a_look_come_first_and_all_are_counted() {
    let row = |number: usize| {
        let state = if number % 500 == 499 { "Inactive" } else { "Active" };
        Arc::new(Definition { name: format!("g{number:04}"), state: state.into(), ..Definition::default() })
    };
    let listed = Listed::new((0..1000).rev().map(row).collect());
    let names: Vec<&str> = listed.rows.iter().take(3).map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["g0499", "g0999", "g0000"]);
    assert_eq!((listed.rows.len(), listed.total, listed.good), (Definition::KIND.most, 1000, 998));
}

#[test]
fn those_that_are_found_are_told_by_name() {
    let rows = || {
        ["web", "shop", "wiki", "wave"].map(|name| Arc::new(Definition { name: name.into(), ..Definition::default() }))
    };
    let found = |most, begins: &str| {
        let (found, more) = some(rows().into(), most, |row| row.name.starts_with(begins));
        (found.iter().map(|row| row.name.clone()).collect::<Vec<_>>(), more)
    };
    assert_eq!(found(3, "w"), (vec!["wave".into(), "web".into(), "wiki".into()], false));
    assert_eq!(found(2, "w"), (vec!["wave".into(), "web".into()], true));
    assert_eq!(found(2, "x"), (vec![], false));
}

#[tokio::test]
async fn nothing_waits_for_what_is_only_shown() {
    let (broker, _channels) = Broker::of_one_kind();
    let kept = Kept::<Rollout>::watch(&broker);
    assert!(!Watcher.is_awaited() && Watcher.reads_again());
    assert_eq!((kept.spec.gvk.kind.as_str(), kept.spec.schema), ("ResourceGraphRollout", false));
}
