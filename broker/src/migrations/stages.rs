//! `Stages`: which kinds are watched in the compute cluster, for which Migrations, and the objects there by Migration.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use broker_api::keys;
use runtime_effect::kind::Kind;
use runtime_fleet::{
    index::Change,
    object::{Object, ObjectKey},
    watch::WatchSpec,
};

/// A kind that is watched, and for whom.
struct Wanted {
    /// One watch, or one per namespace where stages may be.
    specs: Vec<Arc<WatchSpec>>,
    by: HashSet<ObjectKey>,
}

#[derive(Default)]
struct Inner {
    kinds: HashMap<Kind, Wanted>,
    by_migration: HashMap<ObjectKey, BTreeSet<Kind>>,
    /// Objects that are labelled with an id.
    objects: HashMap<String, HashSet<(Kind, ObjectKey)>>,
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

/// Whether a watch is one for stage objects.
pub fn is_stage(spec: &WatchSpec) -> bool {
    spec.label_selector.as_deref() == Some(keys::MIGRATION_ID)
}

fn id(object: Option<&Arc<Object>>) -> Option<String> {
    object?.marks().labels.remove(keys::MIGRATION_ID)
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

    /// A Migration needs these kinds from now on, and no others. `start` and `end` are called for each watch that is newly
    /// needed, or needed no more, while nobody else can come in between.
    pub fn want(
        &self,
        migration: &ObjectKey,
        kinds: &BTreeSet<Kind>,
        start: impl Fn(&Arc<WatchSpec>),
        end: impl Fn(&WatchSpec),
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
                let wanted = Wanted { specs: specs(kind, &self.scope), by: HashSet::new() };
                wanted.specs.iter().for_each(&start);
                wanted
            });
            wanted.by.insert(migration.clone());
        }
        for kind in before.difference(kinds) {
            let Some(wanted) = inner.kinds.get_mut(kind) else { continue };
            wanted.by.remove(migration);
            if wanted.by.is_empty() {
                wanted.specs.iter().for_each(|spec| end(spec));
                inner.kinds.remove(kind);
                inner.objects.retain(|_, objects| {
                    objects.retain(|(other, _)| other != kind);
                    !objects.is_empty()
                });
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
        Some(self.lock().kinds.get(kind)?.specs.clone())
    }

    /// The watch that sees objects of a kind in a namespace, if it runs.
    pub fn spec_of(&self, kind: &Kind, namespace: &str) -> Option<Arc<WatchSpec>> {
        let inner = self.lock();
        let sees = |spec: &&Arc<WatchSpec>| spec.namespace.as_ref().is_none_or(|own| own == namespace);
        inner.kinds.get(kind)?.specs.iter().find(sees).cloned()
    }

    /// The Migrations that need a kind.
    pub fn wanting(&self, kind: &Kind) -> Vec<ObjectKey> {
        self.lock().kinds.get(kind).map(|wanted| wanted.by.iter().cloned().collect()).unwrap_or_default()
    }

    /// A labelled object came, changed or went. Returns the ids that it carried and carries.
    pub fn moved(&self, kind: &Kind, change: &Change) -> Vec<String> {
        let (before, after) = (id(change.old.as_ref()), id(change.new.as_ref()));
        let mut inner = self.lock();
        if let Some(before) = before.as_ref().filter(|before| Some(*before) != after.as_ref())
            && let Some(objects) = inner.objects.get_mut(before)
        {
            objects.remove(&(kind.clone(), change.key.clone()));
            if objects.is_empty() {
                inner.objects.remove(before);
            }
        }
        // The last word of a watch that has just ended is not remembered.
        if let Some(after) = after.as_ref().filter(|_| inner.kinds.contains_key(kind)) {
            inner.objects.entry(after.clone()).or_default().insert((kind.clone(), change.key.clone()));
        }
        let mut ids: Vec<String> = before.into_iter().chain(after).collect();
        ids.dedup();
        ids
    }

    /// The objects of an id.
    pub fn of(&self, id: &str) -> Vec<(Kind, ObjectKey)> {
        self.lock().objects.get(id).into_iter().flatten().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

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

    #[test]
    fn a_watch_runs_from_the_first_who_needs_it_to_the_last() {
        let stages = Stages::default();
        let log = RefCell::new(Vec::new());
        let want = |migration: &str, kinds: &[&str]| {
            let kinds = kinds.iter().map(|name| kind(name)).collect();
            let start = |spec: &Arc<WatchSpec>| log.borrow_mut().push(format!("+{}", spec.gvk.kind));
            let end = |spec: &WatchSpec| log.borrow_mut().push(format!("-{}", spec.gvk.kind));
            stages.want(&key(migration), &kinds, start, end)
        };
        assert!(want("a", &["Job"]));
        assert!(want("b", &["Job"]), "it runs already, but is new to this one");
        assert!(!want("a", &["Job"]), "nothing new");
        assert!(want("a", &["Pod"]));
        assert_eq!(stages.wanting(&kind("Job")), [key("b")]);
        assert!(!want("b", &[]));
        assert_eq!(*log.borrow(), ["+Job", "+Pod", "-Job"]);
        assert!(
            stages.spec_of(&kind("Job"), "n").is_none() && stages.wants_any(&key("a")) && !stages.wants_any(&key("b"))
        );
    }

    #[test]
    fn where_stages_have_their_namespaces_nothing_else_is_watched() {
        let stages = Stages::within(vec!["a".into(), "b".into()]);
        let log = RefCell::new(Vec::new());
        let note = |sign: char, spec: &WatchSpec| {
            log.borrow_mut().push(format!("{sign}{}", spec.namespace.clone().unwrap_or_default()));
        };
        let want =
            |kinds: &BTreeSet<Kind>| stages.want(&key("m"), kinds, |spec| note('+', spec), |spec| note('-', spec));
        want(&BTreeSet::from([kind("Job")]));
        let seen = |namespace: &str| stages.spec_of(&kind("Job"), namespace).and_then(|spec| spec.namespace.clone());
        assert_eq!((seen("b").as_deref(), seen("c")), (Some("b"), None));
        assert_eq!(stages.specs_of(&kind("Job")).unwrap().len(), 2);
        want(&BTreeSet::new());
        assert_eq!(*log.borrow(), ["+a", "+b", "-a", "-b"]);
    }

    #[test]
    fn objects_are_found_by_the_id_that_they_carry() {
        let stages = Stages::default();
        stages.want(&key("m"), &BTreeSet::from([kind("Job")]), |_| {}, |_| {});
        let change = |old: Option<&str>, new: Option<&str>| Change {
            key: key("o"),
            old: old.map(|id| object(id, 1)),
            new: new.map(|id| object(id, 2)),
        };
        assert_eq!(stages.moved(&kind("Job"), &change(None, Some("x"))), ["x"]);
        assert_eq!(stages.of("x"), [(kind("Job"), key("o"))]);
        // Labelled anew.
        assert_eq!(stages.moved(&kind("Job"), &change(Some("x"), Some("y"))), ["x", "y"]);
        assert!(stages.of("x").is_empty() && stages.of("y").len() == 1);
        assert_eq!(stages.moved(&kind("Job"), &change(Some("y"), None)), ["y"]);
        assert!(stages.of("y").is_empty());

        stages.moved(&kind("Job"), &change(None, Some("x")));
        stages.want(&key("m"), &BTreeSet::new(), |_| {}, |_| {});
        assert!(stages.of("x").is_empty(), "what is not watched is not known");
        stages.moved(&kind("Job"), &change(None, Some("x")));
        assert!(stages.of("x").is_empty());
    }
}
