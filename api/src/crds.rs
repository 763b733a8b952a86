//! The CRDs of all kinds, as API servers take them, and the files in `config/crd/`.
//!
//! `Kind::crd()` is only the raw material: the schema that schemars derives has formats that Kubernetes does not know,
//! and what all brokered kinds share (columns, category) is added here, once.

use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceColumnDefinition, CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray,
    JSONSchemaPropsOrBool,
};
use kube::CustomResourceExt;
use serde_json::{Map, Number, Value};

use crate::{
    accept_api::AcceptApi,
    broker::Broker,
    example,
    generic::{ai, compute, databases, identity, messaging, networking, storage},
    migration::Migration,
    migration_configuration::MigrationConfiguration,
};

/// First line of every generated file.
pub const HEADER: &str = "# Generated from api/ with `make manifests`. Do not edit.\n";

/// What the kustomization says about itself.
const KUSTOMIZATION: &str = "\
# The CRDs of the coordination cluster, for config/default. The others are applied by file where they belong: AcceptAPI
# in providers, the kinds to broker in consumers and providers.
";

/// Why the files cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// A CRD has no JSON form.
    #[error("cannot turn a CRD into JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A CRD has no YAML form.
    #[error("cannot write YAML: {0}")]
    Yaml(#[from] serde_saphyr::ser::Error),
}

/// The CRDs of all kinds, ready to be applied.
pub fn crds() -> Vec<CustomResourceDefinition> {
    let own = [AcceptApi::crd(), Migration::crd(), MigrationConfiguration::crd(), Broker::crd()];
    own.into_iter().chain(brokered_crds().into_iter().map(with_brokered_columns)).map(finished).collect()
}

/// The CRDs of the kinds that consumers create and providers serve.
fn brokered_crds() -> Vec<CustomResourceDefinition> {
    vec![
        example::Certificate::crd(),
        example::Vm::crd(),
        ai::HostedModel::crd(),
        compute::KubernetesCluster::crd(),
        compute::VirtualMachine::crd(),
        databases::KeyValue::crd(),
        databases::NoSql::crd(),
        databases::Sql::crd(),
        databases::Vector::crd(),
        identity::Certificate::crd(),
        messaging::EventStreaming::crd(),
        messaging::MessageBroker::crd(),
        messaging::PubSub::crd(),
        networking::Peering::crd(),
        networking::VirtualNetwork::crd(),
        storage::Block::crd(),
        storage::File::crd(),
        storage::Object::crd(),
    ]
}

pub(crate) fn file_name(crd: &CustomResourceDefinition) -> String {
    format!("{}_{}.yaml", crd.spec.group, crd.spec.names.plural)
}

/// The files of `config/crd/` by name: one per CRD, named as controller-gen does, and a kustomization that lists those
/// of the coordination cluster.
pub fn files() -> Result<BTreeMap<String, String>, FilesError> {
    let mut files = BTreeMap::new();
    for crd in crds() {
        files.insert(file_name(&crd), yaml(serde_json::to_value(crd)?)?);
    }
    let coordination = [Broker::crd(), Migration::crd(), MigrationConfiguration::crd()];
    let mut resources = coordination.each_ref().map(file_name);
    resources.sort();
    let kustomization = yaml(serde_json::json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": resources,
    }))?;
    let kustomization = kustomization.replacen(HEADER, &format!("{HEADER}{KUSTOMIZATION}"), 1);
    files.insert("kustomization.yaml".to_owned(), kustomization);
    Ok(files)
}

pub(crate) fn yaml(value: Value) -> Result<String, FilesError> {
    let text = serde_saphyr::to_string(&canonical(value))?;
    Ok(format!("{HEADER}---\n{}\n", text.trim_end()))
}

/// Sorted keys, whatever the features of serde_json; `1` in place of the `1.0` that `JSONSchemaProps` makes of limits.
fn canonical(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let sorted: BTreeMap<_, _> = map.into_iter().map(|(key, value)| (key, canonical(value))).collect();
            Value::Object(sorted.into_iter().collect::<Map<_, _>>())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(canonical).collect()),
        Value::Number(number) => Value::Number(whole(&number).unwrap_or(number)),
        other => other,
    }
}

/// The same number without its fraction, if that is zero. The text is parsed because a cast of a float may lose digits.
fn whole(number: &Number) -> Option<Number> {
    let float = number.is_f64().then(|| number.as_f64())??;
    format!("{float:.0}").parse::<i64>().ok().filter(|_| float.fract() == 0.0).map(Number::from)
}

/// The columns that all brokered kinds have behind those of their own, and the category that lists them all.
fn with_brokered_columns(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
    crd.spec.names.categories = Some(vec!["brokered".to_owned()]);
    for version in &mut crd.spec.versions {
        version.additional_printer_columns.get_or_insert_default().extend([
            column("Status", "string", ".status.status", "How the object does, as its provider says"),
            column("Ready", "string", r#".status.conditions[?(@.type=="Ready")].status"#, "Condition Ready"),
            column(
                "Provider",
                "string",
                r".metadata.annotations.broker\.platform-mesh\.io/provider-cluster",
                "Provider cluster that serves the object",
            ),
        ]);
    }
    crd
}

fn column(name: &str, kind: &str, json_path: &str, description: &str) -> CustomResourceColumnDefinition {
    CustomResourceColumnDefinition {
        name: name.to_owned(),
        type_: kind.to_owned(),
        json_path: json_path.to_owned(),
        description: Some(description.to_owned()),
        ..Default::default()
    }
}

/// Age as the last column, and a schema that API servers take without complaint.
fn finished(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
    for version in &mut crd.spec.versions {
        version.additional_printer_columns.get_or_insert_default().push(column(
            "Age",
            "date",
            ".metadata.creationTimestamp",
            "Time since the object was created",
        ));
    }
    presentable(crd)
}

/// With a schema that API servers take without complaint.
pub(crate) fn presentable(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
    for version in &mut crd.spec.versions {
        let Some(root) = version.schema.as_mut().and_then(|schema| schema.open_api_v3_schema.as_mut()) else {
            continue;
        };
        each(root, &mut |schema| {
            // Absent and null mean the same to us; API servers drop a null where the schema does not allow it.
            schema.nullable = None;
            // The name of a Rust type says nothing to the people who read the schema.
            schema.title = None;
            schema.description = schema.description.take().map(|text| unwrapped(&text));
            // Metadata of a template inside a Pod: API servers take labels and annotations only.
            if let Some(metadata) = schema.properties.as_mut().filter(|metadata| metadata.contains_key("managedFields"))
            {
                metadata.retain(|name, _| name == "labels" || name == "annotations");
            }
            // Kubernetes knows the formats int32 and int64 only; the limits are in `minimum` and `maximum`.
            schema.format = match schema.format.take().as_deref() {
                Some("uint8" | "uint16" | "uint32") => Some("int32".to_owned()),
                Some("uint64" | "uint") => Some("int64".to_owned()),
                other => other.map(str::to_owned),
            };
        });
        // A default in the status would add fields to what a provider wrote, and the copy would differ from its origin.
        if let Some(status) = root.properties.as_mut().and_then(|properties| properties.get_mut("status")) {
            each(status, &mut |schema| schema.default = None);
        }
    }
    crd
}

/// The text without the line breaks that only keep source lines short; paragraphs and lists stay.
fn unwrapped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        let starts_something = line.is_empty() || line.starts_with([' ', '\t', '-', '*']);
        match out.chars().last() {
            None => {}
            Some(last) if last == '\n' || starts_something => out.push('\n'),
            Some(_) => out.push(' '),
        }
        out.push_str(line);
    }
    out
}

/// Calls `change` on `schema` and on every schema inside it.
fn each(schema: &mut JSONSchemaProps, change: &mut impl FnMut(&mut JSONSchemaProps)) {
    change(schema);
    for property in schema.properties.iter_mut().flat_map(BTreeMap::values_mut) {
        each(property, change);
    }
    match schema.items.as_mut() {
        Some(JSONSchemaPropsOrArray::Schema(items)) => each(items, change),
        Some(JSONSchemaPropsOrArray::Schemas(items)) => {
            for item in items {
                each(item, change);
            }
        }
        None => {}
    }
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = schema.additional_properties.as_mut() {
        each(values, change);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_breaks_inside_a_paragraph_go() {
        assert_eq!(unwrapped("one\ntwo\n\nthree\nfour\n- five\n- six"), "one two\n\nthree four\n- five\n- six");
    }

    #[test]
    fn whole_numbers_lose_their_fraction() {
        let value = serde_json::json!({ "a": 1.0, "b": [0.5, 9_007_199_254_740_991.0], "c": 3 });
        assert_eq!(canonical(value).to_string(), r#"{"a":1,"b":[0.5,9007199254740991],"c":3}"#);
    }
}
