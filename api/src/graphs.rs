//! Kinds, keys and conditions of ResourceGraphDefinitions, as users of kro know them.
//!
//! Their CRDs are in `config/crd-graphs/`, apart from the broker's: kro may have brought the same ones, and who removes the
//! broker's CRDs is to keep them.

pub mod condition;
pub mod crds;
pub mod keys;
pub mod resource;
pub mod revision;
pub mod rgd;
pub mod rollout;
mod wave;
mod wire;

pub use resource::{ExternalRef, ExternalRefMetadata, Resource, Selector};
pub use revision::{GraphRevision, GraphRevisionSpec, GraphRevisionStatus, Snapshot};
pub use rgd::{
    CrdMetadata, Dependency, GeneratedSchema, GeneratedScope, ResourceGraphDefinition, ResourceGraphDefinitionSpec,
    ResourceGraphDefinitionStatus, ResourceInformation,
};
pub use rollout::{ResourceGraphRollout, ResourceGraphRolloutSpec, ResourceGraphRolloutStatus};
pub use wave::WaveState;
pub use wire::FreeObject;
