//! The AcceptAPIs of all providers, compiled, as of now. Live: a change recompiles one and concerns few origins.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use broker_api::{AcceptApi, ClusterName, Gvr, keys};
use broker_core::{
    acceptance::{AcceptId, Acceptance},
    expression::Evaluator,
};
use broker_fleet::object::Object;

/// One AcceptAPI: compiled, or what is wrong with it.
#[derive(Debug, Clone)]
pub struct Entry {
    /// What was compiled.
    version: Version,
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

/// All AcceptAPIs. Cheap to clone, so that decisions work on one that does not change under them.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    entries: BTreeMap<AcceptId, Arc<Entry>>,
    by_gvr: HashMap<Gvr, Arc<[Arc<Acceptance>]>>,
    known: HashSet<ClusterName>,
    expressions: bool,
}

impl Registry {
    /// AcceptAPIs for a resource.
    pub fn accepting(&self, gvr: &Gvr) -> Arc<[Arc<Acceptance>]> {
        self.by_gvr.get(gvr).cloned().unwrap_or_default()
    }

    /// Whether an AcceptAPI asks for its share of the objects that are placed already.
    pub fn rebalances(&self, id: &AcceptId) -> bool {
        self.entries.get(id).is_some_and(|entry| entry.compiled.as_ref().is_ok_and(|acceptance| acceptance.rebalance))
    }

    /// How many objects an AcceptAPI holds at the most, if it limits that.
    pub fn capacity(&self, id: &AcceptId) -> Option<u64> {
        self.entries.get(id)?.compiled.as_ref().ok()?.capacity
    }

    /// How many objects of one consumer an AcceptAPI holds at the most, if it limits that.
    pub fn share(&self, id: &AcceptId) -> Option<u64> {
        self.entries.get(id)?.compiled.as_ref().ok()?.capacity_per_consumer
    }

    /// Whether judging objects may evaluate CEL.
    pub fn has_expressions(&self) -> bool {
        self.expressions
    }

    fn compiled(&self) -> impl Iterator<Item = &Arc<Acceptance>> {
        self.entries.values().filter_map(|entry| entry.compiled.as_ref().ok())
    }

    /// Whether all AcceptAPIs of a provider are in.
    pub fn knows(&self, provider: &ClusterName) -> bool {
        self.known.contains(provider)
    }

    /// All AcceptAPIs.
    pub fn entries(&self) -> impl Iterator<Item = (&AcceptId, &Arc<Entry>)> {
        self.entries.iter()
    }

    /// Notes that all AcceptAPIs of a provider are in. Returns whether that is news.
    pub fn mark_known(&mut self, provider: &ClusterName) -> bool {
        self.known.insert(provider.clone())
    }

    /// Takes a new version of an AcceptAPI, or its absence. Returns the resources that are concerned.
    pub fn update(&mut self, id: &AcceptId, object: Option<&Object>, evaluator: &Evaluator) -> Vec<Gvr> {
        let before = self.entries.get(id).cloned();
        let after = object.and_then(|object| {
            let entry = compile(id, object, evaluator, before.as_ref());
            match &before {
                Some(before) if before.version == entry.version => None,
                _ => Some(Arc::new(entry)),
            }
        });
        match (object.is_some(), after) {
            (true, None) => return Vec::new(),
            (true, Some(entry)) => {
                self.entries.insert(id.clone(), entry);
            }
            (false, _) => {
                self.entries.remove(id);
            }
        }
        let after = self.entries.get(id);
        let mut concerned: Vec<Gvr> =
            [before.as_ref(), after].into_iter().flatten().filter_map(|entry| entry.gvr.clone()).collect();
        concerned.dedup();
        for gvr in &concerned {
            self.reindex(gvr);
        }
        concerned
    }

    /// A provider has left. Returns the resources that are concerned.
    pub fn remove_provider(&mut self, provider: &ClusterName) -> Vec<Gvr> {
        self.known.remove(provider);
        let mut concerned: Vec<Gvr> = Vec::new();
        self.entries.retain(|id, entry| {
            let leaves = id.provider == *provider;
            if leaves && let Some(gvr) = entry.gvr.clone().filter(|gvr| !concerned.contains(gvr)) {
                concerned.push(gvr);
            }
            !leaves
        });
        for gvr in &concerned {
            self.reindex(gvr);
        }
        concerned
    }

    fn reindex(&mut self, gvr: &Gvr) {
        self.expressions = self.entries.values().any(|entry| entry.compiled.as_ref().is_ok_and(|a| a.has_expression()));
        let accepting: Vec<Arc<Acceptance>> =
            self.compiled().filter(|acceptance| acceptance.gvr == *gvr).cloned().collect();
        if accepting.is_empty() {
            self.by_gvr.remove(gvr);
        } else {
            self.by_gvr.insert(gvr.clone(), accepting.into());
        }
    }
}

fn compile(id: &AcceptId, object: &Object, evaluator: &Evaluator, before: Option<&Arc<Entry>>) -> Entry {
    let marks = object.marks().annotations;
    let says = |key: &str| marks.get(key).is_some_and(|value| value == keys::TRUE);
    let (drain, rebalance) = (says(keys::DRAIN), says(keys::REBALANCE));
    let version = |generation: i64| Version { uid: object.uid.clone(), generation, drain, rebalance };
    let value = match object.value() {
        Ok(value) => value,
        Err(error) => return Entry { version: version(0), gvr: None, compiled: Err(vec![error.to_string()]) },
    };
    let generation = value["metadata"]["generation"].as_i64().unwrap_or_default();
    if let Some(before) = before.filter(|before| before.version == version(generation)) {
        return (**before).clone();
    }
    match serde_json::from_value::<AcceptApi>(value) {
        Ok(api) => Entry {
            version: version(generation),
            gvr: Some(api.spec.gvr.clone()),
            compiled: Acceptance::compile(id.clone(), &api.spec, evaluator)
                .map(|acceptance| Arc::new(acceptance.annotated(drain, rebalance))),
        },
        Err(error) => {
            Entry { version: version(generation), gvr: None, compiled: Err(vec![format!("cannot be read: {error}")]) }
        }
    }
}
