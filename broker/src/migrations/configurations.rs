//! `Configurations`: the MigrationConfigurations, compiled, as of now. Of two for one pair of kinds the older is in force.
//! Those of namespaces that do not count are only told so: they cost nothing, and are in nobody's way.

use std::{collections::BTreeMap, sync::Arc};

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

/// All MigrationConfigurations. Cheap to clone, so that decisions work on one that does not change under them.
#[derive(Debug, Clone, Default)]
pub struct Configurations {
    entries: BTreeMap<ObjectKey, Arc<Entry>>,
    in_force: HashMap<Pair, ObjectKey>,
    /// After so many losses all that there are were put in.
    complete: Option<u64>,
}

impl Configurations {
    /// All of them.
    pub fn entries(&self) -> impl Iterator<Item = (&ObjectKey, &Arc<Entry>)> {
        self.entries.iter()
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
        self.entries.get_key_value(self.in_force.get(pair)?)
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

    /// Takes a new version of one, or its absence; `counts` says whether those of its namespace do. Returns whether anything
    /// but its status changed.
    pub fn update(&mut self, key: &ObjectKey, object: Option<&Object>, counts: bool, evaluator: &Evaluator) -> bool {
        let before = self.entries.get(key).cloned();
        match object {
            Some(object) => {
                let entry =
                    if counts { compile(key, object, evaluator, before.as_deref()) } else { disregarded(object) };
                if before.is_some_and(|before| before.version == entry.version && before.pending == entry.pending) {
                    return false;
                }
                self.entries.insert(key.clone(), Arc::new(entry));
            }
            None if before.is_none() => return false,
            None => {
                self.entries.remove(key);
            }
        }
        self.reorder();
        true
    }

    fn reorder(&mut self) {
        let mut oldest: HashMap<Pair, (i64, &ObjectKey)> = HashMap::default();
        for (key, entry) in &self.entries {
            let Some(pair) = &entry.pair else { continue };
            let place = (entry.created, key);
            oldest.entry(pair.clone()).and_modify(|held| *held = place.min(*held)).or_insert(place);
        }
        self.in_force = oldest.into_iter().map(|(pair, (_, key))| (pair, key.clone())).collect();
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

    fn add(all: &mut Configurations, name: &str, created: &str) -> bool {
        let (key, object) = object(name, created, 1, &json!([]));
        all.update(&key, Some(&object), true, &Evaluator::new())
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
            assert!(all.update(&ObjectKey::new("n", name), None, true, &Evaluator::new()));
            assert_eq!(in_force(&all).as_deref(), next);
        }
        assert!(!all.update(&ObjectKey::new("n", "old"), None, true, &Evaluator::new()), "it is gone already");
    }

    #[test]
    fn one_that_is_not_valid_is_still_in_force() {
        let mut all = Configurations::default();
        let stages = json!([{"name": "s", "successConditions": ["1 +"]}]);
        let (key, object) = object("broken", "2026-01-01T00:00:00Z", 1, &stages);
        all.update(&key, Some(&object), true, &Evaluator::new());
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
        assert!(all.update(&key, Some(&object), false, &Evaluator::new()));
        assert_eq!((all.configured(&kind()), all.entries().count()), (Configured::No, 1));
        assert!(!all.update(&key, Some(&object), false, &Evaluator::new()), "nothing new");
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
