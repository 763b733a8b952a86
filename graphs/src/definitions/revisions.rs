//! What is known of an RGD and of its revisions, for other machines.

use std::sync::Arc;

use graphs_core::{instance::State, revision};
use runtime_effect::{kind::Kind, seen::Seen};
use runtime_engine::recorder::Regarding;
use runtime_fleet::{index::Lookup, lock::lock};

use super::{DefinitionKey, observe::key_of, record::Newest};
use crate::{compiled::Compiled, graphs::Graphs, instances::generated::group_kind, kinds::kind_of};

impl Graphs {
    /// Name of the CRD of an RGD.
    pub(crate) fn crd_of(&self, name: &Arc<str>) -> Option<Arc<str>> {
        self.definitions.with(&self.hub_key(name), |record| record.crd.clone())?
    }

    /// The newest revision of an RGD that compiles, and what it comes to.
    pub(crate) fn newest_revision(&self, key: &DefinitionKey) -> Option<(i64, Arc<Compiled>)> {
        self.known_newest(key)?
    }

    /// The same; `None`: nobody can tell yet.
    pub(crate) fn known_newest(&self, key: &DefinitionKey) -> Option<Newest> {
        self.definitions.with(&self.hub_key(&key.name), |record| record.newest.clone())?
    }

    /// What a revision comes to; `None`: that is not known, or it does not compile.
    pub(crate) fn compiled_revision(&self, key: &DefinitionKey, number: i64) -> Option<(i64, Arc<Compiled>)> {
        let record = self.definitions.get(&self.hub_key(&key.name))?;
        let record = lock(&record);
        let mut known = [record.serves.as_ref(), record.newest.as_ref().and_then(Option::as_ref)].into_iter().flatten();
        if let Some(known) = known.find(|(known, _)| *known == number) {
            return Some(known.clone());
        }
        let index = self.engaged(&self.hub)?.index(&self.fixed.revisions)?;
        let issued = index.get(&key_of(&revision::name(&key.name, number))).found()?;
        Some((number, record.of(&issued.uid)?.compiled.clone()?))
    }

    /// Whether there is no revision of this number.
    pub(crate) fn is_unknown_revision(&self, key: &DefinitionKey, number: i64) -> bool {
        let index = self.engaged(&self.hub).and_then(|hub| hub.index(&self.fixed.revisions));
        let name = key_of(&revision::name(&key.name, number));
        index.is_some_and(|index| index.is_complete() && index.get(&name) == Lookup::Absent)
    }

    /// How many instances of an RGD are in ERROR in the cluster of the key.
    pub(crate) fn errors(&self, key: &DefinitionKey) -> u32 {
        let Some((_, compiled)) = self.newest_revision(key) else { return 0 };
        let kind = group_kind(&kind_of(&compiled.graph.kind));
        let fails = |key: &_| self.instances.with(key, |record| record.state == State::Error) == Some(true);
        let all = self.instances.of_kind(&key.cluster, &kind).into_iter();
        u32::try_from(all.filter(fails).count()).unwrap_or(u32::MAX)
    }

    /// The RGD, for Events.
    pub(crate) fn regarding_definition(&self, key: &DefinitionKey) -> Option<Regarding> {
        let Seen::Present(rgd) = self.definition(key) else { return None };
        Some(Regarding::new(&key.cluster, Kind::from(&self.fixed.definitions.gvk), &key_of(&key.name), &rgd.uid))
    }
}
