//! Tests of [`super::Sorted`], in the index that keeps it.

use std::collections::{BTreeMap, BTreeSet};

use broker_api::ClusterName;
use kube::core::GroupVersionKind;

use super::*;
use crate::{
    budget::{Bodies as _, Budget},
    index::{Index, Source},
    watch::WatchSpec,
};

const LABEL: Sort = Sort { name: "label", by: |object| object.marks().labels.into_values().map(Into::into).collect() };

const HALF: Sort = Sort { name: "half", by: |object| vec![(object.resource_version / 2).to_string().into()] };

fn index(budget: &Arc<Budget>) -> Index {
    let cluster = ClusterName::consumer("c");
    let share = budget.engage(&cluster);
    let spec = Arc::new(WatchSpec::all(GroupVersionKind::gvk("", "v1", "Secret")));
    Index::new(cluster, spec, share)
}

fn sorted() -> Index {
    let index = index(&Budget::new(1 << 20));
    index.sort(LABEL);
    index.replace(vec![], 1);
    index
}

fn object(version: u64, uid: &str, labels: &[&str]) -> Object {
    let labels: Vec<String> = labels.iter().enumerate().map(|(at, value)| format!(r#""l{at}":"{value}""#)).collect();
    let raw = format!(
        r#"{{"metadata":{{"name":"a","uid":"{uid}","resourceVersion":"{version}","labels":{{{}}}}}}}"#,
        labels.join(",")
    );
    Object::parse(raw.as_bytes(), None, &crate::conventions::PLAIN).unwrap().1
}

fn stub(version: u64, uid: &str) -> Object {
    object(version, uid, &[]).bare()
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("n", name)
}

fn under(index: &Index, value: &str) -> Vec<String> {
    let mut names: Vec<String> = index.sorted("label", value).iter().map(|key| key.name.to_string()).collect();
    names.sort();
    names
}

#[test]
fn an_object_is_under_what_it_says_now() {
    let index = sorted();
    index.upsert(key("a"), object(2, "u", &["x", "y", "y"]), Source::Watch);
    index.upsert(key("b"), object(3, "v", &["y"]), Source::Response);
    assert_eq!((under(&index, "x"), under(&index, "y")), (vec!["a".into()], vec!["a".into(), "b".to_owned()]));
    index.upsert(key("a"), object(4, "u", &["z"]), Source::Watch);
    assert!(under(&index, "x").is_empty() && under(&index, "y") == ["b"] && under(&index, "z") == ["a"]);
    index.remove(&key("a"), 5);
    index.forget(&key("b"), "v");
    assert!(under(&index, "y").is_empty() && under(&index, "z").is_empty());
    assert!(index.sorted("nobody's", "x").is_empty());
}

#[test]
fn an_object_without_its_body_stays_where_it_was() {
    let index = sorted();
    index.upsert(key("a"), object(2, "u", &["x"]), Source::Watch);
    index.drop_body(&key("a"));
    assert_eq!(under(&index, "x"), ["a"]);
    index.upsert(key("a"), stub(3, "u"), Source::Watch);
    assert_eq!(under(&index, "x"), ["a"]);
    index.replace(vec![(key("a"), stub(4, "u"))], 4);
    assert_eq!(under(&index, "x"), ["a"]);
    index.fill(&key("a"), object(4, "u", &["y"]));
    assert!(under(&index, "x").is_empty() && under(&index, "y") == ["a"], "now it is known");
    index.drop_body(&key("a"));
    index.remove(&key("a"), 5);
    assert!(under(&index, "y").is_empty());
}

#[test]
fn another_object_of_a_name_has_nothing_of_the_one_before() {
    let index = sorted();
    index.upsert(key("a"), object(2, "u", &["x"]), Source::Watch);
    index.upsert(key("a"), stub(3, "v"), Source::Watch);
    assert!(under(&index, "x").is_empty());
    index.upsert(key("a"), object(4, "v", &["x"]), Source::Watch);
    index.replace(vec![(key("a"), stub(5, "w"))], 5);
    assert!(under(&index, "x").is_empty());
}

#[test]
fn whoever_comes_later_finds_what_is_there() {
    let index = index(&Budget::new(1 << 20));
    index.replace(vec![(key("a"), object(2, "u", &["x"])), (key("b"), stub(2, "v"))], 2);
    assert!(under(&index, "x").is_empty());
    index.sort(LABEL);
    index.sort(HALF);
    index.sort(LABEL);
    assert_eq!((under(&index, "x"), index.sorted("half", "1")), (vec!["a".into()], vec![key("a")]));
    index.upsert(key("b"), object(4, "v", &["x"]), Source::Watch);
    assert_eq!((under(&index, "x").len(), index.sorted("half", "2")), (2, vec![key("b")]));
}

#[test]
fn what_is_sorted_is_charged() {
    let budget = Budget::new(1 << 20);
    let index = index(&budget);
    index.sort(LABEL);
    index.upsert(key("a"), object(2, "u", &["x"]), Source::Watch);
    index.upsert(key("plain"), object(3, "v", &[]), Source::Watch);
    assert_eq!(index.read_sorted(|sorted| (sorted.cost(), sorted.all[0].values.len())), (PLACE + 1, 1));
    let with = budget.used();
    index.drop_body(&key("a"));
    assert!(with - budget.used() < PLACE, "it stays sorted");
    index.replace(vec![], 4);
    assert_eq!(budget.used(), 0);
    index.upsert(key("a"), object(5, "u", &["x"]), Source::Watch);
    drop(index);
    assert_eq!(budget.used(), 0);
}

#[test]
fn whatever_happens_it_says_what_the_objects_said_last() {
    let budget = Budget::new(1 << 20);
    let index = index(&budget);
    index.sort(LABEL);
    let mut random = 5_u32;
    let mut dice = |sides: u32| {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (random >> 16) % sides
    };
    let values = ["x", "y", "z"];
    // What each said last: its uid, and its values.
    let mut said: BTreeMap<ObjectKey, (Box<str>, BTreeSet<Arc<str>>)> = BTreeMap::new();
    let mut most = 0;
    for version in 1..6000_u64 {
        let mut some = |version| {
            let picked: Vec<&str> = values.into_iter().filter(|_| dice(3) == 0).collect();
            let whole = object(version, if dice(8) == 0 { "v" } else { "u" }, &picked);
            (key(&format!("o{}", dice(6))), if dice(3) == 0 { whole.bare() } else { whole })
        };
        let (held, new) = some(version);
        let listed: BTreeMap<ObjectKey, Object> = (0..4).map(|_| some(version)).collect();
        match dice(24) {
            0..10 => drop(index.upsert(held, new, Source::Watch)),
            10..12 => drop(index.upsert(held, new, Source::Response)),
            12..15 => drop(index.remove(&held, version)),
            15..17 => drop(index.forget(&held, "u")),
            17..19 => index.drop_body(&held),
            19..21 => drop(index.fill(&held, new)),
            21..23 => drop(index.replace(listed.into_iter().collect(), version)),
            // Set back.
            _ => drop(index.replace(listed.into_iter().collect(), version.saturating_sub(50))),
        }
        let there: BTreeMap<ObjectKey, Arc<Object>> = index.snapshot().into_iter().collect();
        said.retain(|key, (uid, _)| there.get(key).is_some_and(|object| object.uid == *uid));
        for (key, object) in there.into_iter().filter(|(_, object)| object.has_body()) {
            let values = (LABEL.by)(&object).into_iter().collect();
            said.insert(key, (object.uid.clone(), values));
        }
        for value in values {
            let expected: BTreeSet<_> = said.iter().filter(|(_, (_, values))| values.contains(value)).collect();
            let expected: BTreeSet<ObjectKey> = expected.into_iter().map(|(key, _)| key.clone()).collect();
            let found = index.sorted("label", value);
            assert_eq!(found.len(), expected.len(), "each once");
            most = most.max(found.len());
            assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), expected, "{value} at {version}");
        }
    }
    assert!(most > 3);
    index.replace(vec![], 7000);
    assert_eq!((budget.used(), index.read_sorted(|sorted| sorted.all[0].keys.len())), (0, 0), "nothing is kept");
}
