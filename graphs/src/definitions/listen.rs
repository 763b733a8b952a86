//! From what happens to RGDs, their revisions and CRDs to the RGDs that it concerns. Only looks up and enqueues.

use std::{
    collections::BTreeSet,
    sync::{Arc, Weak},
};

use broker_api::ClusterName;
use graphs_core::{applyset::GroupKind, definition};
use runtime_fleet::{
    fleet::Fleet,
    index::{Change, Index, Lookup},
    listener::{ClusterSelector, Listener},
    object::{Object, ObjectKey},
    sorted::Sort,
    subscription::Subscription,
};

use super::{DefinitionKey, key::key_of};
use crate::{
    graphs::Graphs,
    instances::generated::{self, group_kind},
    rollouts::machine::ROLLOUTS,
    watches::{Holder, Need},
};

/// Revisions by the RGD that they are of.
pub const BY_DEFINITION: Sort = Sort { name: "definition", by: definition_of };

fn definition_of(object: &Object) -> Vec<Arc<str>> {
    let value = object.value().ok();
    let name = value.as_ref().and_then(|value| value.pointer("/spec/snapshot/name")?.as_str());
    name.map(Arc::from).into_iter().collect()
}

/// CRDs of ours by the kind that they define.
pub const BY_KIND: Sort = Sort { name: "kind", by: kind_of };

fn kind_of(crd: &Object) -> Vec<Arc<str>> {
    let kind = crd.value().ok().and_then(|crd| generated::defined_kind(&crd));
    kind.map(|kind| sorted_kind(&kind).into()).into_iter().collect()
}

/// A kind, as CRDs are sorted by it.
pub fn sorted_kind(kind: &GroupKind) -> String {
    format!("{}.{}", kind.kind, kind.group)
}

/// Listens to all that concerns RGDs.
pub fn listen(graphs: &Arc<Graphs>, fleet: &Arc<Fleet>) -> Vec<Subscription> {
    let hub = ClusterSelector::Name(graphs.hub.clone());
    let itself = Arc::downgrade(graphs);
    let fixed = &graphs.fixed;
    vec![
        fleet.listen(&hub, &fixed.definitions, &Arc::new(Definitions(Weak::clone(&itself)))),
        fleet.listen(&hub, &fixed.revisions, &Arc::new(Revisions(Weak::clone(&itself)))),
        fleet.listen(&hub, &fixed.generated, &Arc::new(Generated(Weak::clone(&itself)))),
        fleet.listen(&hub, &fixed.crds, &Arc::new(Crds(itself))),
    ]
}

struct Definitions(Weak<Graphs>);

impl Listener for Definitions {
    fn changed(&self, index: &Index, change: &Change) {
        let Some(graphs) = self.0.upgrade() else { return };
        graphs
            .definitions
            .enqueue(DefinitionKey { cluster: index.cluster().clone(), name: Arc::clone(&change.key.name) });
    }

    /// Which RGDs are there is known (again): what is of them, here and in spokes, may have been listed before.
    fn completed(&self, _index: &Index) {
        if let Some(graphs) = self.0.upgrade() {
            graphs.look_at_all();
        }
    }
}

struct Revisions(Weak<Graphs>);

impl Listener for Revisions {
    fn sorts(&self) -> &'static [Sort] {
        &[BY_DEFINITION]
    }

    fn changed(&self, index: &Index, change: &Change) {
        let Some(graphs) = self.0.upgrade() else { return };
        let named = [&change.old, &change.new].into_iter().flatten().flat_map(|object| definition_of(object));
        for name in named.collect::<BTreeSet<_>>() {
            graphs.definitions.enqueue(DefinitionKey { cluster: index.cluster().clone(), name });
        }
    }

    /// They are known (again): a spoke that is to run one may have been looked at before.
    fn completed(&self, _index: &Index) {
        if let Some(graphs) = self.0.upgrade() {
            graphs.look_at_all();
        }
    }
}

/// CRDs of ours.
struct Generated(Weak<Graphs>);

impl Listener for Generated {
    fn sorts(&self) -> &'static [Sort] {
        &[BY_KIND]
    }

    fn changed(&self, index: &Index, change: &Change) {
        if let Some(graphs) = self.0.upgrade() {
            graphs.generated_changed(index.cluster(), &change.key.name);
        }
    }

    fn completed(&self, _index: &Index) {
        if let Some(graphs) = self.0.upgrade() {
            graphs.definitions.enqueue_all();
        }
    }
}

/// That there are CRDs, in the hub or in a spoke.
pub struct Crds(pub Weak<Graphs>);

impl Listener for Crds {
    fn keep(&self, _index: &Index, _key: &ObjectKey) -> bool {
        false
    }

    fn changed(&self, index: &Index, change: &Change) {
        let Some(graphs) = self.0.upgrade() else { return };
        if let Some((_, group)) = change.key.name.split_once('.') {
            graphs.groups.forget(index.cluster(), group);
        }
        graphs.look_at_crd(index.cluster(), &change.key.name);
        // Where the hub has no such CRD there are no rollouts, whatever was seen of them.
        let rollouts = format!("{ROLLOUTS}.{}", graphs.fixed.rollouts.gvk.group);
        if *index.cluster() == graphs.hub && *change.key.name == *rollouts {
            graphs.look_at_rollouts();
        }
    }

    fn completed(&self, index: &Index) {
        let Some(graphs) = self.0.upgrade() else { return };
        if *index.cluster() == graphs.hub {
            graphs.definitions.enqueue_all();
        } else {
            graphs.look_at_all_in(index.cluster());
        }
    }
}

impl Graphs {
    /// Looks at the RGDs whose CRD has this name in a cluster.
    pub(crate) fn look_at_crd(&self, cluster: &ClusterName, name: &str) {
        if *cluster != self.hub {
            return self.look_at_spoke(cluster, name);
        }
        for key in self.definitions.of_crd(name) {
            self.definitions.enqueue(key);
        }
    }

    /// A CRD of ours came, changed or went: its RGD is looked at, and its instances are watched as long as it serves them. What
    /// counts is what is there now: what is told, by the watch and by the answers to writes, may come in any order.
    pub(crate) fn generated_changed(&self, cluster: &ClusterName, name: &Arc<str>) {
        self.look_at_crd(cluster, name);
        let _turn = self.instances.generated.turn();
        let index = self.engaged(cluster).and_then(|cluster| cluster.index(&self.fixed.generated));
        let kind = match index.map_or(Lookup::Unknown, |index| index.get(&key_of(name))) {
            Lookup::Unknown => return,
            Lookup::Absent => None,
            Lookup::Found(crd) => match crd.value() {
                Ok(crd) => generated::kind_of(&crd),
                // It will be read again, and tell.
                Err(_) => return,
            },
        };
        // An RGD that has no CRD yet, or one that is not served: this one may be its own.
        if let Some(kind) = &kind {
            let made = definition::crd_name(&group_kind(kind), []);
            if made != **name && *cluster == self.hub {
                self.look_at_crd(cluster, &made);
            }
        }
        let holder = Holder::Generated(cluster.clone(), Arc::clone(name));
        let needs = kind.iter().map(|kind| Need::Instances(kind.clone())).collect();
        self.instances.generated.set(cluster, name, kind);
        self.need(&holder, cluster, needs);
    }
}

#[cfg(test)]
mod tests {
    use runtime_engine::machine::{Machine, Occasion};

    use super::*;
    use crate::definitions::machine::DefinitionMachine;

    /// Their finalizers are ours to take off.
    #[tokio::test]
    async fn an_rgd_that_is_gone_is_remembered_until_its_revisions_are_known() {
        let graphs = Graphs::alone();
        let hub = graphs.engage_unreachable(&graphs.hub);
        let _listens = listen(&graphs, graphs.fleet());
        let (machine, key) = (DefinitionMachine::new(Arc::clone(&graphs)), graphs.hub_key(&"web".into()));
        let forgets = || {
            graphs.definitions.of(&key);
            assert!(machine.decide(&key, &Occasion::default()).is_ok());
            !graphs.definitions.known().contains(&key)
        };
        hub.index(&graphs.fixed.definitions).unwrap().replace(Vec::new(), 1);
        assert!(!forgets());
        hub.index(&graphs.fixed.revisions).unwrap().replace(Vec::new(), 1);
        assert!(forgets());
    }

    #[tokio::test]
    async fn rollouts_are_looked_at_when_their_kind_comes_or_goes() {
        let graphs = Graphs::alone();
        let hub = graphs.engage_unreachable(&graphs.hub);
        let _listens = listen(&graphs, graphs.fleet());
        graphs.definitions.of(&graphs.hub_key(&"web".into()));
        let index = hub.index(&graphs.fixed.crds).unwrap();
        let looks = |crd: &str| {
            let before = graphs.rollouts.queue().stats().adds;
            Crds(Arc::downgrade(&graphs)).changed(&index, &Change { key: key_of(crd), old: None, new: None });
            graphs.rollouts.queue().stats().adds - before
        };
        assert_eq!(looks("webs.kro.run"), 0);
        assert_eq!(looks("resourcegraphrollouts.broker.platform-mesh.io"), 1);
    }
}
