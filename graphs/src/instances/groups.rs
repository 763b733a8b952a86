//! `Groups`: in which versions API groups are served, for kinds that an inventory names and no graph does: it names them
//! without a version.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use broker_api::ClusterName;
use graphs_core::applyset::GroupKind;
use runtime_effect::kind::Kind;
use runtime_fleet::{
    discover,
    hashed::{HashMap, HashSet},
};
use tokio::{runtime::Handle, sync::Semaphore, time::Instant};
use tracing::debug;

use super::InstanceKey;
use crate::{graphs::Graphs, kinds::GONE};

/// After so long an API server that did not answer is asked again.
const AGAIN: Duration = Duration::from_secs(2);

/// For so long an answer is believed that says that a group is not served: nothing tells of the groups of other API servers behind
/// this one.
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
    Known(Arc<[String]>),
    /// It is served in no version.
    Nowhere {
        /// When that was last said.
        since: Instant,
    },
}

type Place = (ClusterName, String);

/// See the module.
pub struct Groups {
    all: Mutex<HashMap<Place, State>>,
    /// By the cluster: one that does not answer holds up its own.
    turns: Mutex<HashMap<ClusterName, Arc<Semaphore>>>,
    handle: Handle,
}

impl Groups {
    /// Nothing is known. Asks on this runtime.
    pub fn new(handle: Handle) -> Self {
        Self { all: Mutex::default(), turns: Mutex::default(), handle }
    }

    fn all(&self) -> MutexGuard<'_, HashMap<Place, State>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn turns_of(&self, cluster: &ClusterName) -> Arc<Semaphore> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(turns.entry(cluster.clone()).or_insert_with(|| Arc::new(Semaphore::new(AT_ONCE))))
    }

    /// A CRD of a group has changed: it may be served in other versions.
    pub fn forget(&self, cluster: &ClusterName, group: &str) {
        let place = (cluster.clone(), group.to_owned());
        let mut all = self.all();
        match all.get_mut(&place) {
            Some(State::Asked { stale, .. }) => *stale = true,
            Some(State::Known(_) | State::Nowhere { .. }) => _ = all.remove(&place),
            None => {}
        }
    }

    /// The versions of a group; `None`: `waits` is looked at once they are known.
    fn versions(&self, graphs: &Arc<Graphs>, group: &str, waits: &InstanceKey) -> Option<Arc<[String]>> {
        let place = (waits.cluster.clone(), group.to_owned());
        let mut all = self.all();
        match all.get_mut(&place) {
            Some(State::Known(versions)) => return Some(Arc::clone(versions)),
            Some(State::Nowhere { since }) if since.elapsed() < BELIEVED => return Some(Arc::new([])),
            Some(State::Asked { waiting, .. }) => _ = waiting.insert(waits.clone()),
            Some(State::Nowhere { .. }) | None => {
                all.insert(place.clone(), State::Asked { waiting: HashSet::from_iter([waits.clone()]), stale: false });
                self.handle.spawn(ask(Arc::clone(graphs), place));
            }
        }
        None
    }

    /// Takes an answer in; who waited for it. `None`: it has to be asked again.
    fn take(&self, place: &Place, versions: Vec<String>) -> Option<HashSet<InstanceKey>> {
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
        let known = if is_nowhere { State::Nowhere { since: Instant::now() } } else { State::Known(versions.into()) };
        match all.insert(place.clone(), known) {
            Some(State::Asked { waiting, .. }) => Some(waiting),
            Some(State::Known(_) | State::Nowhere { .. }) | None => Some(HashSet::default()),
        }
    }
}

async fn ask(graphs: Arc<Graphs>, place: Place) {
    let (cluster, group) = &place;
    // An API server, or whoever stands before it, may say so for a moment of a group that it serves.
    let mut denied: Option<Instant> = None;
    let waiting = loop {
        // One that has left is not asked for; what is asked for then is asked anew.
        let Some(cluster) = graphs.engaged(cluster) else {
            graphs.groups.all().remove(&place);
            return;
        };
        if let Some(connection) = cluster.connection() {
            let turns = graphs.groups.turns_of(cluster.name());
            let _turn = turns.acquire().await;
            match discover::versions(&connection.caller, group).await {
                Ok(versions) if versions.is_empty() && denied.is_none_or(|since| since.elapsed() < GONE) => {
                    denied.get_or_insert_with(Instant::now);
                }
                Ok(versions) => match graphs.groups.take(&place, versions) {
                    Some(waiting) => break waiting,
                    None => denied = None,
                },
                Err(error) => debug!(group, %error, "cannot ask for the versions of a group"),
            }
        }
        tokio::time::sleep(if denied.is_some() { GONE } else { AGAIN }).await;
    };
    for key in waiting {
        graphs.instances.enqueue(key);
    }
}

impl Graphs {
    /// In which version objects of a kind are read that an instance's inventory names.
    pub(super) fn version_of(&self, key: &InstanceKey, kind: &GroupKind) -> Version {
        let cluster = &key.cluster;
        let known = self.instances.generated.version(cluster, kind).or_else(|| self.kinds.version(cluster, kind));
        if let Some(known) = known {
            return Version::Is(known);
        }
        let Some(versions) = self.groups.versions(&self.itself(), &kind.group, key) else { return Version::Unknown };
        let kind_in =
            |version: &String| Kind { group: kind.group.clone(), version: version.clone(), kind: kind.kind.clone() };
        let mut candidates = versions.iter().map(kind_in).filter(|kind| !self.kinds.is_missing(cluster, kind));
        candidates.next().map_or(Version::NotServed, Version::Is)
    }
}
