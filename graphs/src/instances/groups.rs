//! `Groups`: in which versions API groups are served, for kinds that an inventory names and no graph does: it names them
//! without a version.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use broker_api::ClusterName;
use graphs_core::applyset::GroupKind;
use runtime_effect::kind::Kind;
use runtime_fleet::discover;
use tokio::runtime::Handle;
use tracing::debug;

use super::InstanceKey;
use crate::graphs::Graphs;

/// After so long an API server that did not answer is asked again.
const AGAIN: Duration = Duration::from_secs(2);

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
    /// It is being asked for; these wait.
    Asked(HashSet<InstanceKey>),
    Known(Arc<[String]>),
}

type Place = (ClusterName, String);

/// See the module.
pub struct Groups {
    all: Mutex<HashMap<Place, State>>,
    handle: Handle,
}

impl Groups {
    /// Nothing is known. Asks on this runtime.
    pub fn new(handle: Handle) -> Self {
        Self { all: Mutex::default(), handle }
    }

    fn all(&self) -> MutexGuard<'_, HashMap<Place, State>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A CRD of a group has changed: it may be served in other versions.
    pub fn forget(&self, cluster: &ClusterName, group: &str) {
        let place = (cluster.clone(), group.to_owned());
        let mut all = self.all();
        if matches!(all.get(&place), Some(State::Known(_))) {
            all.remove(&place);
        }
    }

    /// The versions of a group; `None`: `waits` is looked at once they are known.
    fn versions(&self, graphs: &Arc<Graphs>, group: &str, waits: &InstanceKey) -> Option<Arc<[String]>> {
        let place = (waits.cluster.clone(), group.to_owned());
        let mut all = self.all();
        match all.get_mut(&place) {
            Some(State::Known(versions)) => return Some(Arc::clone(versions)),
            Some(State::Asked(waiting)) => _ = waiting.insert(waits.clone()),
            None => {
                all.insert(place.clone(), State::Asked(HashSet::from([waits.clone()])));
                self.handle.spawn(ask(Arc::clone(graphs), place));
            }
        }
        None
    }

    fn take(&self, place: &Place, versions: Vec<String>) -> HashSet<InstanceKey> {
        match self.all().insert(place.clone(), State::Known(versions.into())) {
            Some(State::Asked(waiting)) => waiting,
            Some(State::Known(_)) | None => HashSet::new(),
        }
    }
}

async fn ask(graphs: Arc<Graphs>, place: Place) {
    let (cluster, group) = &place;
    let versions = loop {
        // One that has left is not asked for; what is asked for then is asked anew.
        let Some(cluster) = graphs.engaged(cluster) else {
            graphs.groups.all().remove(&place);
            return;
        };
        if let Some(connection) = cluster.connection() {
            match discover::versions(&connection.caller, group).await {
                Ok(versions) => break versions,
                Err(error) => debug!(group, %error, "cannot ask for the versions of a group"),
            }
        }
        tokio::time::sleep(AGAIN).await;
    };
    for key in graphs.groups.take(&place, versions) {
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
