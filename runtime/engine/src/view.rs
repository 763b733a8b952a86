//! From what indexes hold to what decisions look at.

use std::sync::Arc;

use broker_api::ClusterName;
use runtime_effect::{
    seen::Seen,
    view::{Unread, View},
};
use runtime_fleet::{
    cluster::Cluster,
    index::Lookup,
    object::{Object, ObjectKey},
    shape::Excess,
    watch::WatchSpec,
};

use crate::engine::Engine;

/// What an object has too much of, as decisions have it.
pub fn unread(excess: Excess) -> Unread {
    match excess {
        Excess::Depth => Unread::Nested,
        Excess::Values => Unread::Complex,
    }
}

/// The object as it was seen. `None`: its body is not held, and nothing but its version is known.
pub fn view(object: &Object) -> Option<View> {
    let value = object.value().ok()?;
    Some(View {
        uid: object.uid.clone(),
        resource_version: object.resource_version,
        deleting: object.deleting,
        applied_by_us: object.applied_by_us,
        value: Arc::new(value),
        unread: object.excess.map(unread),
        conditions_known: object.holds_conditions,
    })
}

impl Engine {
    /// What a cluster's watch knows of an object. Of one that is not engaged nothing is known.
    pub fn seen(&self, cluster: &ClusterName, spec: &WatchSpec, key: &ObjectKey) -> Seen {
        self.fleet().cluster(cluster).map_or(Seen::Unknown, |cluster| self.look(&cluster, spec, key))
    }

    /// What a cluster's watch knows of an object. One whose body is not held is there, but says nothing: it is unknown until
    /// the worker has read it.
    pub fn look(&self, cluster: &Cluster, spec: &WatchSpec, key: &ObjectKey) -> Seen {
        let seen = |object: &Object| view(object).map_or(Seen::Unknown, Seen::Present);
        let Some(index) = cluster.index(spec) else { return Seen::Unknown };
        match index.get(key) {
            Lookup::Unknown => Seen::Unknown,
            Lookup::Absent => Seen::Absent,
            Lookup::Found(object) if object.has_body() => seen(&object),
            Lookup::Found(stub) => self.bodies.get(&index, key, &stub).map_or(Seen::Unknown, |object| seen(&object)),
        }
    }
}
