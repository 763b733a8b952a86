//! The instance of which each spoke has one of its own.

use example_stage::{Place, Thing};
use serde_json::{Value, json};

/// An instance, for any spoke.
const YAML: &str = include_str!("../spoke/corner.yaml");
/// Its name.
pub(crate) const CORNER: &str = "corner";
/// Name of the ConfigMap that it becomes.
pub(crate) const WINDOW: &str = "corner-window";
/// What the second revision of the RGD adds to a greeting.
pub(crate) const ADDED: &str = ". Open until six";

/// The instance of a spoke.
pub(crate) fn shop(place: &Place) -> Thing {
    Thing::instance(place, "Shop", CORNER)
}

/// Somebody in the spoke makes it, with a greeting of the place.
pub(crate) async fn open(place: &Place) -> anyhow::Result<()> {
    place.apply(YAML).await?;
    greet(place, &greeting(place)).await
}

/// Somebody in the spoke edits it.
pub(crate) async fn greet(place: &Place, greeting: &str) -> anyhow::Result<()> {
    shop(place).edit(json!({"spec": {"greeting": greeting}})).await
}

/// What the instance of a spoke says at first.
pub(crate) fn greeting(place: &Place) -> String {
    format!("Welcome to {}", place.name())
}

/// Waits until it is `ACTIVE`, and has this text in its window.
pub(crate) async fn shows(place: &Place, text: &str) -> anyhow::Result<Value> {
    shop(place).until_active(|seen| seen["status"]["window"] == text).await
}
