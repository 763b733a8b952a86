//! `Echo`: what watches tell of a write before its answer comes.
//!
//! API servers tell watches at about the time at which they answer. Whoever writes goes by the answer; told of the same
//! version a moment earlier it would be looked at once more for nothing.

use std::sync::Arc;

use broker_api::ClusterName;

use super::{Queue, key::Key};
use crate::{
    index::{Change, Index},
    object::ObjectKey,
    watch::WatchSpec,
};

/// An object that is being written, and of which of its versions a watch has told meanwhile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Echo {
    cluster: ClusterName,
    spec: Arc<WatchSpec>,
    object: ObjectKey,
    /// Only its status is written: it asks for what it asked for before.
    only_status: bool,
    versions: Vec<u64>,
}

impl Echo {
    fn is_of(&self, index: &Index, change: &Change) -> bool {
        self.object == change.key && self.cluster == *index.cluster() && self.spec == *index.spec()
    }

    fn is_the_same(&self, other: &Self) -> bool {
        self.object == other.object && self.cluster == other.cluster && self.spec == other.spec
    }
}

/// What is written for one key right now.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Echoes(Vec<Echo>);

impl Echoes {
    pub(super) fn expect(&mut self, echo: Echo) {
        self.0.push(echo);
    }

    /// Takes in what a watch tells. False: that is no answer's to say.
    pub(super) fn hear(&mut self, index: &Index, change: &Change) -> bool {
        let Some(new) = &change.new else { return false };
        let Some(echo) = self.0.iter_mut().find(|echo| echo.is_of(index, change)) else { return false };
        if echo.only_status && change.asks_otherwise() {
            return false;
        }
        echo.versions.push(new.resource_version);
        true
    }

    /// The answer is there, or `None` will come. Whether watches told of something else.
    pub(super) fn answered(&mut self, of: &Echo, version: Option<u64>) -> bool {
        let Some(at) = self.0.iter().position(|echo| echo.is_the_same(of)) else { return false };
        self.0.swap_remove(at).versions.iter().any(|told| Some(*told) != version)
    }
}

/// A write that is under way for a key. Dropped without an answer, whatever was told meanwhile is news.
pub struct Writing<K: Key> {
    queue: Arc<Queue<K>>,
    key: K,
    echo: Echo,
    version: Option<u64>,
}

impl<K: Key> Writing<K> {
    /// The object was made this version by the write, and the index knows it.
    pub fn answered(mut self, version: u64) {
        self.version = Some(version);
    }
}

impl<K: Key> Drop for Writing<K> {
    fn drop(&mut self) {
        self.queue.lock().answered(&self.key, &self.echo, self.version);
    }
}

impl<K: Key> Queue<K> {
    /// An object, or its status and nothing else, is about to be written for a key that is being worked on.
    pub fn writing(
        self: &Arc<Self>,
        key: &K,
        cluster: &ClusterName,
        spec: &Arc<WatchSpec>,
        object: &ObjectKey,
        only_status: bool,
    ) -> Writing<K> {
        let (cluster, spec) = (cluster.clone(), Arc::clone(spec));
        let echo = Echo { cluster, spec, object: object.clone(), only_status, versions: Vec::new() };
        self.lock().expect(key, &echo);
        Writing { queue: Arc::clone(self), key: key.clone(), echo, version: None }
    }

    /// An object that concerns this key has changed, as its watch tells. While that object is written for the key, the answer
    /// tells whether it is news.
    pub fn add_told(&self, key: K, index: &Index, change: &Change) {
        let mut inner = self.lock();
        if inner.enqueue_told(key, index, change) {
            drop(inner);
            self.changed.notify_one();
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{GroupVersionKind, budget::Budget, conventions::PLAIN, object::Object, queue::Outcome};

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
            let raw = format!(
                r#"{{"metadata":{{"name":"{name}","namespace":"n","uid":"u","resourceVersion":"{version}"}}}}"#
            );
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

    fn writing(queue: &Arc<Queue<ClusterName>>, index: &Index, name: &str) -> Writing<ClusterName> {
        queue.writing(&cluster(), index.cluster(), index.spec(), &ObjectKey::new("n", name), false)
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
            let raw = format!(
                r#"{{"metadata":{{"name":"a","namespace":"n","uid":"u","resourceVersion":"{version}"}},"spec":{spec},"status":"{state}"}}"#
            );
            Some(Arc::new(Object::parse(raw.as_bytes(), None, &PLAIN).unwrap().1))
        };
        for (spec, is_news) in [(r#"{"x":1}"#, false), (r#"{"x":1,"y":2}"#, true)] {
            let (queue, index) = at_work().await;
            let key = ObjectKey::new("n", "a");
            let writing = queue.writing(&cluster(), index.cluster(), index.spec(), &key, true);
            let change = Change { key, old: object(4, r#"{"x":1}"#, "old"), new: object(5, spec, "new") };
            queue.add_told(cluster(), &index, &change);
            writing.answered(5);
            assert_eq!(again(&queue), is_news, "{spec}");
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
}
