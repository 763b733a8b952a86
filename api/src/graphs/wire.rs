//! How fields are read and described that the derives do not know: free objects, and lists that may be null.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// Any JSON object; what is in it is for others to say.
pub type FreeObject = Map<String, Value>;

/// Null and absent mean the same.
pub(crate) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}

pub(crate) fn free_object_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
}

/// A list of maps with exactly one key each.
pub(crate) fn dimensions_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": {
            "type": "object",
            "description": "One dimension: the iterator's name, and the list it goes through, as ${…}.",
            "minProperties": 1,
            "maxProperties": 1,
            "additionalProperties": { "type": "string" },
        },
    })
}

/// The schema of a label selector, with its lists and itself replaced as a whole.
pub(crate) fn selector_schema(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = LabelSelector::json_schema(generator);
    schema.insert("x-kubernetes-map-type".to_owned(), "atomic".into());
    schema
}

/// Short names and categories: a set of at most 32 names that are DNS labels beginning with a letter.
pub(crate) fn names_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "maxItems": 32,
        "x-kubernetes-list-type": "set",
        "items": { "type": "string", "maxLength": 63, "pattern": "^[a-z]([-a-z0-9]*[a-z0-9])?$" },
    })
}
