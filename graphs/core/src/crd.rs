//! The CRD that an RGD generates: what it is to be, whose the one is that is there, and whether it may be changed.

mod bound;
mod change;
mod compare;
mod decide;
mod ownership;
mod same;
mod update;

use std::collections::BTreeMap;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use broker_api::graphs::{GeneratedSchema, keys};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceColumnDefinition;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

pub use self::{
    bound::{Bound, Step},
    change::{Change, ChangeKind},
    compare::{CompareError, Report, compare, compare_versions},
    decide::{Verdict, change, decide},
    ownership::{Ownership, is_owned, ownership, text_at},
    same::same,
    update::{digest_of, update},
};
use crate::{
    canonical::{self, MAX_DEPTH, TooDeep, is_within},
    labels,
};

/// Levels of JSON that a CRD has around the schemas of `spec` and `status`.
const AROUND: usize = 8;

/// The RGD that a CRD is made for, and who makes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner<'a> {
    /// Name of the RGD.
    pub name: &'a str,
    /// Uid of the RGD.
    pub uid: &'a str,
    /// Version of the controller, as it is told on objects.
    pub version: &'a str,
}

/// The CRD that is wanted, with its digest in annotation [`keys::CRD_DIGEST`].
///
/// `plural` is that of [`crate::plural`]; `spec` the schema of [`crate::simple_schema::to_open_api`]; `status` the fields
/// that the expressions of `schema.status` make, `{"type": "object", "properties": …}`.
pub fn desired(
    owner: Owner<'_>,
    schema: &GeneratedSchema,
    plural: &str,
    spec: &Value,
    status: &Value,
) -> Result<Value, TooDeep> {
    if !is_within(spec, MAX_DEPTH - AROUND) || !is_within(status, MAX_DEPTH - AROUND) {
        return Err(TooDeep);
    }
    let mut names = json!({
        "kind": schema.kind,
        "listKind": format!("{}List", schema.kind),
        "plural": plural,
        "singular": schema.kind.to_lowercase(),
    });
    if !schema.short_names.is_empty() {
        names["shortNames"] = json!(schema.short_names);
    }
    if !schema.categories.is_empty() {
        names["categories"] = json!(schema.categories);
    }
    let (labels, annotations) = metadata(owner, schema);
    let mut crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{}", schema.group()), "labels": labels, "annotations": annotations},
        "spec": {
            "group": schema.group(),
            "names": names,
            "scope": schema.scope.as_str(),
            "conversion": {"strategy": "None"},
            "versions": [{
                "name": schema.api_version,
                "served": true,
                "storage": true,
                "subresources": {"status": {}},
                "additionalPrinterColumns": columns(&schema.additional_printer_columns),
                "schema": {"openAPIV3Schema": {
                    "type": "object",
                    "properties": {
                        "apiVersion": {"type": "string"},
                        "kind": {"type": "string"},
                        "metadata": {"type": "object"},
                        "spec": spec,
                        "status": with_own_fields(status),
                    },
                }},
            }],
        },
    });
    let digest = digest(&crd)?;
    crd["metadata"]["annotations"][keys::CRD_DIGEST] = digest.into();
    Ok(crd)
}

/// Labels and annotations: those of the RGD's author, and over them ours.
fn metadata(owner: Owner<'_>, schema: &GeneratedSchema) -> (Map<String, Value>, Map<String, Value>) {
    let of = |texts: &BTreeMap<String, String>| -> Map<String, Value> {
        texts.iter().map(|(key, value)| (key.clone(), Value::from(value.as_str()))).collect()
    };
    let (mut all, mut annotations) = (of(&schema.metadata.labels), of(&schema.metadata.annotations));
    let version = labels::version(owner.version);
    let own = [
        (keys::OWNED, keys::TRUE),
        (keys::VERSION, version.as_ref()),
        (keys::RGD_ID, owner.uid),
        (keys::RGD_NAME, owner.name),
    ];
    for (key, text) in own {
        let label = labels::value(text);
        all.insert(key.to_owned(), Value::from(label.value.as_ref()));
        if let Some(whole) = label.whole {
            annotations.insert(key.to_owned(), whole.into());
        }
    }
    (all, annotations)
}

fn columns(own: &[CustomResourceColumnDefinition]) -> Value {
    if own.is_empty() {
        return json!([
            {
                "name": "State",
                "type": "string",
                "jsonPath": ".status.state",
                "description": "The state of a ResourceGraphDefinition instance",
            },
            {
                "name": "Ready",
                "type": "string",
                "jsonPath": r#".status.conditions[?(@.type=="Ready")].status"#,
                "description": "Whether a ResourceGraphDefinition instance is ready",
            },
            {
                "name": "Age",
                "type": "date",
                "jsonPath": ".metadata.creationTimestamp",
                "description": "Age of the resource",
            },
        ]);
    }
    own.iter().map(column).collect()
}

/// Without what API servers do not store: it would differ from what is there for ever.
fn column(own: &CustomResourceColumnDefinition) -> Value {
    let mut column = json!({"name": own.name, "type": own.type_, "jsonPath": own.json_path});
    let texts = [("description", &own.description), ("format", &own.format)];
    for (key, text) in texts {
        if let Some(text) = text.as_ref().filter(|text| !text.is_empty()) {
            column[key] = text.as_str().into();
        }
    }
    if let Some(priority) = own.priority.filter(|priority| *priority != 0) {
        column["priority"] = priority.into();
    }
    column
}

/// The status with the two fields that every instance has.
fn with_own_fields(status: &Value) -> Value {
    let mut status = status.as_object().cloned().unwrap_or_default();
    status.insert("type".to_owned(), "object".into());
    let properties = status.entry("properties").or_insert_with(|| json!({}));
    if !properties.is_object() {
        *properties = json!({});
    }
    properties["state"] = json!({"type": "string"});
    properties["conditions"] = json!({
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "type": {"type": "string"},
                "status": {"type": "string"},
                "reason": {"type": "string"},
                "message": {"type": "string"},
                "lastTransitionTime": {"type": "string"},
                "observedGeneration": {"type": "integer"},
            },
        },
    });
    Value::Object(status)
}

/// Digest of all that we want of a CRD, as in annotation [`keys::CRD_DIGEST`]: whoever sees only the metadata of the one that
/// is there can tell by it, and by its generation, whether it is the one that was wanted.
///
/// The version of the controller is left out: it alone is no reason to write.
pub fn digest(crd: &Value) -> Result<String, TooDeep> {
    let mut labels = crd["metadata"]["labels"].clone();
    let mut annotations = crd["metadata"]["annotations"].clone();
    if let (Some(labels), Some(annotations)) = (labels.as_object_mut(), annotations.as_object_mut()) {
        labels.remove(keys::VERSION);
        annotations.remove(keys::CRD_DIGEST);
    }
    let text = canonical::text(&json!({"labels": labels, "annotations": annotations, "spec": crd["spec"]}))?;
    Ok(format!("sha256:{}", URL_SAFE_NO_PAD.encode(Sha256::digest(text.as_bytes()))))
}
