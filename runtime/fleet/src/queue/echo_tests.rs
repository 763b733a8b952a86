//! Tests of [`Queue::add_told`].

#![allow(clippy::unwrap_used)]

use super::*;
use crate::{
    GroupVersionKind,
    budget::Budget,
    conventions::PLAIN,
    object::{Object, ObjectKey},
    watch::WatchSpec,
};

fn cluster() -> ClusterName {
    ClusterName::consumer("c")
}

fn index(cluster: &ClusterName, kind: &str) -> Index {
    let spec = WatchSpec::all(GroupVersionKind::gvk("", "v1", kind));
    Index::new(cluster.clone(), Arc::new(spec), Budget::new(1 << 20).engage(cluster))
}

/// What a watch tells: `name` has this version, or is gone.
fn change(name: &str, version: Option<u64>) -> Change {
    let object = |version| {
        let raw =
            format!(r#"{{"metadata":{{"name":"{name}","namespace":"n","uid":"u","resourceVersion":"{version}"}}}}"#);
        Arc::new(Object::parse(raw.as_bytes(), None, &PLAIN).unwrap().1)
    };
    Change { key: ObjectKey::new("n", name), old: None, new: version.map(object) }
}

/// A key that is being worked on, and what its watch is of.
async fn at_work() -> (Arc<Queue<ClusterName>>, Index) {
    let queue: Arc<Queue<ClusterName>> = Arc::default();
    queue.add(cluster());
    queue.next().await.unwrap();
    (queue, index(&cluster(), "ConfigMap"))
}

fn written(index: &Index, name: &str) -> BeingWritten {
    let (cluster, spec) = (index.cluster().clone(), Arc::clone(index.spec()));
    BeingWritten { cluster, spec, object: ObjectKey::new("n", name), only_status: false }
}

fn writing(queue: &Arc<Queue<ClusterName>>, index: &Index, name: &str) -> Writing<ClusterName> {
    queue.writing(&cluster(), written(index, name))
}

/// Whether the key is looked at again once work on it has ended.
fn again(queue: &Arc<Queue<ClusterName>>) -> bool {
    queue.finish(&cluster(), Outcome::Done);
    queue.stats().depth == 1
}

#[tokio::test]
async fn what_a_watch_tells_of_a_write_before_its_answer_is_no_news() {
    let (queue, index) = at_work().await;
    let (one, two) = (writing(&queue, &index, "a"), writing(&queue, &index, "b"));
    queue.add_told(cluster(), &index, &change("b", Some(6)));
    queue.add_told(cluster(), &index, &change("a", Some(5)));
    two.answered(6);
    one.answered(5);
    assert!(!again(&queue));
    queue.add_told(cluster(), &index, &change("a", Some(7)));
    assert_eq!(queue.stats().depth, 1, "nothing is written any more");
}

#[tokio::test]
async fn what_others_have_done_meanwhile_is_news() {
    for (told, answer) in
        [(&[Some(4)][..], Some(5)), (&[Some(5), Some(6)], Some(5)), (&[Some(5)], None), (&[None], Some(5))]
    {
        let (queue, index) = at_work().await;
        let writing = writing(&queue, &index, "a");
        for version in told {
            queue.add_told(cluster(), &index, &change("a", *version));
        }
        match answer {
            Some(version) => writing.answered(version),
            None => drop(writing),
        }
        assert!(again(&queue), "told of {told:?}, answered {answer:?}");
    }
    let (queue, _) = at_work().await;
    assert!(!again(&queue), "of nothing");
}

/// The schema of its kind may have come to have a default that it is shown with.
#[tokio::test]
async fn what_is_asked_otherwise_than_before_its_status_was_written_is_news() {
    let object = |version: u64, spec: &str, state: &str| {
        let metadata = format!(r#"{{"name":"a","namespace":"n","uid":"u","resourceVersion":"{version}"}}"#);
        let raw = format!(r#"{{"metadata":{metadata},"spec":{spec},"status":"{state}"}}"#);
        Some(Arc::new(Object::parse(raw.as_bytes(), None, &PLAIN).unwrap().1))
    };
    let (same, other) = (r#"{"x":1}"#, r#"{"x":1,"y":2}"#);
    let of = [(same, true, false), (other, true, true), (other, false, false)];
    for (spec, only_status, is_news) in of {
        let (queue, index) = at_work().await;
        let writing = queue.writing(&cluster(), BeingWritten { only_status, ..written(&index, "a") });
        let (old, new) = (object(4, same, "old"), object(5, spec, "new"));
        queue.add_told(cluster(), &index, &Change { key: ObjectKey::new("n", "a"), old, new });
        writing.answered(5);
        assert_eq!(again(&queue), is_news, "{spec}, {only_status}");
    }
    let (queue, index) = at_work().await;
    let writing = queue.writing(&cluster(), BeingWritten { only_status: true, ..written(&index, "a") });
    queue.add_told(cluster(), &index, &change("a", Some(5)));
    writing.answered(5);
    assert!(!again(&queue), "it was not there before");
}

/// Copies of one name are in several clusters.
#[tokio::test]
async fn writes_of_one_name_are_told_apart() {
    let here = index(&cluster(), "ConfigMap");
    let others = [index(&ClusterName::provider("c"), "ConfigMap"), index(&cluster(), "Secret")];
    for other in others {
        let (queue, _) = at_work().await;
        let (one, two) = (writing(&queue, &here, "a"), writing(&queue, &other, "a"));
        queue.add_told(cluster(), &here, &change("a", Some(5)));
        queue.add_told(cluster(), &other, &change("a", Some(6)));
        two.answered(6);
        one.answered(5);
        assert!(!again(&queue));
    }
}

#[tokio::test]
async fn other_objects_are_news() {
    let others = [
        (index(&cluster(), "ConfigMap"), "b"),
        (index(&cluster(), "Secret"), "a"),
        (index(&ClusterName::provider("c"), "ConfigMap"), "a"),
    ];
    for (other, name) in others {
        let (queue, index) = at_work().await;
        let writing = writing(&queue, &index, "a");
        queue.add_told(cluster(), &other, &change(name, Some(5)));
        writing.answered(5);
        assert!(again(&queue), "{} {name} at {}", other.spec().gvk.kind, other.cluster());
    }
}

#[tokio::test]
async fn what_else_is_added_stays() {
    let (queue, index) = at_work().await;
    let writing = writing(&queue, &index, "a");
    queue.add(cluster());
    queue.add_told(cluster(), &index, &change("a", Some(5)));
    writing.answered(5);
    assert!(again(&queue));
}
