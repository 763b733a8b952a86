//! Kinds that these tests use, and names that kro fixed.

use crate::{Kind, Object};

/// `ResourceGraphDefinition`.
pub const RGD: Kind =
    Kind { group: "kro.run", version: "v1alpha1", kind: "ResourceGraphDefinition", plural: "resourcegraphdefinitions" };
/// `GraphRevision`.
pub const REVISION: Kind =
    Kind { group: "internal.kro.run", version: "v1alpha1", kind: "GraphRevision", plural: "graphrevisions" };
/// `Deployment`.
pub const DEPLOYMENT: Kind = Kind { group: "apps", version: "v1", kind: "Deployment", plural: "deployments" };
/// `Service`.
pub const SERVICE: Kind = Kind::core("Service", "services");

/// The finalizer on RGDs, revisions and instances.
pub const FINALIZER: &str = "kro.run/finalizer";
/// Field manager of children.
pub const MANAGER: &str = "kro.run/applyset";

/// A kind that is made while tests run.
pub fn kind(group: &str, kind: &str, plural: &str) -> Kind {
    let leak = |text: &str| -> &'static str { Box::leak(text.to_owned().into_boxed_str()) };
    Kind { group: leak(group), version: "v1alpha1", kind: leak(kind), plural: leak(plural) }
}

/// Whether an instance says that all of it is there, and says so of what it is now.
pub fn is_active(seen: &Object) -> bool {
    seen.text("/status/state") == "ACTIVE" && is_ready(seen)
}

/// Whether condition Ready is True for the generation that is seen.
pub fn is_ready(seen: &Object) -> bool {
    let conditions = seen.at("/status/conditions").as_array();
    conditions.into_iter().flatten().any(|condition| {
        condition["type"] == "Ready"
            && condition["status"] == "True"
            && condition["observedGeneration"] == seen.generation()
    })
}

/// Whether an RGD is served as it is now.
pub fn is_served(seen: &Object) -> bool {
    seen.text("/status/state") == "Active" && is_ready(seen)
}
