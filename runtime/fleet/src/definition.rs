//! `Definition`: the CRD that defines a kind, and the schema that its API server makes of it.

use std::{
    borrow::Cow,
    hash::{DefaultHasher, Hash as _, Hasher as _},
};

use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Map, Value, json, value::RawValue};

use crate::{
    call::{Answer, Caller, JSON, OBJECT_LIMIT, get},
    each::within,
    error::{CallError, cut},
    inliner::{Schemas, inline},
    kind::{KindInfo, KindSchema},
    object::Object,
    query::push_query,
};

/// An [`edition`] of a CRD, and a version at which the CRD is that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Edition {
    pub(crate) edition: u64,
    pub(crate) resource_version: u64,
}

impl Edition {
    /// Of a CRD.
    pub(crate) fn of(crd: &Object) -> Self {
        let resource_version = crd.resource_version;
        Self { edition: edition(&crd.uid, crd.generation, resource_version), resource_version }
    }
}

/// What is read of a CRD for one kind.
pub(crate) struct Definition {
    /// Which [`edition`] of the CRD this is; 0: nothing is to be concluded from it.
    pub(crate) version: u64,
    /// As the API server publishes it in OpenAPI.
    pub(crate) schema: KindSchema,
}

/// The name that the CRD of a kind has to have.
pub(crate) fn name_of(kind: &KindInfo) -> String {
    format!("{}.{}", kind.plural, kind.gvk.group)
}

/// Reads the CRD of a kind, if it comes from one: a list with this one object. To list CRDs is allowed wherever they are
/// watched; to `get` one would be one permission more.
pub(crate) async fn read(caller: &Caller, kind: &KindInfo) -> Result<Answer, CallError> {
    let mut path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?limit=1".to_owned();
    push_query(&mut path, "fieldSelector", &format!("metadata.name={}", name_of(kind)));
    Ok(caller.call(get(&path, JSON)?, OBJECT_LIMIT).await?.1)
}

#[derive(Deserialize)]
struct Crd<'a> {
    #[serde(borrow)]
    metadata: Metadata<'a>,
    #[serde(borrow, default)]
    spec: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata<'a> {
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    resource_version: Cow<'a, str>,
    #[serde(borrow, default)]
    uid: Cow<'a, str>,
    #[serde(default)]
    generation: u64,
}

#[derive(Deserialize)]
struct Spec<'a> {
    #[serde(borrow, default)]
    group: Cow<'a, str>,
    #[serde(borrow)]
    names: Names<'a>,
}

#[derive(Deserialize)]
struct Names<'a> {
    #[serde(borrow, default)]
    plural: Cow<'a, str>,
    #[serde(borrow, default)]
    kind: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Version<'a> {
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(default)]
    served: bool,
    #[serde(borrow, default)]
    schema: Option<Validation<'a>>,
    #[serde(default)]
    subresources: Option<Subresources>,
}

#[derive(Deserialize)]
struct Subresources {
    #[serde(default)]
    status: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Validation<'a> {
    #[serde(borrow, default, rename = "openAPIV3Schema")]
    schema: Option<&'a RawValue>,
}

/// What a list of CRDs says of a kind. `None`: no CRD in it defines the kind.
pub(crate) fn parse(list: &[u8], kind: &KindInfo) -> Result<Option<Definition>, String> {
    let said = |error: serde_json::Error| cut(&error.to_string());
    let name = name_of(kind);
    let mut ours: Option<(u64, &RawValue)> = None;
    within::<_, IgnoredAny>(list, "items", "metadata", |crd: Crd<'_>| {
        if let (true, Ok(version), Some(spec)) =
            (crd.metadata.name == name, crd.metadata.resource_version.parse(), crd.spec)
        {
            ours = Some((edition(&crd.metadata.uid, crd.metadata.generation, version), spec));
        }
    })
    .map_err(said)?;
    let Some((version, spec)) = ours else { return Ok(None) };
    let Spec { group, names } = serde_json::from_str(spec.get()).map_err(said)?;
    if group != kind.gvk.group || names.kind != kind.gvk.kind || names.plural != kind.plural {
        return Ok(None);
    }
    let (mut schema, mut has_status): (Option<&RawValue>, bool) = (None, false);
    within::<_, IgnoredAny>(spec.get().as_bytes(), "versions", "group", |version: Version<'_>| {
        if version.served && version.name == kind.gvk.version {
            schema = version.schema.and_then(|validation| validation.schema);
            has_status = version.subresources.is_some_and(|of| of.status.is_some());
        }
    })
    .map_err(said)?;
    let Some(schema) = schema else { return Ok(None) };
    let object_meta: &RawValue = serde_json::from_str(OBJECT_META).map_err(said)?;
    let all = Schemas::from_iter([(Cow::Borrowed("ObjectMeta"), object_meta)]);
    // Who answered discovery may be behind: this is not all that is to be known of that edition.
    let version = if has_status == kind.has_status { version } else { 0 };
    Ok(Some(Definition { version, schema: KindSchema::new(inline(schema, &all, publish)?) }))
}

/// What tells one edition of a CRD from the next: which CRD it is, and its generation. Labels, annotations and conditions,
/// which change more often, make none.
pub(crate) fn edition(uid: &str, generation: u64, resource_version: u64) -> u64 {
    if generation == 0 {
        return resource_version;
    }
    let mut hasher = DefaultHasher::new();
    (uid, generation).hash(&mut hasher);
    hasher.finish()
}

/// What every object has, as API servers publish it.
const OBJECT_META: &str = r#"{"type": "object", "properties": {
    "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
    "creationTimestamp": {"type": "string", "format": "date-time"},
    "deletionGracePeriodSeconds": {"type": "integer", "format": "int64"},
    "deletionTimestamp": {"type": "string", "format": "date-time"},
    "finalizers": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
    "generateName": {"type": "string"},
    "generation": {"type": "integer", "format": "int64"},
    "labels": {"type": "object", "additionalProperties": {"type": "string"}},
    "managedFields": {"type": "array", "x-kubernetes-list-type": "atomic", "items": {"type": "object", "properties": {
        "apiVersion": {"type": "string"}, "fieldsType": {"type": "string"}, "fieldsV1": {"type": "object"},
        "manager": {"type": "string"}, "operation": {"type": "string"}, "subresource": {"type": "string"},
        "time": {"type": "string", "format": "date-time"}}}},
    "name": {"type": "string"},
    "namespace": {"type": "string"},
    "ownerReferences": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["uid"],
        "items": {"type": "object", "x-kubernetes-map-type": "atomic", "required": ["apiVersion", "kind", "name", "uid"],
            "properties": {
                "apiVersion": {"type": "string", "default": ""}, "blockOwnerDeletion": {"type": "boolean"},
                "controller": {"type": "boolean"}, "kind": {"type": "string", "default": ""},
                "name": {"type": "string", "default": ""}, "uid": {"type": "string", "default": ""}}}},
    "resourceVersion": {"type": "string"},
    "selfLink": {"type": "string"},
    "uid": {"type": "string"}}}"#;

/// What an API server adds to a CRD's schema: a CRD says of `metadata` no more than that it is there, and of the objects
/// in its objects nothing of what all have.
fn publish(schema: &mut Value) {
    if let Value::Object(root) = schema {
        complete(root);
    }
    embed(schema);
}

fn embed(schema: &mut Value) {
    let Value::Object(fields) = schema else { return };
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        properties.values_mut().for_each(embed);
    }
    for inner in ["items", "additionalProperties"] {
        fields.get_mut(inner).into_iter().for_each(embed);
    }
    if fields.get("x-kubernetes-embedded-resource") == Some(&Value::Bool(true)) {
        complete(fields);
    }
}

fn complete(schema: &mut Map<String, Value>) {
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    let Value::Object(properties) = properties else { return };
    for name in ["apiVersion", "kind"] {
        properties.insert(name.to_owned(), json!({"type": "string"}));
    }
    properties.insert("metadata".to_owned(), json!({"$ref": "#/components/schemas/ObjectMeta"}));
}

#[cfg(test)]
#[path = "definition_tests.rs"]
mod tests;
