//! `BrokeredStatus`: the status that every brokered kind of this project has.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{condition::conditions_schema, gvk::Gvk};

/// What the provider says of the object. The broker copies it to the consumer as it is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BrokeredStatus {
    /// `Ready` from the provider; `Brokered`, `Accepted` and `Moving` from the broker.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions_schema")]
    pub conditions: Vec<Condition>,
    /// Objects that belong to this one, for example the Secret with its credentials, by a name of the provider's
    /// choice. The broker copies them to the consumer, if their kind is allowed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 64))]
    pub related_resources: BTreeMap<String, RelatedResource>,
    /// How the object does, in one word. A move to another provider waits until the new copy is `Available`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Availability")]
    pub status: Option<Availability>,
}

/// One object that belongs to a brokered object. It lives in the namespace of the brokered object.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct RelatedResource {
    /// What it is.
    pub gvk: Gvk,
    /// Its name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Its namespace. Must be the namespace of the brokered object; may be left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub namespace: Option<String>,
}

/// How a brokered object does. `Available` is what a move waits for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Availability {
    /// Nothing is known yet.
    #[default]
    Unknown,
    /// It is being made.
    Provisioning,
    /// It can be used.
    Available,
    /// It can be used, not as well as it should.
    Degraded,
    /// It is being deleted.
    Deleting,
    /// It cannot be used and will not mend by itself.
    Failed,
}
