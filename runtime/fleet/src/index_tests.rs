//! Tests of [`super::Index`].

use super::*;
use crate::budget::Budget;
use kube::core::GroupVersionKind;

fn index() -> Index {
    let spec = WatchSpec::all(GroupVersionKind::gvk("", "v1", "ConfigMap"));
    let cluster = ClusterName::consumer("c");
    let share = Budget::new(1 << 20).engage(&cluster);
    Index::new(cluster, Arc::new(spec), share)
}

fn object(version: u64) -> Object {
    let raw = format!(r#"{{"metadata":{{"name":"a","uid":"u","resourceVersion":"{version}"}}}}"#);
    Object::parse(raw.as_bytes(), None, &crate::conventions::PLAIN).unwrap().1
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("n", name)
}

#[test]
fn what_is_held_is_not_taken_in_again_and_the_watch_has_passed_it() {
    let index = index();
    assert!(!index.knows(&key("a"), 4), "nothing is held");
    assert!(index.upsert(key("a"), object(5), Source::Response).is_some());
    assert!(index.knows(&key("a"), 5) && index.knows(&key("a"), 4) && !index.knows(&key("a"), 6));
    assert!(!index.knows(&key("b"), 5), "another object");
    assert!(index.upsert(key("b"), object(5), Source::Response).is_none(), "the watch has passed this version");
}

#[test]
fn absence_is_unknown_until_the_first_list() {
    let index = index();
    assert_eq!(index.get(&key("a")), Lookup::Unknown);
    assert!(index.replace(vec![], 1).is_empty());
    assert_eq!(index.get(&key("a")), Lookup::Absent);
    index.mark_incomplete();
    assert_eq!(index.get(&key("a")), Lookup::Unknown);
}

#[test]
fn a_relist_yields_the_deletes_that_the_watch_missed() {
    let index = index();
    index.replace(vec![(key("a"), object(1)), (key("b"), object(2))], 2);
    let changes = index.replace(vec![(key("b"), object(2))], 5);
    assert_eq!(changes.len(), 1);
    assert!(changes[0].key == key("a") && changes[0].new.is_none());
}

#[test]
fn a_relist_keeps_what_was_written_after_it() {
    let index = index();
    index.replace(vec![], 2);
    assert!(index.upsert(key("a"), object(9), Source::Response).is_some());
    assert!(index.replace(vec![], 5).is_empty());
    assert!(index.get(&key("a")).found().is_some());
}

/// Where its CRD has changed, an object that nobody has touched is shown with other defaults.
#[test]
fn a_relist_yields_what_is_shown_otherwise_at_the_same_version() {
    let index = index();
    index.replace(vec![(key("a"), object(1)), (key("b"), object(2))], 2);
    let raw = br#"{"metadata":{"name":"a","uid":"u","resourceVersion":"1"},"spec":{"more":"more"}}"#;
    let defaulted = Object::parse(raw, None, &crate::conventions::PLAIN).unwrap().1;
    let changes = index.replace(vec![(key("a"), defaulted.clone()), (key("b"), object(2))], 5);
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0].new.as_deref(), Some(&defaulted));
    assert_eq!(index.get(&key("a")).found().as_deref(), Some(&defaulted));
    // What is held without its content is no reason to look again, unless the kind is another since.
    let bare = || vec![(key("a"), defaulted.bare()), (key("b"), object(2).bare())];
    assert!(index.replace(bare(), 6).is_empty());
    index.mark_redefined();
    let changes = index.replace(bare(), 7);
    assert_eq!(changes.len(), 2);
    assert!(index.replace(bare(), 8).is_empty());
}

#[test]
fn where_its_kind_looks_otherwise_nobody_can_tell_of_what_is_not_at_hand() {
    let spec = WatchSpec::all(GroupVersionKind::gvk("", "v1", "ConfigMap")).without_bodies();
    let cluster = ClusterName::consumer("c");
    let index = Index::new(cluster.clone(), Arc::new(spec), Budget::new(1 << 20).engage(&cluster));
    let listed = |index: &Index| {
        let bare = [(key("a"), object(1).bare()), (key("b"), object(2).bare())];
        bare.map(|(key, object)| (key.clone(), index.listed(&key, object))).into()
    };
    index.take_list(listed(&index), 2, 0);
    let before = index.edition_since();
    index.fill(&key("a"), object(1));
    assert!(index.take_list(listed(&index), 3, 0).is_empty() && index.get(&key("a")).found().unwrap().has_body());
    index.mark_redefined();
    assert_eq!(index.take_list(listed(&index), 4, 0).len(), 2, "the same in memory, too");
    assert!(!index.get(&key("a")).found().unwrap().has_body(), "it is read again");
    assert!(index.edition_since() > before);
    assert!(index.take_list(listed(&index), 5, 0).is_empty());
}

#[test]
fn what_is_listed_as_it_is_held_is_in_memory_once() {
    let index = index();
    let held = Arc::new(object(1));
    index.take_list(vec![(key("a"), Arc::clone(&held))], 1, index.losses());
    assert!(Arc::ptr_eq(&index.listed(&key("a"), object(1)), &held));
    for other in [object(2), object(1).bare()] {
        assert_eq!(*index.listed(&key("a"), other.clone()), other);
    }
    assert!(!Arc::ptr_eq(&index.listed(&key("b"), object(1)), &held));
}

#[test]
fn a_restored_etcd_counts_although_versions_run_backwards() {
    let index = index();
    index.replace(vec![(key("a"), object(50))], 60);
    let changes = index.replace(vec![(key("a"), object(7))], 10);
    assert_eq!(changes.len(), 1);
    assert_eq!(index.get(&key("a")).found().unwrap().resource_version, 7);
}

/// Another process may have written since, and an answer to our own write be newer than the list.
#[test]
fn what_is_doubted_counts_for_nothing_until_it_is_listed_again() {
    let index = index();
    index.replace(vec![(key("a"), object(5)), (key("gone"), object(4))], 6);
    index.upsert(key("b"), object(9), Source::Response);
    index.doubt(Doubt::Old);
    for name in ["a", "b", "gone", "none"] {
        assert_eq!(index.get(&key(name)), Lookup::Unknown, "{name}");
    }
    index.upsert(key("b"), object(10), Source::Response);
    assert_eq!(index.get(&key("b")), Lookup::Unknown, "others may have made something else of it since");
    let mut told: Vec<_> = index.replace(vec![(key("a"), object(5))], 8).into_iter().map(|change| change.key).collect();
    told.sort();
    assert_eq!(told, [key("a"), key("b"), key("gone")], "all was unknown");
    let version = |name: &str| index.get(&key(name)).found().map(|object| object.resource_version);
    assert_eq!((version("a"), version("b"), index.get(&key("gone"))), (Some(5), Some(10), Lookup::Absent));
    assert!(index.replace(vec![(key("a"), object(5))], 8).is_empty(), "it is known now");
}

/// It was read before another process wrote what it does not hold.
#[test]
fn a_list_that_was_begun_before_the_doubt_does_not_end_it() {
    let index = index();
    let begun = index.losses();
    index.doubt(Doubt::Old);
    index.take_list(vec![(key("a"), Arc::new(object(5)))], 6, begun);
    assert_eq!(
        (index.is_complete(), index.get(&key("a")), index.get(&key("b"))),
        (false, Lookup::Unknown, Lookup::Unknown)
    );
    index.take_list(vec![(key("a"), Arc::new(object(5)))], 6, index.losses());
    assert!(index.is_complete() && index.get(&key("a")).found().is_some());
}

#[test]
fn an_older_answer_never_replaces_a_newer_one() {
    let index = index();
    index.replace(vec![], 1);
    assert!(index.upsert(key("a"), object(5), Source::Response).is_some());
    assert!(index.upsert(key("a"), object(4), Source::Watch).is_none());
    assert!(index.upsert(key("a"), object(5), Source::Watch).is_none());
    assert!(index.remove(&key("a"), 4).is_none());
    assert!(index.remove(&key("a"), 6).is_some());
    // The response of a write that the watch has already overtaken does not bring the object back.
    assert!(index.upsert(key("a"), object(5), Source::Response).is_none());
    assert_eq!(index.get(&key("a")), Lookup::Absent);
}

#[test]
fn a_body_that_was_read_is_news_where_it_is_newer() {
    let index = index();
    index.replace(vec![(key("a"), object(5).bare())], 5);
    assert!(index.fill(&key("a"), object(4)).is_none() && index.fill(&key("b"), object(5)).is_none());
    assert!(!index.get(&key("a")).found().unwrap().has_body());
    assert!(index.fill(&key("a"), object(5)).is_none(), "the watch has told of this version");
    assert!(index.get(&key("a")).found().unwrap().has_body());
    let change = index.fill(&key("a"), object(7)).unwrap();
    assert_eq!((change.old.unwrap().resource_version, change.new.unwrap().resource_version), (5, 7));
    assert!(index.knows(&key("a"), 7), "it will not tell of this one");
}
