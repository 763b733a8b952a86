//! `Resource`: one node of a graph, as people write it.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::KubeSchema;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use super::wire::{FreeObject, dimensions_schema, free_object_schema, or_default, selector_schema};

/// An object that each instance becomes, or one that they read.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = (
    "has(self.template) != has(self.externalRef)",
    "exactly one of template or externalRef must be provided"
))]
pub struct Resource {
    /// Name by which expressions know it, in lowerCamelCase.
    pub id: String,
    /// The object that is applied, with expressions in its values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "free_object_schema")]
    pub template: Option<FreeObject>,
    /// The object that is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_ref: Option<ExternalRef>,
    /// Expressions over this resource; it is ready when all of them are true, or when it exists if there are none.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub ready_when: Vec<String>,
    /// Expressions; the resource is made when all of them are true.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub include_when: Vec<String>,
    /// Makes a collection of it: one object for each combination of the elements of these lists.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "dimensions_schema")]
    pub for_each: Vec<BTreeMap<String, String>>,
}

/// Objects that are read and never written.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExternalRef {
    /// Group and version, such as `apps/v1`; `v1` for the core group.
    pub api_version: String,
    /// Kind, such as `Deployment`.
    pub kind: String,
    /// Which objects of the kind.
    pub metadata: ExternalRefMetadata,
}

/// Which objects of a kind: one by its name, or all that a selector matches.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[x_kube(validation = ("has(self.name) != has(self.selector)", "exactly one of name or selector must be provided"))]
pub struct ExternalRefMetadata {
    /// Name of the object. May be an expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub name: Option<String>,
    /// Labels of the objects. Their values may be expressions; the empty selector matches all objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<Selector>,
    /// Namespace. May be an expression. For one object the instance's own by default, for a selector all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// A label selector.
///
/// API servers admit the object form alone: a rule about a field that is object or text cannot be stated, and the rule
/// about `name` and `selector` is worth more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Selector {
    /// One expression that makes the selector.
    Expression(String),
    /// Labels and expressions over them.
    Labels(LabelSelector),
}

impl JsonSchema for Selector {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Selector".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        selector_schema(generator)
    }
}
