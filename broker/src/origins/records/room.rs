//! `Room`: what there is only so much of, and who has it: places at AcceptAPIs, a consumer's quota, turns to move.

use broker_core::{acceptance::AcceptId, decision::Decision, snapshot::OriginKey, turns::Turns};
use runtime_fleet::hashed::HashMap;

use super::{
    bounds::Bounds,
    record::{Record, accounts_at},
};
use crate::origins::{key::copy_key, quotas::Quotas, strays::Strays};

/// What is given to one of several who ask at the same time.
#[derive(Default)]
pub(super) struct Room {
    /// Origins that count for each AcceptAPI.
    counts: HashMap<AcceptId, u64>,
    pub(super) quotas: Quotas,
    pub(super) turns: Turns,
    pub(super) strays: Strays,
}

/// What an origin has had and has no longer, or has now.
pub(super) struct Given {
    /// The AcceptAPI that it no longer counts for.
    pub(super) freed: Option<AcceptId>,
    /// The AcceptAPI that it counts for and did not before.
    pub(super) taken: Option<AcceptId>,
    /// Its consumer had as many objects as it may have, and has one less now.
    pub(super) relieved: bool,
    /// Origins whose turn to move has come.
    pub(super) turns: Vec<OriginKey>,
}

impl Room {
    /// How many origins count for an AcceptAPI.
    pub(super) fn count(&self, id: &AcceptId) -> u64 {
        self.counts.get(id).copied().unwrap_or_default()
    }

    /// What is held for an AcceptAPI beside its own origins and this one.
    pub(super) fn strays(&self, id: &AcceptId, key: &OriginKey) -> u64 {
        self.strays.count(&id.provider, &key.gvk, || copy_key(key))
    }

    /// Whether there is still room for what a decision wants.
    pub(super) fn admits(&self, key: &OriginKey, record: &Record, decision: &Decision, bounds: Bounds<'_>) -> bool {
        let counted = record.counts_for(decision);
        let newly = counted.filter(|after| record.counted.as_ref() != Some(*after));
        if decision.begins {
            if let (Some(after), Some(capacity)) = (newly, bounds.capacity)
                && self.count(after) + self.strays(after, key) >= capacity
            {
                return false;
            }
            if !self.quotas.admits(&key.cluster, newly, !record.occupies, bounds) {
                return false;
            }
        }
        self.turns.admits(key, &record.place, record.moving.is_some(), decision, bounds.moves)
    }

    /// Takes in what an origin has after a decision, which is noted in its record.
    pub(super) fn give(
        &mut self,
        key: &OriginKey,
        record: &mut Record,
        decision: &Decision,
        bounds: Bounds<'_>,
    ) -> Given {
        let left = record.accounts_at().cloned();
        let counted = record.counts_for(decision).cloned();
        let taken = counted.as_ref().filter(|after| record.counted.as_ref() != Some(*after)).cloned();
        let place = record.place.after(decision);
        let turns = self.turns.take(key, &mut record.place, place, bounds.moves);
        let occupies = record.occupies(decision);
        let relieved = self.quotas.moved(
            &key.cluster,
            (record.occupies, record.counted.as_ref()),
            (occupies, counted.as_ref()),
            bounds.objects,
        );
        record.occupies = occupies;
        let freed = record.counted.take().filter(|before| Some(before) != counted.as_ref());
        if let Some(before) = &freed
            && let Some(count) = self.counts.get_mut(before)
        {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.counts.remove(before);
            }
        }
        if let Some(after) = &taken {
            *self.counts.entry(after.clone()).or_default() += 1;
        }
        // A copy counts for its origin, or else by itself.
        let came = accounts_at(counted.as_ref(), decision.state, decision.provider.as_ref());
        if left.as_ref() != came {
            let copy = copy_key(key);
            if let Some(left) = left.filter(|left| (bounds.holds)(left, &copy)) {
                self.strays.set(&left, &key.gvk, &copy, true);
            }
            if let Some(came) = came {
                self.strays.set(came, &key.gvk, &copy, false);
            }
        }
        record.counted = counted;
        Given { freed, taken, relieved, turns }
    }
}
