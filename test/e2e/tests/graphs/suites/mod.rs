//! kro's own end-to-end suite, suite by suite: what it asserts holds here, on YAML as its users write it.
//!
//! There is no HPA controller: its write of `spec.replicas` is made by a field manager of its name.

mod deployments;
mod objects;
mod references;
mod schemas;
mod stacks;
mod updates;

use e2e::{Kind, Object, kind::CRD};
use serde_json::json;

use crate::{conditions::rgd_conditions, kinds::FINALIZER, scene::Scene, tree::timeless};

/// Waits until an RGD is served; all that every suite asserts of it.
async fn accepted(scene: &Scene<'_>, kind: &Kind, order: &[&str]) -> Object {
    let seen = scene.served(kind).await;
    assert_eq!(seen.finalizers(), [FINALIZER], "{seen}");
    assert_eq!(seen.generation(), 1, "{seen}");
    assert_eq!(timeless(seen.at("/status/conditions")), rgd_conditions(kind.kind, 1, 1), "{seen}");
    let seen_order = seen.at("/status/topologicalOrder").as_array().cloned().unwrap_or_default();
    assert_eq!(json!(seen_order), json!(order), "{seen}");
    seen
}

/// Waits until an instance is active; all that every suite asserts of it.
async fn active(scene: &Scene<'_>, kind: &Kind, name: &str) -> Object {
    let seen = scene.active(kind, name).await;
    assert_eq!(seen.finalizers(), [FINALIZER], "{seen}");
    assert_eq!(seen.generation(), 1, "{seen}");
    assert_eq!(seen.label("kro.run/owned"), Some("true"), "{seen}");
    let rgd = scene.rgd_name(kind.kind);
    assert_eq!(seen.label("kro.run/resource-graph-definition-name"), Some(rgd.as_str()), "{seen}");
    seen
}

/// The CRD of a kind, written once and served.
async fn crd(scene: &Scene<'_>, kind: &Kind) -> Object {
    let seen = scene.place().get(&CRD, "", &format!("{}.{}", kind.plural, kind.group)).await;
    assert_eq!(seen.generation(), 1, "{seen}");
    assert!(seen.has("NamesAccepted", "True", "NoConflicts"), "{seen}");
    assert!(seen.has("Established", "True", "InitialNamesAccepted"), "{seen}");
    assert_eq!(seen.at("/status/storedVersions"), &json!(["v1alpha1"]), "{seen}");
    seen
}
