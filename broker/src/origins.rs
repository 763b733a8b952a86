//! `Origins`: what is known of origins, and those to look at. Their machine goes from the watches to one observed origin, and
//! from its decision to writes; what is to be done is decided in [`broker_core::decide`].

mod copies;
mod holders;
pub mod identities;
pub(crate) mod key;
pub mod listen;
pub mod machine;
pub mod observe;
pub mod quotas;
pub mod records;
pub mod strays;
pub mod tell;
pub mod unsettled;
pub mod work;

use std::sync::Arc;

use broker_api::ClusterName;
use broker_core::snapshot::OriginKey;
use runtime_effect::kind::Kind;
use runtime_fleet::{
    index::{Change, Index},
    queue::Queue,
};

use self::{identities::Identities, records::Records, unsettled::Unsettled, work::Work};
use crate::gathered::Gathered;

/// Consumer objects of brokered kinds: what is known of them, and those to look at.
#[derive(Default)]
pub struct Origins {
    /// Those to look at.
    pub(crate) queue: Arc<Queue<Work>>,
    /// What is remembered of them.
    pub records: Records,
    /// Which API servers providers are.
    pub(crate) identities: Identities,
    /// Providers of which not all is known.
    pub(crate) unsettled: Unsettled,
    /// Namespaces of consumers in which a related copy has just gone, and nobody can say whose.
    unread_gone: Gathered<(ClusterName, Arc<str>)>,
}

impl Origins {
    /// Look at an origin.
    pub(crate) fn enqueue(&self, key: OriginKey) {
        self.queue.add(Work(key));
    }

    /// Look at an origin: its watch tells that this object of its own has changed.
    pub(crate) fn enqueue_told(&self, key: OriginKey, index: &Index, change: &Change) {
        self.queue.add_told(Work(key), index, change);
    }

    /// Look at an origin again because of a provider's doing: after everybody's own work, and in that provider's share of
    /// the time.
    pub(crate) fn enqueue_later(&self, key: OriginKey, cause: &ClusterName) {
        self.queue.add_later(Work(key), cause);
    }

    /// Look at each of these.
    pub(crate) fn enqueue_each(&self, keys: impl IntoIterator<Item = OriginKey>) {
        for key in keys {
            self.enqueue(key);
        }
    }

    /// Origins of a kind that are served by a provider, or wait for one, are looked at again.
    pub(crate) fn enqueue_concerned(&self, provider: &ClusterName, kind: Option<&Kind>) {
        self.enqueue_each(self.records.concerned(provider, kind));
    }

    /// Origins of a kind that wait for room.
    pub(crate) fn enqueue_waiting(&self, kind: &Kind) {
        self.enqueue_each(self.records.waiting(kind));
    }

    /// Origins of a consumer that nobody serves.
    pub(crate) fn enqueue_unplaced(&self, consumer: &ClusterName) {
        self.enqueue_each(self.records.unplaced(consumer));
    }

    /// All origins of a consumer cluster.
    pub(crate) fn enqueue_consumer(&self, consumer: &ClusterName, kind: Option<&Kind>) {
        self.enqueue_each(self.records.of_consumer(consumer, kind));
    }

    /// Origins that are on their way.
    pub(crate) fn enqueue_moving(&self) {
        self.enqueue_each(self.records.moving());
    }
}
