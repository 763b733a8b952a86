//! `Served`: a cluster, as its API server knows it.

use broker_api::ClusterName;
use kube::core::GroupVersionKind;

use crate::{
    audience::Audience,
    index::Doubt,
    kind::{KindState, SchemaNews},
};

/// Is told what becomes of its API server, and what that sees of its CRDs.
pub(crate) trait Served: Audience {
    /// Its name.
    fn name(&self) -> &ClusterName;

    /// Something is new of how the server is reached.
    fn tell_state(&self);

    /// A kind is not served (any more): nobody can say what there is of it.
    fn mark_incomplete(&self, gvk: &GroupVersionKind);

    /// Nobody can say what there is of anything until it is listed again, and why.
    fn doubt(&self, why: Doubt);

    /// Something is new of a kind.
    fn tell_kind(&self, gvk: &GroupVersionKind, state: &KindState, schema: SchemaNews<'_>);
}
