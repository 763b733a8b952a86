//! Where an origin and its copies are: between the keys of objects and those of origins.

use std::sync::Arc;

use broker_api::ClusterName;
use broker_core::{copy, snapshot::OriginKey};
use runtime_effect::kind::Kind;
use runtime_fleet::object::ObjectKey;

/// The key of an object in a consumer.
pub(crate) fn origin_key(consumer: &ClusterName, kind: &Arc<Kind>, key: &ObjectKey) -> OriginKey {
    OriginKey {
        cluster: consumer.clone(),
        gvk: Arc::clone(kind),
        namespace: Arc::clone(&key.namespace),
        name: Arc::clone(&key.name),
    }
}

/// Where an origin is in its consumer.
pub(crate) fn object_key(origin: &OriginKey) -> ObjectKey {
    ObjectKey { namespace: Arc::clone(&origin.namespace), name: Arc::clone(&origin.name) }
}

/// Where the copy of an origin is at its provider.
pub(crate) fn copy_key(origin: &OriginKey) -> ObjectKey {
    ObjectKey { namespace: Arc::clone(&origin.namespace), name: copy::name(origin).into() }
}
