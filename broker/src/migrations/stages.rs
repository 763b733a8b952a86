//! `Stages`: which kinds are watched in the compute cluster, and for which Migrations. The indexes sort the objects there by
//! Migration.

use std::{
    any::Any,
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use broker_api::keys;
use runtime_effect::kind::Kind;
use runtime_fleet::{
    hashed::{HashMap, HashSet},
    index::Change,
    object::{Object, ObjectKey},
    sorted::Sort,
    watch::WatchSpec,
};

/// Objects of stages by the id of their Migration.
pub const BY_ID: Sort = Sort { name: "id", by: |object| id(object).into_iter().map(Into::into).collect() };

/// What a watch runs as long as.
pub type Running = Box<dyn Any + Send + Sync>;

/// A kind that is watched, and for whom.
struct Wanted {
    /// One watch, or one per namespace where stages may be.
    specs: Vec<(Arc<WatchSpec>, Running)>,
    by: HashSet<ObjectKey>,
}

#[derive(Default)]
struct Inner {
    kinds: HashMap<Kind, Wanted>,
    by_migration: HashMap<ObjectKey, BTreeSet<Kind>>,
}

/// The stage objects of all Migrations.
#[derive(Default)]
pub struct Stages {
    inner: Mutex<Inner>,
    /// The namespaces where they may be; none: anywhere.
    scope: Vec<String>,
}

/// Objects of a kind that belong to any Migration.
fn specs(kind: &Kind, scope: &[String]) -> Vec<Arc<WatchSpec>> {
    let everywhere = WatchSpec::all(kind.to_gvk()).labelled(keys::MIGRATION_ID);
    if scope.is_empty() {
        return vec![Arc::new(everywhere)];
    }
    scope.iter().map(|namespace| Arc::new(everywhere.clone().within(namespace))).collect()
}

fn id(object: &Object) -> Option<String> {
    object.marks().labels.remove(keys::MIGRATION_ID)
}

/// The ids that an object carried before a change, and carries after it.
pub fn ids(change: &Change) -> Vec<String> {
    let (before, after) = (change.old.as_deref().and_then(id), change.new.as_deref().and_then(id));
    let mut ids: Vec<String> = before.into_iter().chain(after).collect();
    ids.dedup();
    ids
}

impl Stages {
    /// None, in these namespaces; where there are none, in all.
    pub fn within(scope: Vec<String>) -> Self {
        Self { inner: Mutex::default(), scope }
    }

    /// Whether objects of a namespace are watched, if any are.
    pub fn reaches(&self, namespace: &str) -> bool {
        self.scope.is_empty() || self.scope.iter().any(|own| own == namespace)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A Migration needs these kinds from now on, and no others. `start` is called for each watch that is newly needed, and
    /// what it returns is dropped when that is needed no more, while nobody else can come in between. Returns whether any is
    /// new to it.
    pub fn want(
        &self,
        migration: &ObjectKey,
        kinds: &BTreeSet<Kind>,
        start: impl Fn(&Arc<WatchSpec>) -> Running,
    ) -> bool {
        let mut inner = self.lock();
        let before = if kinds.is_empty() {
            inner.by_migration.remove(migration)
        } else {
            inner.by_migration.insert(migration.clone(), kinds.clone())
        };
        let before = before.unwrap_or_default();
        let mut new = false;
        for kind in kinds.difference(&before) {
            new = true;
            let wanted = inner.kinds.entry(kind.clone()).or_insert_with(|| {
                let specs = specs(kind, &self.scope).into_iter().map(|spec| (Arc::clone(&spec), start(&spec)));
                Wanted { specs: specs.collect(), by: HashSet::default() }
            });
            wanted.by.insert(migration.clone());
        }
        for kind in before.difference(kinds) {
            let Some(wanted) = inner.kinds.get_mut(kind) else { continue };
            wanted.by.remove(migration);
            if wanted.by.is_empty() {
                inner.kinds.remove(kind);
            }
        }
        new
    }

    /// Whether a Migration needs any watch.
    pub fn wants_any(&self, migration: &ObjectKey) -> bool {
        self.lock().by_migration.contains_key(migration)
    }

    /// The watches of a kind, if they run.
    pub fn specs_of(&self, kind: &Kind) -> Option<Vec<Arc<WatchSpec>>> {
        Some(self.lock().kinds.get(kind)?.specs.iter().map(|(spec, _)| Arc::clone(spec)).collect())
    }

    /// The watch that sees objects of a kind in a namespace, if it runs.
    pub fn spec_of(&self, kind: &Kind, namespace: &str) -> Option<Arc<WatchSpec>> {
        let inner = self.lock();
        let sees = |spec: &&Arc<WatchSpec>| spec.namespace.as_ref().is_none_or(|own| own == namespace);
        inner.kinds.get(kind)?.specs.iter().map(|(spec, _)| spec).find(sees).cloned()
    }

    /// The Migrations that need a kind.
    pub fn wanting(&self, kind: &Kind) -> Vec<ObjectKey> {
        self.lock().kinds.get(kind).map(|wanted| wanted.by.iter().cloned().collect()).unwrap_or_default()
    }

    /// The watches of all kinds that run.
    pub fn specs(&self) -> Vec<(Kind, Arc<WatchSpec>)> {
        let inner = self.lock();
        let specs =
            inner.kinds.iter().flat_map(|(kind, wanted)| wanted.specs.iter().map(move |(spec, _)| (kind, spec)));
        specs.map(|(kind, spec)| (kind.clone(), Arc::clone(spec))).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn kind(name: &str) -> Kind {
        Kind { group: "batch".into(), version: "v1".into(), kind: name.into() }
    }

    fn key(name: &str) -> ObjectKey {
        ObjectKey::new("n", name)
    }

    fn object(id: &str, version: u64) -> Arc<Object> {
        let value = json!({"metadata": {"name": "o", "namespace": "n", "uid": "u", "resourceVersion": version.to_string(), "labels": {keys::MIGRATION_ID: id}}});
        Arc::new(crate::conventions::object(&value).1)
    }

    /// Notes when watches begin and end.
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<String>>>);

    /// Notes its end.
    struct Ends(Log, String);

    impl Log {
        fn note(&self, what: String) {
            self.0.lock().unwrap().push(what);
        }

        fn start(&self, name: String) -> Running {
            self.note(format!("+{name}"));
            Box::new(Ends(self.clone(), name))
        }

        fn lines(&self) -> Vec<String> {
            self.0.lock().unwrap().clone()
        }
    }

    impl Drop for Ends {
        fn drop(&mut self) {
            self.0.note(format!("-{}", self.1));
        }
    }

    #[test]
    fn a_watch_runs_from_the_first_who_needs_it_to_the_last() {
        let stages = Stages::default();
        let log = Log::default();
        let want = |migration: &str, kinds: &[&str]| {
            let kinds = kinds.iter().map(|name| kind(name)).collect();
            stages.want(&key(migration), &kinds, |spec| log.start(spec.gvk.kind.clone()))
        };
        assert!(want("a", &["Job"]));
        assert!(want("b", &["Job"]), "it runs already, but is new to this one");
        assert!(!want("a", &["Job"]), "nothing new");
        assert!(want("a", &["Pod"]));
        assert_eq!(stages.wanting(&kind("Job")), [key("b")]);
        assert!(!want("b", &[]));
        assert_eq!(log.lines(), ["+Job", "+Pod", "-Job"]);
        assert!(
            stages.spec_of(&kind("Job"), "n").is_none() && stages.wants_any(&key("a")) && !stages.wants_any(&key("b"))
        );
    }

    #[test]
    fn where_stages_have_their_namespaces_nothing_else_is_watched() {
        let stages = Stages::within(vec!["a".into(), "b".into()]);
        let log = Log::default();
        let start = |spec: &Arc<WatchSpec>| log.start(spec.namespace.clone().unwrap_or_default());
        let want = |kinds: &BTreeSet<Kind>| stages.want(&key("m"), kinds, start);
        want(&BTreeSet::from([kind("Job")]));
        let seen = |namespace: &str| stages.spec_of(&kind("Job"), namespace).and_then(|spec| spec.namespace.clone());
        assert_eq!((seen("b").as_deref(), seen("c")), (Some("b"), None));
        assert_eq!(stages.specs_of(&kind("Job")).unwrap().len(), 2);
        want(&BTreeSet::new());
        assert_eq!(log.lines(), ["+a", "+b", "-a", "-b"]);
    }

    #[test]
    fn a_change_concerns_the_ids_before_and_after() {
        let change = |old: Option<&str>, new: Option<&str>| Change {
            key: key("o"),
            old: old.map(|id| object(id, 1)),
            new: new.map(|id| object(id, 2)),
        };
        assert_eq!(ids(&change(None, Some("x"))), ["x"]);
        assert_eq!(ids(&change(Some("x"), Some("x"))), ["x"]);
        assert_eq!(ids(&change(Some("x"), Some("y"))), ["x", "y"]);
        assert_eq!(ids(&change(Some("y"), None)), ["y"]);
        assert_eq!((BY_ID.by)(&object("x", 1)), ["x".into()]);
    }
}
