//! `Groups`: in which versions API groups are served, for kinds that an inventory names and no graph does: it names them
//! without a version.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use broker_api::ClusterName;
use runtime_effect::kind::Kind;
use runtime_fleet::hashed::{HashMap, HashSet};
use tokio::{sync::Semaphore, time::Instant};

use super::InstanceKey;

/// For so long an answer is believed that says that a group, or a kind in all of its versions, is not served: nothing tells of the
/// groups of other API servers behind this one.
const BELIEVED: Duration = Duration::from_mins(1);

/// So many groups of a cluster are asked for at once: people can write thousands of them.
const AT_ONCE: usize = 4;

/// Of groups that are not served, so many are remembered.
const KEPT: usize = 16 * 1024;

/// In which version a kind is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Version {
    /// Not known yet.
    Unknown,
    /// As this, as far as is known.
    Is(Kind),
    /// In none.
    NotServed,
}

enum State {
    /// It is being asked for.
    Asked {
        /// These wait.
        waiting: HashSet<InstanceKey>,
        /// One of its CRDs has changed since: the answer may be of before.
        stale: bool,
    },
    Known {
        versions: Arc<[String]>,
        /// When that was said.
        since: Instant,
    },
    /// It is served in no version.
    Nowhere {
        /// When that was last said.
        since: Instant,
    },
}

/// A group, in a cluster.
pub type Place = (ClusterName, String);

/// The versions of a group.
pub enum Versions {
    /// These; none: it is not served.
    Known(Arc<[String]>),
    /// They are being asked for.
    Asked,
    /// Now they are, and the caller does it.
    ToAsk(Place),
}

/// See the module.
#[derive(Default)]
pub struct Groups {
    all: Mutex<HashMap<Place, State>>,
    /// By the cluster: one that does not answer holds up its own.
    turns: Mutex<HashMap<ClusterName, Arc<Semaphore>>>,
}

impl Groups {
    fn all(&self) -> MutexGuard<'_, HashMap<Place, State>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// In which of them its groups are asked for.
    pub(super) fn turns_of(&self, cluster: &ClusterName) -> Arc<Semaphore> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(turns.entry(cluster.clone()).or_insert_with(|| Arc::new(Semaphore::new(AT_ONCE))))
    }

    /// A CRD of a group has changed: it may be served in other versions.
    pub fn forget(&self, cluster: &ClusterName, group: &str) {
        let place = (cluster.clone(), group.to_owned());
        let mut all = self.all();
        match all.get_mut(&place) {
            Some(State::Asked { stale, .. }) => *stale = true,
            Some(State::Known { .. } | State::Nowhere { .. }) => _ = all.remove(&place),
            None => {}
        }
    }

    /// The versions of a group, as they were said last.
    pub(super) fn said(&self, cluster: &ClusterName, group: &str) -> Option<Arc<[String]>> {
        match self.all().get(&(cluster.clone(), group.to_owned())) {
            Some(State::Known { versions, .. }) => Some(Arc::clone(versions)),
            _ => None,
        }
    }

    /// A kind is served in none of the versions of its group. Whether these are asked for once more, because that was last done
    /// long ago.
    pub(super) fn doubt(&self, cluster: &ClusterName, group: &str) -> bool {
        let place = (cluster.clone(), group.to_owned());
        let mut all = self.all();
        let is_old = matches!(all.get(&place), Some(State::Known { since, .. }) if since.elapsed() >= BELIEVED);
        if is_old {
            all.remove(&place);
        }
        is_old
    }

    /// The versions of a group. Where they are asked for, `waits` is among those that [`Groups::take`] returns.
    pub(super) fn versions(&self, group: &str, waits: &InstanceKey) -> Versions {
        let place = (waits.cluster.clone(), group.to_owned());
        let mut all = self.all();
        match all.get_mut(&place) {
            Some(State::Known { versions, .. }) => return Versions::Known(Arc::clone(versions)),
            Some(State::Nowhere { since }) if since.elapsed() < BELIEVED => return Versions::Known(Arc::new([])),
            Some(State::Asked { waiting, .. }) => {
                waiting.insert(waits.clone());
                return Versions::Asked;
            }
            Some(State::Nowhere { .. }) | None => {}
        }
        all.insert(place.clone(), State::Asked { waiting: HashSet::from_iter([waits.clone()]), stale: false });
        Versions::ToAsk(place)
    }

    /// It is not asked for any more.
    pub(super) fn drop_question(&self, place: &Place) {
        self.all().remove(place);
    }

    /// Takes an answer in; who waited for it. `None`: it has to be asked again.
    pub(super) fn take(&self, place: &Place, versions: Vec<String>) -> Option<HashSet<InstanceKey>> {
        let mut all = self.all();
        if let Some(State::Asked { stale, .. }) = all.get_mut(place)
            && std::mem::take(stale)
        {
            return None;
        }
        if all.len() > KEPT {
            all.retain(|_, state| !matches!(state, State::Nowhere { .. }));
        }
        let is_nowhere = versions.is_empty();
        let since = Instant::now();
        let known =
            if is_nowhere { State::Nowhere { since } } else { State::Known { versions: versions.into(), since } };
        match all.insert(place.clone(), known) {
            Some(State::Asked { waiting, .. }) => Some(waiting),
            Some(State::Known { .. } | State::Nowhere { .. }) | None => Some(HashSet::default()),
        }
    }
}
