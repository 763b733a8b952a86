//! The AcceptAPIs of all providers, compiled, as of now. Live: a change recompiles one and concerns few origins.
//!
//! Readers have the whole as of one moment and wait for nobody. A change shares all that it does not touch: it costs what
//! the provider's own AcceptAPIs cost, and one pointer for each other provider.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use broker_api::{AcceptApi, ClusterName, Gvr, keys};
use broker_core::{
    acceptance::{AcceptId, Acceptance},
    policy::Policy,
};
use runtime_cel::expression::Evaluator;
use runtime_engine::view::unread;
use runtime_fleet::{
    hashed::{HashMap, HashSet},
    object::{Object, ObjectKey},
};

/// How many AcceptAPIs of one provider count for one resource: the oldest.
pub const MOST: usize = 64;

/// What has become of AcceptAPIs: their new entries, or that they are gone.
pub type Found = BTreeMap<AcceptId, Option<Arc<Entry>>>;

/// One AcceptAPI: compiled, or what is wrong with it.
#[derive(Debug, Clone)]
pub struct Entry {
    /// What was read.
    version: Version,
    /// When it was created, in RFC 3339.
    created: Box<str>,
    /// It has been read and not compiled.
    open: bool,
    /// It does not count: the provider has too many.
    pub too_many: bool,
    /// The resource it speaks of, if that could be read.
    pub gvr: Option<Gvr>,
    /// Compiled, or the errors.
    pub compiled: Result<Arc<Acceptance>, Vec<String>>,
}

/// What an AcceptAPI's meaning depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Version {
    uid: Box<str>,
    generation: i64,
    /// What people say in its annotations.
    drain: bool,
    rebalance: bool,
}

/// The AcceptAPIs of one provider.
#[derive(Debug, Clone, Default)]
struct Own {
    entries: BTreeMap<AcceptId, Arc<Entry>>,
    /// A provider's own word says which kind a resource is there, so each has resources of its own.
    by_resource: HashMap<Arc<Gvr>, Arc<[Arc<Acceptance>]>>,
    /// All are in.
    known: bool,
}

/// All AcceptAPIs. Decisions work on one that does not change under them.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    providers: HashMap<ClusterName, Arc<Own>>,
    /// Providers with an AcceptAPI for a resource.
    speaking: HashMap<Arc<Gvr>, Arc<BTreeSet<ClusterName>>>,
    /// Providers with an AcceptAPI that has an expression.
    evaluating: BTreeSet<ClusterName>,
}

impl Registry {
    /// AcceptAPIs of a provider for a resource there.
    pub fn accepting(&self, provider: &ClusterName, gvr: &Gvr) -> &[Arc<Acceptance>] {
        let own = self.providers.get(provider);
        own.and_then(|own| own.by_resource.get(gvr)).map_or(&[], |accepting| accepting)
    }

    /// Providers with an AcceptAPI for a resource, in order.
    pub fn speaking(&self, gvr: &Gvr) -> impl Iterator<Item = &ClusterName> {
        self.speaking.get(gvr).into_iter().flat_map(|speaking| speaking.iter())
    }

    /// Whether any AcceptAPI has an expression: how long that takes is its writer's choice.
    pub fn evaluates(&self) -> bool {
        !self.evaluating.is_empty()
    }

    fn acceptance(&self, id: &AcceptId) -> Option<&Arc<Acceptance>> {
        self.entry(id)?.compiled.as_ref().ok()
    }

    /// Whether an AcceptAPI asks for its share of the objects that are placed already.
    pub fn rebalances(&self, id: &AcceptId) -> bool {
        self.acceptance(id).is_some_and(|acceptance| acceptance.rebalance)
    }

    /// How many objects an AcceptAPI holds at the most, if it limits that.
    pub fn capacity(&self, id: &AcceptId) -> Option<u64> {
        self.acceptance(id)?.capacity
    }

    /// How many objects of one consumer an AcceptAPI holds at the most, if it limits that.
    pub fn share(&self, id: &AcceptId) -> Option<u64> {
        self.acceptance(id)?.capacity_per_consumer
    }

    /// One AcceptAPI.
    pub fn entry(&self, id: &AcceptId) -> Option<&Arc<Entry>> {
        self.providers.get(&id.provider)?.entries.get(id)
    }

    /// Whether all AcceptAPIs of a provider are in.
    pub fn knows(&self, provider: &ClusterName) -> bool {
        self.providers.get(provider).is_some_and(|own| own.known)
    }

    /// The AcceptAPIs of a provider.
    pub fn entries_of(&self, provider: &ClusterName) -> impl Iterator<Item = (&AcceptId, &Arc<Entry>)> {
        self.providers.get(provider).into_iter().flat_map(|own| own.entries.iter())
    }

    fn own(&mut self, provider: &ClusterName) -> &mut Own {
        Arc::make_mut(self.providers.entry(provider.clone()).or_default())
    }

    /// Notes that all AcceptAPIs of a provider are in. Returns whether that is news.
    pub fn mark_known(&mut self, provider: &ClusterName) -> bool {
        !std::mem::replace(&mut self.own(provider).known, true)
    }

    /// Which of a provider's AcceptAPIs count, with these taken in: of each resource the [`MOST`] oldest, of all the `most`
    /// oldest, those of API groups that are `ours` before those of other brokers. What cannot be read is not among them.
    pub fn counting(
        &self,
        provider: &ClusterName,
        found: &Found,
        most: usize,
        ours: impl Fn(&str) -> bool,
    ) -> Vec<(AcceptId, bool)> {
        let held = self.entries_of(provider).filter(|(id, _)| !found.contains_key(id));
        let new = found.iter().filter_map(|(id, entry)| Some((id, entry.as_ref()?)));
        let mut all: Vec<(&AcceptId, &Gvr, &str)> =
            held.chain(new).filter_map(|(id, entry)| Some((id, entry.gvr.as_ref()?, &*entry.created))).collect();
        all.sort_by_key(|(id, gvr, created)| (!ours(&gvr.group), *created, *id));
        let (mut total, mut by_gvr) = (0, HashMap::<&Gvr, usize>::default());
        let counts = all.into_iter().map(|(id, gvr, _)| {
            let same = by_gvr.entry(gvr).or_default();
            let counts = *same < MOST && total < most;
            *same += usize::from(counts);
            total += usize::from(counts);
            (id.clone(), counts)
        });
        counts.collect()
    }

    /// Takes in what has become of a provider's AcceptAPIs. Returns the resources that are concerned.
    pub fn take(&mut self, provider: &ClusterName, found: Found) -> HashSet<Gvr> {
        let mut concerned: HashSet<Gvr> = HashSet::default();
        let own = self.own(provider);
        for (id, entry) in found {
            concerned.extend(entry.as_ref().and_then(|entry| entry.gvr.clone()));
            let before = match entry {
                Some(entry) => own.entries.insert(id, entry),
                None => own.entries.remove(&id),
            };
            concerned.extend(before.and_then(|entry| entry.gvr.clone()));
        }
        self.reindex(provider, &concerned);
        concerned
    }

    /// The platform's bounds for a provider are these now. Returns the resources that are concerned.
    pub fn bound(&mut self, provider: &ClusterName, policy: &Arc<Policy>) -> HashSet<Gvr> {
        let mut concerned: HashSet<Gvr> = HashSet::default();
        for entry in self.own(provider).entries.values_mut() {
            let Ok(acceptance) = &entry.compiled else { continue };
            if acceptance.policy() == Some(&**policy) {
                continue;
            }
            let bounded = Arc::new((**acceptance).clone().bounded(policy));
            concerned.insert(bounded.gvr.clone());
            *entry = Arc::new(Entry { compiled: Ok(bounded), ..(**entry).clone() });
        }
        self.reindex(provider, &concerned);
        concerned
    }

    /// A provider has left. Returns the resources that are concerned.
    pub fn remove_provider(&mut self, provider: &ClusterName) -> HashSet<Gvr> {
        let gone: Found = self.entries_of(provider).map(|(id, _)| (id.clone(), None)).collect();
        let concerned = self.take(provider, gone);
        self.providers.remove(provider);
        concerned
    }

    /// All resources of a provider that are concerned, in one pass.
    fn reindex(&mut self, provider: &ClusterName, concerned: &HashSet<Gvr>) {
        let own = self.own(provider);
        let mut evaluates = false;
        let mut accepting: HashMap<&Gvr, Vec<Arc<Acceptance>>> = HashMap::default();
        for acceptance in own.entries.values().filter_map(|entry| entry.compiled.as_ref().ok()) {
            evaluates |= acceptance.has_expression();
            if let Some(gvr) = concerned.get(&acceptance.gvr) {
                accepting.entry(gvr).or_default().push(Arc::clone(acceptance));
            }
        }
        own.by_resource.retain(|gvr, _| !concerned.contains(&**gvr));
        let accepting = accepting.into_iter().map(|(gvr, accepting)| (Arc::new(gvr.clone()), accepting.into()));
        own.by_resource.extend(accepting);
        if evaluates {
            self.evaluating.insert(provider.clone());
        } else {
            self.evaluating.remove(provider);
        }
        for gvr in concerned {
            let speaks = !self.accepting(provider, gvr).is_empty();
            self.set_speaking(provider, gvr, speaks);
        }
    }

    /// Notes whether a provider has an AcceptAPI for a resource.
    fn set_speaking(&mut self, provider: &ClusterName, gvr: &Gvr, speaks: bool) {
        if self.speaking.get(gvr).is_some_and(|speaking| speaking.contains(provider)) == speaks {
            return;
        }
        if !self.speaking.contains_key(gvr) {
            self.speaking.insert(Arc::new(gvr.clone()), Arc::default());
        }
        let Some(speaking) = self.speaking.get_mut(gvr).map(Arc::make_mut) else { return };
        if speaks {
            speaking.insert(provider.clone());
        } else {
            speaking.remove(provider);
        }
        if speaking.is_empty() {
            self.speaking.remove(gvr);
        }
    }
}

/// Where an AcceptAPI is in its provider.
pub fn accept_api_key(id: &AcceptId) -> ObjectKey {
    ObjectKey { namespace: Arc::clone(&id.namespace), name: Arc::clone(&id.name) }
}

impl Entry {
    /// What an AcceptAPI is, without compiling it. One that means what it meant before is the same as before.
    pub fn read(object: &Object, before: Option<&Arc<Self>>) -> Arc<Self> {
        let marks = object.marks().annotations;
        let says = |key: &str| marks.get(key).is_some_and(|value| value == keys::TRUE);
        let (drain, rebalance) = (says(keys::DRAIN), says(keys::REBALANCE));
        let value = match object.value() {
            Ok(value) => value,
            Err(error) => return Arc::new(Self::unreadable(&error.to_string())),
        };
        let generation = value["metadata"]["generation"].as_i64().unwrap_or_default();
        let version = Version { uid: object.uid.clone(), generation, drain, rebalance };
        if let Some(before) = before.filter(|before| before.version == version && !before.is_pending()) {
            return Arc::clone(before);
        }
        if let Some(excess) = object.excess {
            return Arc::new(Self { version, ..Self::unreadable(unread(excess).why()) });
        }
        let created = value["metadata"]["creationTimestamp"].as_str().unwrap_or_default().into();
        let (gvr, compiled) = match serde_json::from_value::<AcceptApi>(value) {
            Ok(api) => (Some(api.spec.gvr), Err(Vec::new())),
            Err(error) => (None, Err(vec![format!("cannot be read: {error}")])),
        };
        Arc::new(Self { version, created, open: gvr.is_some(), too_many: false, gvr, compiled })
    }

    /// One of which nothing is known but that something is wrong.
    pub fn unreadable(why: &str) -> Self {
        let version = Version { uid: Box::default(), generation: 0, drain: false, rebalance: false };
        let compiled = Err(vec![why.to_owned()]);
        Self { version, created: Box::default(), open: false, too_many: false, gvr: None, compiled }
    }

    /// Whether the machine was too busy to compile all of it: it is to be compiled again.
    pub fn is_pending(&self) -> bool {
        self.compiled.as_ref().is_ok_and(|acceptance| acceptance.is_pending())
    }

    /// Whether it is still to be compiled, if it counts.
    pub fn is_open(&self) -> bool {
        self.open || self.too_many
    }

    /// Compiled from this object, which may be newer than what was read: then a change of it is on its way.
    #[must_use]
    pub fn compiled(&self, id: &AcceptId, object: &Object, evaluator: &Evaluator, policy: &Arc<Policy>) -> Self {
        let compiled = match object.value().map(serde_json::from_value::<AcceptApi>) {
            Ok(Ok(api)) => Acceptance::compile(id.clone(), &api.spec, evaluator)
                .map(|acceptance| acceptance.annotated(self.version.drain, self.version.rebalance).bounded(policy))
                .map(Arc::new),
            Ok(Err(error)) => Err(vec![format!("cannot be read: {error}")]),
            Err(error) => Err(vec![error.to_string()]),
        };
        // What is indexed is what was compiled.
        let gvr = compiled.as_ref().map_or_else(|_| self.gvr.clone(), |acceptance| Some(acceptance.gvr.clone()));
        Self { open: false, too_many: false, compiled, gvr, ..self.clone() }
    }

    /// The same, not counting.
    #[must_use]
    pub fn left_out(&self) -> Self {
        let name = |gvr: &Gvr| format!("{}.{}.{}", gvr.resource, gvr.version, gvr.group);
        let what = self.gvr.as_ref().map_or_else(|| "this resource".to_owned(), name);
        let why = format!(
            "this cluster has more than {MOST} AcceptAPIs for {what}, or too many in all, and this one is not among the oldest; merge some, or delete what is not needed"
        );
        Self { open: false, too_many: true, compiled: Err(vec![why]), ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn provider() -> ClusterName {
        ClusterName::provider("p")
    }

    fn id(name: &str) -> AcceptId {
        AcceptId { provider: provider(), namespace: "n".into(), name: name.into() }
    }

    fn object(name: &str, resource: &str, generation: i64, minute: usize) -> Object {
        let text = serde_json::json!({
            "apiVersion": "broker.platform-mesh.io/v1alpha1", "kind": "AcceptAPI",
            "metadata": {"name": name, "namespace": "n", "uid": name, "resourceVersion": "1", "generation": generation,
                "creationTimestamp": format!("2026-01-01T{:02}:{:02}:00Z", minute / 60, minute % 60)},
            "spec": {"gvr": {"group": "g", "version": "v1", "resource": resource}},
        });
        crate::conventions::object(&text).1
    }

    fn read(names: impl Iterator<Item = (String, &'static str, usize)>) -> Found {
        names
            .map(|(name, resource, minute)| (id(&name), Some(Entry::read(&object(&name, resource, 1, minute), None))))
            .collect()
    }

    #[test]
    fn the_oldest_count_by_resource_and_in_all() {
        // The younger a name, the earlier in the alphabet.
        let many = |resource: &'static str| {
            (0..MOST + 3).map(move |age| (format!("{resource}-{:03}", 200 - age), resource, age))
        };
        let found = read(many("as").chain(many("bs")));
        let counting = Registry::default().counting(&provider(), &found, 2 * MOST, |_| true);
        let out: Vec<&str> = counting.iter().filter(|(_, counts)| !counts).map(|(id, _)| &*id.name).collect();
        assert_eq!(out, ["as-136", "bs-136", "as-135", "bs-135", "as-134", "bs-134"]);
        let counting = Registry::default().counting(&provider(), &found, MOST, |_| true);
        assert_eq!(counting.iter().filter(|(_, counts)| *counts).count(), MOST);
    }

    #[test]
    fn what_another_broker_serves_crowds_out_nothing() {
        let mut found = read((0..MOST).map(|age| (format!("others-{age}"), "others", age)));
        for entry in found.values_mut().flatten() {
            let gvr = Gvr { group: "elsewhere".into(), version: "v1".into(), resource: "others".into() };
            *entry = Arc::new(Entry { gvr: Some(gvr), ..(**entry).clone() });
        }
        found.extend(read(std::iter::once(("ours".to_owned(), "as", 1000))));
        let counting = Registry::default().counting(&provider(), &found, MOST, |group| group == "g");
        assert!(counting.contains(&(id("ours"), true)));
        assert_eq!(counting.iter().filter(|(_, counts)| *counts).count(), MOST);
    }

    #[test]
    fn what_means_the_same_is_the_same_and_what_was_left_out_is_compiled_when_it_counts() {
        let evaluator = Evaluator::new();
        let first = Entry::read(&object("a", "as", 1, 0), None);
        assert!(first.is_open() && first.compiled.is_err());
        assert!(Arc::ptr_eq(&first, &Entry::read(&object("a", "as", 1, 0), Some(&first))));
        assert!(!Arc::ptr_eq(&first, &Entry::read(&object("a", "as", 2, 0), Some(&first))));
        let out = first.left_out();
        assert!(out.too_many && out.is_open() && out.compiled.as_ref().is_err_and(|why| why[0].contains("as.v1.g")));
        let compiled = out.compiled(&id("a"), &object("a", "as", 1, 0), &evaluator, &Arc::default());
        assert!(!compiled.too_many && !compiled.is_open() && compiled.compiled.is_ok());
    }

    #[test]
    fn a_batch_is_indexed_by_resource_and_taken_out_again() {
        let evaluator = Evaluator::new();
        let mut registry = Registry::default();
        let compiled = |name: &str, resource: &'static str| {
            let object = object(name, resource, 1, 0);
            (
                id(name),
                Some(Arc::new(Entry::read(&object, None).compiled(&id(name), &object, &evaluator, &Arc::default()))),
            )
        };
        let gvr = |resource: &str| Gvr { group: "g".into(), version: "v1".into(), resource: resource.into() };
        let count = |registry: &Registry, resource: &str| registry.accepting(&provider(), &gvr(resource)).len();
        let all = [compiled("a", "as"), compiled("b", "bs"), compiled("c", "as")];
        assert_eq!(registry.take(&provider(), all.into()), HashSet::from_iter([gvr("as"), gvr("bs")]));
        assert_eq!((count(&registry, "as"), count(&registry, "bs")), (2, 1));
        assert!(registry.accepting(&ClusterName::provider("other"), &gvr("as")).is_empty());
        // It speaks of something else now: both are concerned.
        assert_eq!(registry.take(&provider(), [compiled("c", "bs")].into()).len(), 2);
        assert_eq!((count(&registry, "as"), count(&registry, "bs")), (1, 2));
        assert_eq!(registry.take(&provider(), [(id("a"), None)].into()), HashSet::from_iter([gvr("as")]));
        assert_eq!(count(&registry, "as"), 0);
        registry.mark_known(&provider());
        assert_eq!(registry.remove_provider(&provider()), HashSet::from_iter([gvr("bs")]));
        assert!(!registry.knows(&provider()) && registry.entries_of(&provider()).next().is_none());
        assert!(
            registry.providers.is_empty() && registry.speaking.is_empty() && !registry.evaluates(),
            "nothing is kept of one that has left"
        );
    }

    /// Whoever has one says how long decisions take.
    #[test]
    fn that_an_accept_api_has_an_expression_is_known_as_long_as_it_does() {
        let evaluator = Evaluator::new();
        let mut registry = Registry::default();
        let with = |name: &str, expression: Option<&str>| {
            let mut value = object(name, "as", 1, 0).value().unwrap();
            value["spec"]["expression"] = expression.into();
            let object = crate::conventions::object(&value).1;
            let compiled = Entry::read(&object, None).compiled(&id(name), &object, &evaluator, &Arc::default());
            assert!(compiled.compiled.is_ok(), "{compiled:?}");
            Found::from([(id(name), Some(Arc::new(compiled)))])
        };
        registry.take(&provider(), with("a", None));
        assert!(!registry.evaluates());
        registry.take(&provider(), with("b", Some("true")));
        assert!(registry.evaluates());
        registry.take(&provider(), with("a", Some("true")));
        registry.take(&provider(), with("b", None));
        assert!(registry.evaluates());
        registry.take(&provider(), Found::from([(id("a"), None)]));
        assert!(!registry.evaluates());
        registry.take(&provider(), with("b", Some("true")));
        registry.remove_provider(&provider());
        assert!(!registry.evaluates());
    }

    #[test]
    fn who_speaks_of_a_resource_is_known_and_what_was_read_before_does_not_change() {
        let evaluator = Evaluator::new();
        let gvr = Gvr { group: "g".into(), version: "v1".into(), resource: "as".into() };
        let speaking =
            |registry: &Registry| registry.speaking(&gvr).map(|name| name.name().to_owned()).collect::<Vec<_>>();
        let mut registry = Registry::default();
        let object = object("a", "as", 1, 0);
        for provider in ["two", "one", "three"].map(ClusterName::provider) {
            let id = AcceptId { provider: provider.clone(), ..id("a") };
            let open = Entry::read(&object, None);
            registry.take(&provider, [(id.clone(), Some(Arc::clone(&open)))].into());
            assert!(!speaking(&registry).contains(&provider.name().to_owned()), "it is not compiled");
            let compiled = open.compiled(&id, &object, &evaluator, &Arc::default());
            registry.take(&provider, [(id, Some(Arc::new(compiled)))].into());
        }
        assert_eq!(speaking(&registry), ["one", "three", "two"]);
        let before = registry.clone();
        let two = ClusterName::provider("two");
        registry.mark_known(&ClusterName::provider("one"));
        registry.remove_provider(&two);
        assert_eq!(speaking(&registry), ["one", "three"]);
        assert_eq!(speaking(&before), ["one", "three", "two"]);
        assert!(before.accepting(&two, &gvr).len() == 1 && !before.knows(&ClusterName::provider("one")));
    }
}
