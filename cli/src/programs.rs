//! How answers are written for programs. What they hold is said by types, of which [`crate::schema`] makes the schemas.

use anyhow::Context as _;
use serde::Serialize;

/// As JSON.
pub(crate) fn json(value: &impl Serialize) -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(value).context("JSON")? + "\n")
}

/// As YAML.
pub(crate) fn yaml(value: &impl Serialize) -> anyhow::Result<String> {
    serde_saphyr::to_string(value).context("YAML")
}
