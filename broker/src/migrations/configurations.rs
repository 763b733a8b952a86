//! `Configurations`: the MigrationConfigurations, compiled, as of now. Of two for one pair of kinds the older is in force.
//! Those of namespaces that do not count are only told so: they cost nothing, and are in nobody's way.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, PoisonError, RwLock},
};

use broker_api::MigrationConfiguration;
use broker_core::{
    migration::{configuration::Configuration, known::kind_of, observed::Applicable},
    movement::Configured,
};
use runtime_cel::{expression::Evaluator, flaws::Flaws};
use runtime_effect::kind::Kind;
use runtime_fleet::{
    hashed::HashMap,
    object::{Object, ObjectKey},
};

/// From which kind to which.
pub type Pair = (Kind, Kind);

/// One MigrationConfiguration.
#[derive(Debug, Clone)]
pub struct Entry {
    /// uid and generation that were compiled.
    version: (Box<str>, i64),
    /// Seconds since 1970.
    created: i64,
    /// The kinds that it is for, if they could be read.
    pub pair: Option<Pair>,
    /// Compiled, or all that is wrong. `None`: its namespace does not count.
    pub compiled: Option<Result<Arc<Configuration>, String>>,
    /// The machine was too busy to compile it: nothing is known to be wrong, and it is to be compiled again.
    pending: bool,
}

impl Entry {
    /// Whether the machine was too busy to compile it: it is to be compiled again.
    pub fn is_pending(&self) -> bool {
        self.pending
    }
}

/// All MigrationConfigurations.
#[derive(Debug, Clone, Default)]
pub struct Configurations {
    entries: BTreeMap<ObjectKey, Arc<Entry>>,
    /// Those for a pair of kinds, the oldest first: that one is in force.
    by_pair: HashMap<Pair, BTreeSet<(i64, ObjectKey)>>,
    /// After so many losses all that there are were put in.
    complete: Option<u64>,
}

/// The MigrationConfigurations as of now. What was read does not change under whoever has read it.
#[derive(Debug, Default)]
pub struct Current(RwLock<Arc<Configurations>>);

impl Current {
    /// As of now.
    pub fn load(&self) -> Arc<Configurations> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes them, in place where nobody reads them at the moment.
    pub fn change<T>(&self, change: impl FnOnce(&mut Configurations) -> T) -> T {
        change(Arc::make_mut(&mut self.0.write().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl Configurations {
    /// All of them.
    pub fn keys(&self) -> BTreeSet<ObjectKey> {
        self.entries.keys().cloned().collect()
    }

    /// One of them.
    pub fn get(&self, key: &ObjectKey) -> Option<&Arc<Entry>> {
        self.entries.get(key)
    }

    /// Whether all that there were at the first list are in.
    pub fn is_complete(&self) -> bool {
        self.complete.is_some()
    }

    /// Whether all that there were after the watch had lost sight of them so many times are in.
    pub fn is_complete_after(&self, losses: u64) -> bool {
        self.complete == Some(losses)
    }

    /// Notes that all are in that there were after so many losses.
    pub fn mark_complete(&mut self, losses: u64) {
        self.complete = Some(losses);
    }

    /// The kind is not served any more, and with it all have gone.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// The one in force for a pair of kinds.
    pub fn in_force(&self, pair: &Pair) -> Option<(&ObjectKey, &Arc<Entry>)> {
        let (_, oldest) = self.by_pair.get(pair)?.first()?;
        self.entries.get_key_value(oldest)
    }

    /// The one by which a Migration between these kinds would run if it began now.
    pub fn applicable(&self, pair: &Pair) -> Applicable<'_> {
        match self.in_force(pair) {
            None => Applicable::None,
            Some((_, entry)) if entry.pending => Applicable::Unknown,
            Some((_, entry)) => match &entry.compiled {
                None => Applicable::None,
                Some(Ok(configuration)) => Applicable::Found(configuration),
                Some(Err(why)) => Applicable::Invalid(why),
            },
        }
    }

    /// Whether there is one for moves of a kind.
    pub fn configured(&self, kind: &Kind) -> Configured {
        let Some((key, entry)) = self.in_force(&(kind.clone(), kind.clone())) else { return Configured::No };
        match &entry.compiled {
            None => Configured::No,
            Some(_) if entry.pending => Configured::Unknown,
            Some(Ok(_)) => Configured::Yes,
            Some(Err(why)) => Configured::Invalid(format!("{key}: {why}")),
        }
    }

    /// Whether one is still to be compiled.
    pub fn is_pending(&self, key: &ObjectKey) -> bool {
        self.entries.get(key).is_some_and(|entry| entry.pending)
    }

    /// What is to be put in for one that is this now, or gone; `counts` says whether those of its namespace do. `None`: nothing
    /// but its status is new.
    pub fn read(
        &self,
        key: &ObjectKey,
        object: Option<&Object>,
        counts: bool,
        evaluator: &Evaluator,
    ) -> Option<Option<Entry>> {
        let before = self.get(key).map(|before| &**before);
        let Some(object) = object else { return before.map(|_| None) };
        let entry = if counts { compile(key, object, evaluator, before) } else { disregarded(object) };
        let same = before.is_some_and(|before| before.version == entry.version && before.pending == entry.pending);
        (!same).then_some(Some(entry))
    }

    /// Takes in what one is now, or that it is gone. Returns whose statuses that concerns besides its own: those that wait
    /// behind another one than before.
    pub fn put(&mut self, key: &ObjectKey, entry: Option<Entry>) -> BTreeSet<ObjectKey> {
        let after = entry.map(Arc::new);
        let before = match &after {
            Some(entry) => self.entries.insert(key.clone(), Arc::clone(entry)),
            None => self.entries.remove(key),
        };
        let mut concerned = BTreeSet::new();
        for (entry, is_in) in [(before, false), (after, true)] {
            let Some((pair, created)) = entry.and_then(|entry| Some((entry.pair.clone()?, entry.created))) else {
                continue;
            };
            let place = (created, key.clone());
            let row = self.by_pair.entry(pair.clone()).or_default();
            let was = row.first().cloned();
            let _ = if is_in { row.insert(place) } else { row.remove(&place) };
            if row.first() != was.as_ref() {
                concerned.extend(row.iter().map(|(_, other)| other.clone()));
            }
            if row.is_empty() {
                self.by_pair.remove(&pair);
            }
        }
        concerned
    }
}

fn disregarded(object: &Object) -> Entry {
    Entry { version: (object.uid.clone(), 0), created: 0, pair: None, compiled: None, pending: false }
}

fn compile(key: &ObjectKey, object: &Object, evaluator: &Evaluator, before: Option<&Entry>) -> Entry {
    let broken = |generation, why: String| Entry {
        version: (object.uid.clone(), generation),
        created: 0,
        pair: None,
        compiled: Some(Err(why)),
        pending: false,
    };
    let value = match object.value() {
        Ok(value) => value,
        Err(error) => return broken(0, error.to_string()),
    };
    let generation = value["metadata"]["generation"].as_i64().unwrap_or_default();
    let version = (object.uid.clone(), generation);
    if let Some(before) = before.filter(|before| before.version == version && !before.pending) {
        return before.clone();
    }
    match serde_json::from_value::<MigrationConfiguration>(value) {
        Ok(MigrationConfiguration { metadata, spec, .. }) => {
            let compiled =
                Configuration::compile(&key.namespace, &key.name, generation, &spec.stages, evaluator).map(Arc::new);
            Entry {
                version,
                created: metadata.creation_timestamp.map_or(0, |time| time.0.as_second()),
                pair: Some((kind_of(&spec.from), kind_of(&spec.to))),
                pending: compiled.as_ref().is_err_and(Flaws::is_transient),
                compiled: Some(compiled.map_err(|flaws| flaws.to_string())),
            }
        }
        Err(error) => broken(generation, format!("cannot be read: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn kind() -> Kind {
        Kind { group: "example.platform-mesh.io".into(), version: "v1alpha1".into(), kind: "Certificate".into() }
    }

    fn object(name: &str, created: &str, generation: i64, stages: &Value) -> (ObjectKey, Object) {
        let gvk = json!({"group": "example.platform-mesh.io", "version": "v1alpha1", "kind": "Certificate"});
        let value = json!({
            "metadata": {"name": name, "namespace": "n", "uid": name, "resourceVersion": "1", "generation": generation, "creationTimestamp": created},
            "spec": {"from": gvk, "to": gvk, "stages": stages},
        });
        crate::conventions::object(&value)
    }

    /// Whether anything but its status is new.
    fn update(all: &mut Configurations, key: &ObjectKey, object: Option<&Object>, counts: bool) -> bool {
        let entry = all.read(key, object, counts, &Evaluator::new());
        entry.map(|entry| all.put(key, entry)).is_some()
    }

    fn add(all: &mut Configurations, name: &str, created: &str) -> bool {
        let (key, object) = object(name, created, 1, &json!([]));
        update(all, &key, Some(&object), true)
    }

    fn in_force(all: &Configurations) -> Option<String> {
        Some(all.in_force(&(kind(), kind()))?.0.name.to_string())
    }

    #[test]
    fn what_was_in_before_sight_was_lost_is_not_all() {
        let mut all = Configurations::default();
        assert!(!all.is_complete_after(0));
        all.mark_complete(0);
        assert!(all.is_complete_after(0) && !all.is_complete_after(1));
        all.mark_complete(1);
        assert!(all.is_complete_after(1));
        all.clear();
        assert!(!all.is_complete_after(1) && !all.is_complete());
    }

    #[test]
    fn the_older_of_two_is_in_force_until_it_goes() {
        let mut all = Configurations::default();
        assert_eq!(all.configured(&kind()), Configured::No);
        assert!(add(&mut all, "young", "2026-01-02T00:00:00Z"));
        assert_eq!((in_force(&all).as_deref(), all.configured(&kind())), (Some("young"), Configured::Yes));
        assert!(add(&mut all, "old", "2026-01-01T00:00:00Z"));
        assert!(add(&mut all, "also-old", "2026-01-01T00:00:00Z"));
        assert_eq!(in_force(&all).as_deref(), Some("also-old"), "of the same age the first by name");
        assert!(!add(&mut all, "old", "2026-01-01T00:00:00Z"), "nothing new");
        for (name, next) in [("also-old", Some("old")), ("old", Some("young")), ("young", None)] {
            assert!(update(&mut all, &ObjectKey::new("n", name), None, true));
            assert_eq!(in_force(&all).as_deref(), next);
        }
        assert!(!update(&mut all, &ObjectKey::new("n", "old"), None, true), "it is gone already");
        assert!(all.by_pair.is_empty() && all.entries.is_empty(), "nothing is kept of those that have gone");
    }

    #[test]
    fn a_change_concerns_those_that_wait_behind_another_one_than_before() {
        let mut all = Configurations::default();
        let mut put = |name: &str, created: Option<&str>| {
            let key = ObjectKey::new("n", name);
            let object = created.map(|created| object(name, created, 1, &json!([])).1);
            let entry = all.read(&key, object.as_ref(), true, &Evaluator::new()).unwrap();
            all.put(&key, entry).into_iter().map(|key| key.name.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(put("b", Some("2026-01-02T00:00:00Z")), ["b"]);
        assert_eq!(put("c", Some("2026-01-03T00:00:00Z")), [""; 0], "it waits behind the same");
        assert_eq!(put("a", Some("2026-01-01T00:00:00Z")), ["a", "b", "c"]);
        assert_eq!(put("c", None), [""; 0]);
        assert_eq!(put("a", None), ["b"]);
    }

    #[test]
    fn what_was_read_does_not_change() {
        let all = Current::default();
        let (key, object) = object("a", "2026-01-01T00:00:00Z", 1, &json!([]));
        let before = all.load();
        let entry = before.read(&key, Some(&object), true, &Evaluator::new()).unwrap();
        all.change(|all| all.put(&key, entry));
        assert!(before.get(&key).is_none() && all.load().get(&key).is_some());
    }

    #[test]
    fn one_that_is_not_valid_is_still_in_force() {
        let mut all = Configurations::default();
        let stages = json!([{"name": "s", "successConditions": ["1 +"]}]);
        let (key, object) = object("broken", "2026-01-01T00:00:00Z", 1, &stages);
        update(&mut all, &key, Some(&object), true);
        let Configured::Invalid(why) = all.configured(&kind()) else { panic!("{:?}", all.configured(&kind())) };
        assert!(why.starts_with("n/broken: "), "{why}");
        assert!(matches!(all.applicable(&(kind(), kind())), Applicable::Invalid(_)));
        add(&mut all, "young", "2026-01-02T00:00:00Z");
        assert!(matches!(all.configured(&kind()), Configured::Invalid(_)), "the younger does not take its place");
    }

    #[test]
    fn one_of_a_namespace_that_does_not_count_is_in_nobodys_way() {
        let mut all = Configurations::default();
        let (key, object) =
            object("theirs", "2026-01-01T00:00:00Z", 1, &json!([{"name": "s", "successConditions": ["1 +"]}]));
        assert!(update(&mut all, &key, Some(&object), false));
        assert_eq!((all.configured(&kind()), all.keys().len()), (Configured::No, 1));
        assert!(!update(&mut all, &key, Some(&object), false), "nothing new");
        add(&mut all, "young", "2026-01-02T00:00:00Z");
        assert_eq!((in_force(&all).as_deref(), all.configured(&kind())), (Some("young"), Configured::Yes));
    }

    #[test]
    fn other_kinds_are_not_concerned() {
        let mut all = Configurations::default();
        add(&mut all, "a", "2026-01-01T00:00:00Z");
        let other = Kind { kind: "VM".into(), ..kind() };
        assert_eq!(all.configured(&other), Configured::No);
        assert!(matches!(all.applicable(&(kind(), other)), Applicable::None));
    }
}
