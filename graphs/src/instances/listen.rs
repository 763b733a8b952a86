//! From what happens to instances, children and objects that are referred to, to the instances that it concerns. Only looks
//! up and enqueues.

use std::sync::{Arc, Weak};

use broker_api::{ClusterName, graphs::keys};
use graphs_core::applyset::GroupKind;
use runtime_effect::kind::Kind;
use runtime_fleet::{
    GroupVersionKind,
    index::{Change, Index, Lookup},
    kind::{KindState, SchemaNews},
    listener::{ClusterSelector, Listener},
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
pub fn listen(graphs: &Arc<Graphs>, selector: &ClusterSelector, need: &Need, spec: &Arc<WatchSpec>) -> Subscription {
    let (fleet, itself) = (graphs.fleet(), Arc::downgrade(graphs));
    match need {
        Need::Served(_) | Need::Kind(_) => {
            fleet.listen(selector, spec, &Arc::new(Nobody { graphs: itself, gvk: spec.gvk.clone() }))
        }
        Need::Children(_) => {
            fleet.listen(selector, spec, &Arc::new(Children { graphs: itself, gvk: spec.gvk.clone() }))
        }
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
struct Nobody {
    graphs: Weak<Graphs>,
    gvk: GroupVersionKind,
}

impl Listener for Nobody {
    fn changed(&self, _index: &Index, _change: &Change) {}

    fn ended(&self, cluster: &ClusterName) {
        if let Some(graphs) = self.graphs.upgrade() {
            graphs.watched_no_more(cluster, &self.gvk);
        }
    }
}

struct Instances {
    graphs: Weak<Graphs>,
    kind: Arc<GroupKind>,
}

impl Listener for Instances {
    fn changed(&self, index: &Index, change: &Change) {
        if let Some(graphs) = self.graphs.upgrade() {
            graphs.instance_changed(index.cluster(), &self.kind, change, None);
        }
    }

    /// RGDs tell whether they are served. Nobody tells again of instances that went while nobody could say what is there.
    fn completed(&self, index: &Index) {
        let Some(graphs) = self.graphs.upgrade() else { return };
        let cluster = index.cluster();
        graphs.look_at_definer(cluster, &self.kind);
        for key in graphs.instances.of_kind(cluster, &self.kind) {
            if index.get(&key.object) == Lookup::Absent {
                graphs.instances.enqueue(key);
            }
        }
    }

    fn incomplete(&self, index: &Index) {
        if let Some(graphs) = self.graphs.upgrade() {
            graphs.look_at_definer(index.cluster(), &self.kind);
        }
    }

    /// What its schema does not have is no part of a status: what it has now may be missing there.
    fn kind(&self, cluster: &ClusterName, _gvk: &GroupVersionKind, state: &KindState) {
        if let (KindState::Found(_), Some(graphs)) = (state, self.graphs.upgrade()) {
            graphs.instances.enqueue_kind(cluster, &self.kind);
        }
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

struct Children {
    graphs: Weak<Graphs>,
    gvk: GroupVersionKind,
}

impl Listener for Children {
    fn sorts(&self) -> &'static [Sort] {
        &[BY_SET]
    }

    fn changed(&self, index: &Index, change: &Change) {
        if let Some(graphs) = self.graphs.upgrade() {
            graphs.child_changed(index.cluster(), &Kind::from(&index.spec().gvk), change, None);
        }
    }

    /// All whose children they may be are looked at once, when all of them are known.
    fn listed(&self, _index: &Index, _change: &Change) {}

    fn completed(&self, index: &Index) {
        if let Some(graphs) = self.graphs.upgrade() {
            graphs.children_known(index.cluster(), &Kind::from(&index.spec().gvk));
        }
    }

    fn incomplete(&self, index: &Index) {
        self.completed(index);
    }

    fn kind(&self, cluster: &ClusterName, gvk: &GroupVersionKind, _state: &KindState) {
        if let Some(graphs) = self.graphs.upgrade() {
            graphs.children_known(cluster, &Kind::from(gvk));
        }
    }

    fn ended(&self, cluster: &ClusterName) {
        if let Some(graphs) = self.graphs.upgrade() {
            graphs.watched_no_more(cluster, &self.gvk);
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
            graphs.referred_changed(index.cluster(), &self.kind, change, None);
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

    fn ended(&self, cluster: &ClusterName) {
        if let Some(graphs) = self.graphs.upgrade() {
            graphs.watched_no_more(cluster, &self.kind.to_gvk());
        }
    }
}

impl Graphs {
    /// Looks at the RGD whose CRD defines a kind.
    fn look_at_definer(&self, cluster: &ClusterName, kind: &GroupKind) {
        if let Some(crd) = self.instances.generated.crd(cluster, kind) {
            self.look_at_crd(cluster, &crd);
        }
    }

    /// A watch of a kind has ended. If it was the last, nobody tells of the kind any more: what was told of it last may be wrong
    /// by the time that somebody asks.
    fn watched_no_more(&self, cluster: &ClusterName, gvk: &GroupVersionKind) {
        let is_told = self.engaged(cluster).is_some_and(|cluster| cluster.watches(gvk));
        if !is_told {
            self.kinds.take(cluster, gvk, &KindState::Unknown, SchemaNews::Same);
        }
    }

    /// The answer to a write changed an index, for the instance `but` if it is one that wrote. Its watches bring the same
    /// version and tell nobody.
    pub(crate) fn learned(
        &self,
        cluster: &ClusterName,
        spec: &Arc<WatchSpec>,
        change: &Change,
        but: Option<&InstanceKey>,
    ) {
        if **spec == *self.fixed.generated && *cluster == self.hub {
            return self.generated_changed(cluster, &change.key.name);
        }
        let kind = Kind::from(&spec.gvk);
        if spec.label_selector.is_some() {
            return self.child_changed(cluster, &kind, change, but);
        }
        let instances = Arc::new(group_kind(&kind));
        if self.instances.generated.version(cluster, &instances).is_some() {
            self.instance_changed(cluster, &instances, change, but);
        }
        self.referred_changed(cluster, &kind, change, but);
    }

    fn enqueue_instance(&self, key: InstanceKey, but: Option<&InstanceKey>) {
        if but != Some(&key) {
            self.instances.enqueue(key);
        }
    }

    fn instance_changed(
        &self,
        cluster: &ClusterName,
        kind: &Arc<GroupKind>,
        change: &Change,
        but: Option<&InstanceKey>,
    ) {
        let key = InstanceKey { cluster: cluster.clone(), kind: Arc::clone(kind), object: change.key.clone() };
        if change.new.is_some() {
            self.instances.of(&key);
        }
        // An RGD that takes its instances with it, or lets them go, waits for that.
        let is_other = |new: &Arc<Object>| change.old.as_ref().is_some_and(|old| old.uid != new.uid);
        let is_gone = change.new.as_ref().is_none_or(is_other);
        let is_waited_for = || self.spokes.is_departed_from(cluster) && self.serving.of(cluster, kind).is_none();
        if is_gone || is_waited_for() {
            self.look_at_definer(cluster, kind);
        }
        self.enqueue_instance(key, but);
    }

    fn child_changed(&self, cluster: &ClusterName, kind: &Kind, change: &Change, but: Option<&InstanceKey>) {
        let both = [&change.old, &change.new].into_iter().flatten();
        let mut owners: Vec<InstanceKey> = both.filter_map(|object| instance_of(cluster, &object.marks())).collect();
        owners.dedup();
        for key in owners {
            self.enqueue_instance(key, but);
        }
        // Others may wait for what is not theirs to go.
        self.referred_changed(cluster, kind, change, but);
    }

    /// An object changed to which instances may refer.
    fn referred_changed(&self, cluster: &ClusterName, kind: &Kind, change: &Change, but: Option<&InstanceKey>) {
        let labels = || [&change.old, &change.new].into_iter().flatten().map(|object| object.marks().labels).collect();
        for key in self.instances.references.concerned(cluster, kind, &change.key, labels) {
            self.enqueue_instance(key, but);
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
                Holder::Compiling(_) | Holder::Distributing(_) | Holder::Generated(..) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{conventions::CONVENTIONS, definitions::DefinitionKey};

    fn object(uid: &str) -> Object {
        let raw = format!(r#"{{"metadata":{{"name":"one","uid":"{uid}","resourceVersion":"1"}}}}"#);
        Object::parse(raw.as_bytes(), None, &CONVENTIONS).unwrap().1
    }

    #[tokio::test]
    async fn an_instance_that_went_unseen_is_looked_at_once_that_is_known() {
        let (graphs, paris) = (Graphs::alone(), ClusterName::spoke("paris"));
        let kind = Kind { group: "kro.run".into(), version: "v1".into(), kind: "Web".into() };
        let cluster = graphs.engage_unreachable(&paris);
        let (need, selector) = (Need::Instances(kind.clone()), ClusterSelector::Name(paris.clone()));
        let _listens = listen(&graphs, &selector, &need, &need.spec());
        let index = cluster.index(&need.spec()).unwrap();
        let instances = Instances { graphs: Arc::downgrade(&graphs), kind: Arc::new(group_kind(&kind)) };
        let key = |name: &str| {
            let object = ObjectKey::new("", name);
            InstanceKey { cluster: paris.clone(), kind: Arc::clone(&instances.kind), object }
        };
        graphs.instances.of(&key("one"));
        graphs.instances.of(&key("gone"));
        let looks = || {
            instances.completed(&index);
            graphs.instances.queue().stats().adds
        };
        assert_eq!(looks(), 0, "nobody knows");
        index.replace(vec![(key("one").object, object("a"))], 1);
        assert_eq!(looks(), 1);
    }

    /// It may be served again, and nobody would tell.
    #[tokio::test]
    async fn what_was_told_of_a_kind_is_forgotten_with_its_last_watch() {
        let (graphs, paris) = (Graphs::alone(), ClusterName::spoke("paris"));
        graphs.engage_unreachable(&paris);
        let kind = Kind { group: "parts.io".into(), version: "v1".into(), kind: "Part".into() };
        for need in [
            Need::Children(kind.clone()),
            Need::Served(kind.clone()),
            Need::Kind(kind.clone()),
            Need::References(kind.clone()),
        ] {
            let watch = listen(&graphs, &ClusterSelector::Name(paris.clone()), &need, &need.spec());
            graphs.kinds.take(&paris, &kind.to_gvk(), &KindState::Missing, SchemaNews::Same);
            assert!(graphs.kinds.is_missing(&paris, &kind));
            drop(watch);
            assert!(!graphs.kinds.is_known(&paris, &kind), "{need:?}");
        }
    }

    #[tokio::test]
    async fn an_instance_is_told_to_those_that_wait_for_it() {
        let (graphs, paris, rome) = (Graphs::alone(), ClusterName::spoke("paris"), ClusterName::spoke("rome"));
        let kind = Kind { group: "kro.run".into(), version: "v1".into(), kind: "Web".into() };
        let (own, crd) = (graphs.hub_key(&"web".into()), Arc::from("webs.kro.run"));
        graphs.definitions.name(&own, None, &crd);
        graphs.instances.generated.set(&paris, &crd, Some(kind.clone()));
        let kind = Arc::new(group_kind(&kind));
        let looks = |old: Option<&str>, new: Option<&str>| {
            let key = ObjectKey::new("", "one");
            let change = Change { key, old: old.map(object).map(Arc::new), new: new.map(object).map(Arc::new) };
            let before = graphs.spokes.queue().stats().adds;
            graphs.instance_changed(&paris, &kind, &change, None);
            graphs.spokes.queue().stats().adds - before
        };
        let in_spoke = |cluster: &ClusterName| DefinitionKey { cluster: cluster.clone(), name: "web".into() };
        assert_eq!((looks(None, Some("a")), looks(Some("a"), Some("a"))), (0, 0), "nobody waits");
        assert_eq!((looks(Some("a"), None), looks(Some("a"), Some("b"))), (1, 1), "it is gone");
        graphs.spokes.departs(&in_spoke(&rome), true);
        assert_eq!(looks(Some("a"), Some("a")), 0, "another spoke is left");
        graphs.spokes.departs(&in_spoke(&paris), true);
        assert_eq!((looks(None, Some("a")), looks(Some("a"), Some("a"))), (1, 1));
        graphs.spokes.departs(&in_spoke(&paris), false);
        assert_eq!(looks(Some("a"), Some("a")), 0, "it is left no more");
    }
}
