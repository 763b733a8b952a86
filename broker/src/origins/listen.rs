//! From what happens in clusters to the origins that it concerns. Only looks up and enqueues: decisions come later.

use std::sync::Arc;

use broker_api::{ClusterName, Role};
use broker_core::naming::leading_hash;
use runtime_effect::kind::Kind;
use runtime_fleet::{
    GroupVersionKind,
    census::Census,
    fleet::Fleet,
    index::{Change, Index},
    kind::KindState,
    listener::{Listener, Selector},
    object::ObjectKey,
    sorted::Sort,
    subscription::Subscription,
};

use super::observe::BY_OWNER;
use crate::{broker::Broker, observer::interest, watches::Brokered};

/// Listens to all that concerns origins.
pub fn listen(broker: &Arc<Broker>, fleet: &Arc<Fleet>) -> Vec<Subscription> {
    let (consumers, providers) = (Selector::Role(Role::Consumer), Selector::Role(Role::Provider));
    let mut subscriptions = Vec::new();
    for brokered in &broker.watches.brokered {
        let objects = Objects { broker: Arc::clone(broker), brokered: brokered.clone() };
        subscriptions.push(fleet.listen(&consumers, &brokered.spec, &Arc::new(objects)));
        let copies = Copies { broker: Arc::clone(broker), brokered: brokered.clone() };
        subscriptions.push(fleet.listen(&providers, &brokered.spec, &Arc::new(copies)));
    }
    for related in &broker.watches.related {
        let copies = RelatedCopies { broker: Arc::clone(broker) };
        subscriptions.push(fleet.listen(&consumers, &related.target, &Arc::new(copies)));
        let sources = RelatedSources { broker: Arc::clone(broker) };
        subscriptions.push(fleet.listen(&providers, &related.source, &Arc::new(sources)));
    }
    subscriptions
}

/// Objects of a brokered kind, in consumers.
struct Objects {
    broker: Arc<Broker>,
    brokered: Brokered,
}

impl Listener for Objects {
    fn reads_again(&self) -> bool {
        true
    }

    fn changed(&self, index: &Index, change: &Change) {
        self.broker.brake.note(index.cluster(), change);
        self.broker.enqueue(Broker::origin_key(index.cluster(), &self.brokered.kind, &change.key));
    }

    fn completed(&self, index: &Index) {
        self.broker.enqueue_copies(&self.brokered, index.cluster());
    }

    fn kind(&self, cluster: &ClusterName, _gvk: &GroupVersionKind, state: &KindState) {
        if let KindState::Found(info) = state {
            self.broker.plurals.set(cluster, &self.brokered.kind, &info.plural);
        }
        self.broker.enqueue_consumer(cluster, Some(&self.brokered.kind));
    }
}

/// Related copies, in consumers.
struct RelatedCopies {
    broker: Arc<Broker>,
}

impl Listener for RelatedCopies {
    fn reads_again(&self) -> bool {
        true
    }

    fn sorts(&self) -> &'static [Sort] {
        &[BY_OWNER]
    }

    fn changed(&self, index: &Index, change: &Change) {
        self.broker.related_moved(index, change);
    }

    /// They are known now: those that nobody lists any more can go.
    fn completed(&self, index: &Index) {
        self.broker.enqueue_consumer(index.cluster(), None);
    }

    fn kind(&self, cluster: &ClusterName, gvk: &GroupVersionKind, _state: &KindState) {
        self.broker.enqueue_consumer(cluster, Some(&Kind::from(gvk)));
    }
}

/// Copies, and whatever else is of a brokered kind, in providers.
struct Copies {
    broker: Arc<Broker>,
    brokered: Brokered,
}

impl Listener for Copies {
    /// Those that are named like copies of an engaged consumer's objects. Copies of one that is engaged later are read when
    /// they are needed.
    fn keep(&self, _index: &Index, key: &ObjectKey) -> bool {
        leading_hash(&key.name).is_some_and(|(hash, _)| self.broker.consumer_by_hash(hash).is_some())
    }

    fn reads_again(&self) -> bool {
        true
    }

    fn census(&self) -> Option<Arc<Census>> {
        Some(Arc::clone(&self.brokered.copies))
    }

    fn ended(&self, cluster: &ClusterName) {
        self.broker.resettle(cluster, Some(&self.brokered.kind));
    }

    fn changed(&self, index: &Index, change: &Change) {
        let (broker, brokered) = (&self.broker, &self.brokered);
        broker.recount(index, brokered, change);
        for origin in broker.origins_of(brokered, &change.key, &[change.old.as_ref(), change.new.as_ref()]) {
            broker.enqueue(origin);
        }
        if change.new.is_none() {
            broker.copy_gone(index.cluster(), &change.key.namespace);
        }
    }

    fn incomplete(&self, index: &Index) {
        self.broker.resettle(index.cluster(), Some(&self.brokered.kind));
    }

    fn completed(&self, index: &Index) {
        let (broker, kind) = (&self.broker, &self.brokered.kind);
        broker.records.copies_known(index.cluster(), kind);
        broker.resettle(index.cluster(), Some(kind));
        broker.enqueue_concerned(index.cluster(), Some(kind));
        broker.enqueue_stranded(index.cluster(), Some(kind));
    }

    fn kind(&self, cluster: &ClusterName, _gvk: &GroupVersionKind, state: &KindState) {
        let (broker, kind) = (&self.broker, &self.brokered.kind);
        if let KindState::Found(info) = state {
            broker.plurals.set(cluster, kind, &info.plural);
        }
        broker.resettle(cluster, Some(kind));
        broker.enqueue_statuses(cluster);
        // Its CRDs are its own to edit, as often as it likes.
        for key in broker.records.concerned(cluster, Some(kind)) {
            broker.enqueue_later(key, cluster);
        }
    }
}

/// Related objects, in providers.
struct RelatedSources {
    broker: Arc<Broker>,
}

impl Listener for RelatedSources {
    /// Those that are listened to are read.
    fn keep(&self, _index: &Index, _key: &ObjectKey) -> bool {
        false
    }

    fn reads_again(&self) -> bool {
        true
    }

    fn changed(&self, index: &Index, change: &Change) {
        for origin in self.broker.records.interested(&interest(index, &change.key)) {
            self.broker.enqueue(origin);
        }
    }

    fn completed(&self, index: &Index) {
        self.broker.enqueue_concerned(index.cluster(), None);
    }
}
