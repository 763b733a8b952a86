//! `Stages`: which kinds are watched in the compute cluster, and for which Migrations. The indexes sort the objects there by
//! Migration.

use std::{collections::BTreeSet, sync::Arc};

use broker_api::keys;
use runtime_effect::kind::Kind;
use runtime_engine::demand::Demand;
use runtime_fleet::{
    index::Change,
    object::{Object, ObjectKey},
    sorted::Sort,
    subscription::Subscription,
    watch::WatchSpec,
};

/// Objects of stages by the id of their Migration.
pub const BY_ID: Sort = Sort { name: "id", by: |object| id(object).into_iter().map(Into::into).collect() };

/// The stage objects of all Migrations. `R` is what runs for each watch that is needed.
#[derive(Debug)]
pub struct Stages<R = Subscription> {
    /// The kinds that each Migration needs.
    demand: Demand<ObjectKey, Kind, Vec<R>>,
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

impl<R> Stages<R> {
    /// None, in these namespaces; where there are none, in all.
    pub fn within(scope: Vec<String>) -> Self {
        Self { demand: Demand::default(), scope }
    }

    /// Whether objects of a namespace are watched, if any are.
    pub fn reaches(&self, namespace: &str) -> bool {
        self.scope.is_empty() || self.scope.iter().any(|own| own == namespace)
    }

    /// A Migration needs these kinds from now on, and no others. `start` is called for each watch that is newly needed. Returns
    /// whether any is new to it.
    pub fn want(&self, migration: &ObjectKey, kinds: &BTreeSet<Kind>, start: impl Fn(&Arc<WatchSpec>) -> R) -> bool {
        let start = |kind: &Kind| specs(kind, &self.scope).iter().map(&start).collect();
        self.demand.set(migration, kinds.clone(), start)
    }

    /// The watches of a kind, if they run: one, or one per namespace where stages may be.
    pub fn specs_of(&self, kind: &Kind) -> Option<Vec<Arc<WatchSpec>>> {
        self.demand.is_needed(kind).then(|| specs(kind, &self.scope))
    }

    /// The watch that sees objects of a kind in a namespace, if it runs.
    pub fn spec_of(&self, kind: &Kind, namespace: &str) -> Option<Arc<WatchSpec>> {
        let sees = |spec: &Arc<WatchSpec>| spec.namespace.as_ref().is_none_or(|own| own == namespace);
        self.specs_of(kind)?.into_iter().find(sees)
    }

    /// The Migrations that need a kind.
    pub fn wanting(&self, kind: &Kind) -> Vec<ObjectKey> {
        self.demand.holders(kind)
    }

    /// The watches of all kinds that run.
    pub fn specs(&self) -> Vec<(Kind, Arc<WatchSpec>)> {
        let of = |kind: Kind| specs(&kind, &self.scope).into_iter().map(move |spec| (kind.clone(), spec));
        self.demand.things().into_iter().flat_map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, PoisonError};

    use serde_json::json;

    use super::*;

    /// What begins (`+`) and ends (`-`), by namespace.
    type Log = Arc<Mutex<Vec<String>>>;

    /// A watch of this namespace.
    struct Watched(Log, String);

    impl Watched {
        fn begin(log: &Log, spec: &WatchSpec) -> Self {
            let namespace = spec.namespace.clone().unwrap_or_default();
            log.lock().unwrap().push(format!("+{namespace}"));
            Self(log.clone(), namespace)
        }
    }

    impl Drop for Watched {
        fn drop(&mut self) {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(format!("-{}", self.1));
        }
    }

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
    fn where_stages_have_their_namespaces_nothing_else_is_watched() {
        let job = kind("Job");
        let log = Log::default();
        let want = |stages: &Stages<Watched>, kinds| stages.want(&key("m"), &kinds, |spec| Watched::begin(&log, spec));
        let seen = |stages: &Stages<Watched>, namespace: &str| {
            want(stages, BTreeSet::from([job.clone()]));
            let spec = stages.spec_of(&job, namespace);
            (stages.reaches(namespace), spec.map(|spec| spec.namespace.clone()))
        };
        let within = Stages::within(vec!["a".into(), "b".into()]);
        assert!(within.spec_of(&job, "b").is_none(), "nobody needs it yet");
        assert_eq!(seen(&within, "b"), (true, Some(Some("b".into()))));
        assert_eq!(seen(&within, "c"), (false, None));
        assert_eq!((within.specs_of(&job).unwrap().len(), within.specs().len()), (2, 2));
        assert_eq!(within.wanting(&job), [key("m")]);
        want(&within, BTreeSet::new());
        assert_eq!(*log.lock().unwrap(), ["+a", "+b", "-a", "-b"], "one watch for each namespace, while it is needed");
        assert_eq!(seen(&Stages::within(Vec::new()), "c"), (true, Some(None)));
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
