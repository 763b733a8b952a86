//! From what happens to instances, children and objects that are referred to, to the instances that it concerns. Only looks
//! up and enqueues.

use std::sync::{Arc, Weak};

use broker_api::{ClusterName, graphs::keys};
use graphs_core::applyset::GroupKind;
use runtime_effect::kind::Kind;
use runtime_fleet::{
    GroupVersionKind,
    index::{Change, Index},
    kind::KindState,
    listener::{Listener, Selector},
    object::{Marks, Object, ObjectKey},
    sorted::Sort,
    subscription::Subscription,
    watch::WatchSpec,
};

use super::{InstanceKey, generated::group_kind};
use crate::{
    graphs::Graphs,
    watches::{Holder, Need},
};

/// Children by the set that they are part of.
pub const BY_SET: Sort = Sort { name: "set", by: set_of };

fn set_of(object: &Object) -> Vec<Arc<str>> {
    let marks = object.marks();
    marks.labels.get(keys::APPLYSET_PART_OF).map(|set| Arc::from(set.as_str())).into_iter().collect()
}

/// Listens to what is needed.
pub fn listen(graphs: &Arc<Graphs>, selector: &Selector, need: &Need, spec: &Arc<WatchSpec>) -> Subscription {
    let (fleet, itself) = (graphs.fleet(), Arc::downgrade(graphs));
    match need {
        Need::Kind(_) => fleet.listen(selector, spec, &Arc::new(Nobody)),
        Need::Children(_) => fleet.listen(selector, spec, &Arc::new(Children(itself))),
        Need::References(kind) => {
            fleet.listen(selector, spec, &Arc::new(Referred { graphs: itself, kind: kind.clone() }))
        }
        Need::Instances(kind) => {
            let kind = Arc::new(group_kind(kind));
            fleet.listen(selector, spec, &Arc::new(Instances { graphs: itself, kind }))
        }
    }
}

/// Kinds are told of to all.
struct Nobody;

impl Listener for Nobody {
    fn changed(&self, _index: &Index, _change: &Change) {}
}

struct Instances {
    graphs: Weak<Graphs>,
    kind: Arc<GroupKind>,
}

impl Listener for Instances {
    fn changed(&self, index: &Index, change: &Change) {
        let Some(graphs) = self.graphs.upgrade() else { return };
        let (cluster, kind) = (index.cluster().clone(), Arc::clone(&self.kind));
        let key = InstanceKey { cluster, kind, object: change.key.clone() };
        if change.new.is_some() {
            graphs.instances.records.of(&key);
        }
        graphs.instances.enqueue(key);
    }

    /// RGDs tell whether they are served.
    fn completed(&self, index: &Index) {
        let Some(graphs) = self.graphs.upgrade() else { return };
        if let Some(crd) = graphs.instances.generated.crd(index.cluster(), &self.kind) {
            for key in graphs.definitions.records.of_crd(&crd) {
                graphs.definitions.enqueue(key);
            }
        }
    }

    fn incomplete(&self, index: &Index) {
        self.completed(index);
    }

    fn ended(&self, cluster: &ClusterName) {
        if let Some(graphs) = self.graphs.upgrade() {
            graphs.instances.enqueue_kind(cluster, &self.kind);
        }
    }
}

/// The instance that a child says it belongs to.
fn instance_of(cluster: &ClusterName, marks: &Marks) -> Option<InstanceKey> {
    // What is too long for a label is whole in an annotation.
    let text = |key: &str| marks.annotations.get(key).or_else(|| marks.labels.get(key));
    let (group, kind) = (text(keys::INSTANCE_GROUP)?.clone(), text(keys::INSTANCE_KIND)?.clone());
    let namespace = text(keys::INSTANCE_NAMESPACE).map(String::as_str).unwrap_or_default();
    let object = ObjectKey::new(namespace, text(keys::INSTANCE_NAME)?.as_str());
    Some(InstanceKey { cluster: cluster.clone(), kind: Arc::new(GroupKind { kind, group }), object })
}

struct Children(Weak<Graphs>);

impl Listener for Children {
    fn sorts(&self) -> &'static [Sort] {
        &[BY_SET]
    }

    fn changed(&self, index: &Index, change: &Change) {
        let Some(graphs) = self.0.upgrade() else { return };
        let both = [&change.old, &change.new].into_iter().flatten();
        let mut owners: Vec<InstanceKey> =
            both.filter_map(|object| instance_of(index.cluster(), &object.marks())).collect();
        owners.dedup();
        for key in owners {
            graphs.instances.enqueue(key);
        }
    }

    /// All whose children they may be are looked at once, when all of them are known.
    fn listed(&self, _index: &Index, _change: &Change) {}

    fn completed(&self, index: &Index) {
        if let Some(graphs) = self.0.upgrade() {
            graphs.children_known(index.cluster(), &Kind::from(&index.spec().gvk));
        }
    }

    fn incomplete(&self, index: &Index) {
        self.completed(index);
    }

    fn kind(&self, cluster: &ClusterName, gvk: &GroupVersionKind, _state: &KindState) {
        if let Some(graphs) = self.0.upgrade() {
            graphs.children_known(cluster, &Kind::from(gvk));
        }
    }
}

struct Referred {
    graphs: Weak<Graphs>,
    kind: Kind,
}

impl Listener for Referred {
    fn changed(&self, index: &Index, change: &Change) {
        if let Some(graphs) = self.graphs.upgrade() {
            graphs.referred_changed(index.cluster(), &self.kind, change);
        }
    }

    fn completed(&self, index: &Index) {
        if let Some(graphs) = self.graphs.upgrade() {
            graphs.look_at_users(index.cluster(), &Need::References(self.kind.clone()));
        }
    }

    fn incomplete(&self, index: &Index) {
        self.completed(index);
    }

    fn kind(&self, cluster: &ClusterName, _gvk: &GroupVersionKind, _state: &KindState) {
        if let Some(graphs) = self.graphs.upgrade() {
            graphs.look_at_users(cluster, &Need::References(self.kind.clone()));
        }
    }
}

impl Graphs {
    /// An object changed to which instances may refer.
    pub(crate) fn referred_changed(&self, cluster: &ClusterName, kind: &Kind, change: &Change) {
        let labels = || [&change.old, &change.new].into_iter().flatten().map(|object| object.marks().labels).collect();
        for key in self.instances.references.concerned(cluster, kind, &change.key, labels) {
            self.instances.enqueue(key);
        }
    }

    /// More, or less, is known of children of a kind than before.
    fn children_known(&self, cluster: &ClusterName, kind: &Kind) {
        self.look_at_users(cluster, &Need::Children(kind.clone()));
    }

    /// Looks at all instances for which something is watched.
    fn look_at_users(&self, cluster: &ClusterName, need: &Need) {
        for holder in self.needed.holders(&(cluster.clone(), need.clone())) {
            match holder {
                Holder::Serving(definition) => {
                    for kind in self.serving.kinds_of(&definition) {
                        self.instances.enqueue_kind(cluster, &kind);
                    }
                }
                Holder::Instance(key) => self.instances.enqueue(key),
                Holder::Compiling(_) | Holder::Generated(..) => {}
            }
        }
    }
}
