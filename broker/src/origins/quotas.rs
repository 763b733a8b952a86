//! Quotas: how many objects of one consumer are placed, in all and by each AcceptAPI.

use std::hash::Hash;

use broker_api::ClusterName;
use broker_core::acceptance::AcceptId;
use runtime_fleet::hashed::HashMap;

use super::records::bounds::Bounds;

/// Objects that are placed, by consumer.
#[derive(Default)]
pub struct Quotas {
    objects: HashMap<ClusterName, u64>,
    shares: HashMap<(AcceptId, ClusterName), u64>,
}

impl Quotas {
    /// Objects of a consumer.
    pub fn objects(&self, consumer: &ClusterName) -> u64 {
        self.objects.get(consumer).copied().unwrap_or_default()
    }

    /// Objects of a consumer that an AcceptAPI holds.
    pub fn share(&self, id: &AcceptId, consumer: &ClusterName) -> u64 {
        self.shares.get(&(id.clone(), consumer.clone())).copied().unwrap_or_default()
    }

    /// Whether one more fits: at an AcceptAPI where it did not count before, and in all, if it is new there.
    pub fn admits(&self, consumer: &ClusterName, at: Option<&AcceptId>, new: bool, bounds: Bounds<'_>) -> bool {
        let full = |count: u64, most: Option<u64>| most.is_some_and(|most| count >= most);
        !(at.is_some_and(|id| full(self.share(id, consumer), bounds.share))
            || new && full(self.objects(consumer), bounds.objects))
    }

    /// An object counts otherwise than before: whether at all, and for which AcceptAPI. Returns whether a consumer that
    /// had its most has one less now.
    pub fn moved(
        &mut self,
        consumer: &ClusterName,
        before: (bool, Option<&AcceptId>),
        after: (bool, Option<&AcceptId>),
        most: Option<u64>,
    ) -> bool {
        let full = most.is_some_and(|most| self.objects(consumer) >= most);
        if before.0 != after.0 {
            count(&mut self.objects, consumer.clone(), after.0);
        }
        if before.1 != after.1 {
            for (id, more) in [(before.1, false), (after.1, true)] {
                if let Some(id) = id {
                    count(&mut self.shares, (id.clone(), consumer.clone()), more);
                }
            }
        }
        full && before.0 && !after.0
    }
}

/// One more, or one less; nothing is kept of none.
fn count<K: Eq + Hash>(counts: &mut HashMap<K, u64>, key: K, more: bool) {
    if more {
        *counts.entry(key).or_default() += 1;
    } else if let Some(count) = counts.get_mut(&key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(&key);
        }
    }
}
