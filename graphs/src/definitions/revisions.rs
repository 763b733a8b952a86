//! What is known of an RGD and of its revisions, for other machines.

use std::sync::Arc;

use graphs_core::revision;
use runtime_effect::{kind::Kind, seen::Seen};
use runtime_engine::recorder::Regarding;
use runtime_fleet::{index::Lookup, lock::lock};

use super::{
    DefinitionKey,
    key::key_of,
    listen::BY_DEFINITION,
    record::{Newest, Number},
};
use crate::{compiled::Compiled, graphs::Graphs, instances::generated::group_kind, watches::Need};

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

    /// Number of the newest revision that compiles and that may take the place of what the hub has: which one all spokes get
    /// unless a rollout says otherwise. `None`: nobody can tell yet.
    pub(crate) fn admitted(&self, key: &DefinitionKey) -> Option<Number> {
        self.definitions.with(&self.hub_key(&key.name), |record| {
            let served = record.serves.as_ref().map(|(number, _)| *number);
            Some(if record.breaks? { served } else { record.newest_number()? })
        })?
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

    /// The numbers and uids of the revisions of an RGD, as far as they are known.
    fn issued(&self, key: &DefinitionKey) -> Vec<(i64, Box<str>)> {
        let index = self.engaged(&self.hub).and_then(|hub| hub.index(&self.fixed.revisions));
        let all = index.into_iter().flat_map(|index| {
            let keys = index.sorted(BY_DEFINITION.name, &key.name);
            let found: Vec<_> = keys.iter().filter_map(|key| index.get(key).found()).collect();
            found
        });
        all.filter_map(|issued| Some((issued.value().ok()?["spec"]["revision"].as_i64()?, issued.uid.clone())))
            .collect()
    }

    /// The numbers of the revisions of an RGD.
    pub(crate) fn revision_numbers(&self, key: &DefinitionKey) -> Vec<i64> {
        self.issued(key).into_iter().map(|(number, _)| number).collect()
    }

    /// Those revisions of an RGD that are known to compile, the newest first.
    pub(crate) fn compiled_revisions(&self, key: &DefinitionKey) -> Vec<(i64, Arc<Compiled>)> {
        let issued = self.issued(key);
        let Some(record) = self.definitions.get(&self.hub_key(&key.name)) else { return Vec::new() };
        let record = lock(&record);
        let compiled = |(number, uid): &(i64, Box<str>)| Some((*number, record.of(uid)?.compiled.clone()?));
        let mut all: Vec<_> = issued.iter().filter_map(compiled).chain(record.newest.clone().flatten()).collect();
        all.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
        all.dedup_by_key(|(number, _)| *number);
        all
    }

    /// Whether there is no revision of this number.
    pub(crate) fn is_unknown_revision(&self, key: &DefinitionKey, number: i64) -> bool {
        let index = self.engaged(&self.hub).and_then(|hub| hub.index(&self.fixed.revisions));
        let name = key_of(&revision::name(&key.name, number));
        index.is_some_and(|index| index.is_complete() && index.get(&name) == Lookup::Absent)
    }

    /// How many instances of an RGD say ERROR in the cluster of the key.
    pub(crate) fn errors(&self, key: &DefinitionKey) -> u32 {
        let Some((_, compiled)) = self.newest_revision(key) else { return 0 };
        let kind = group_kind(&Kind::from(&compiled.graph.kind));
        let failing = self.instances.verdicts.of(&key.cluster, &kind).errors;
        u32::try_from(failing).unwrap_or(u32::MAX)
    }

    /// How many instances of this kind, in the cluster of the key, were not read yet; `None`: they are not listed.
    pub(crate) fn unread(&self, key: &DefinitionKey, kind: Kind) -> Option<u32> {
        let read = self.instances.verdicts.of(&key.cluster, &group_kind(&kind)).read;
        let index =
            self.engaged(&key.cluster)?.index(&Need::Instances(kind).spec()).filter(|index| index.is_complete())?;
        u32::try_from(index.len().saturating_sub(read)).ok()
    }

    /// The RGD, for Events.
    pub(crate) fn regarding_definition(&self, key: &DefinitionKey) -> Option<Regarding> {
        let Seen::Present(rgd) = self.definition(key) else { return None };
        Some(Regarding::new(&key.cluster, Kind::from(&self.fixed.definitions.gvk), &key_of(&key.name), &rgd.uid))
    }
}
