//! What holds for every CRD, and that `config/crd/` is what `api/` says.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::{collections::BTreeSet, fs, path::Path};

use broker_api::crds::{HEADER, files};
use serde_json::Value;

/// All CRDs as JSON.
fn crds() -> Vec<Value> {
    broker_api::crds().into_iter().map(|crd| serde_json::to_value(crd).unwrap()).collect()
}

fn name(crd: &Value) -> &str {
    crd["metadata"]["name"].as_str().unwrap()
}

fn version(crd: &Value) -> &Value {
    &crd["spec"]["versions"][0]
}

fn schema(crd: &Value) -> &Value {
    &version(crd)["schema"]["openAPIV3Schema"]
}

fn is_brokered(crd: &Value) -> bool {
    crd["spec"]["names"]["categories"] == serde_json::json!(["brokered"])
}

/// Calls `visit` with the path and content of `schema` and of each schema inside it.
fn walk(path: &str, schema: &Value, visit: &mut impl FnMut(&str, &Value)) {
    visit(path, schema);
    for (key, property) in schema["properties"].as_object().into_iter().flatten() {
        walk(&format!("{path}.{key}"), property, visit);
    }
    if schema["items"].is_object() {
        walk(&format!("{path}[]"), &schema["items"], visit);
    }
    if schema["additionalProperties"].is_object() {
        walk(&format!("{path}{{}}"), &schema["additionalProperties"], visit);
    }
}

/// Paths of all schemas, in all CRDs, for which `wrong` holds.
fn paths_where(wrong: impl Fn(&str, &Value) -> bool) -> Vec<String> {
    let mut paths = vec![];
    for crd in crds() {
        walk(name(&crd), schema(&crd), &mut |path, schema| {
            if wrong(path, schema) {
                paths.push(path.to_owned());
            }
        });
    }
    paths
}

#[test]
fn all_kinds_of_the_contract_are_there() {
    let found: BTreeSet<String> = crds().iter().map(|crd| name(crd).to_owned()).collect();
    let wanted = [
        "acceptapis.broker.platform-mesh.io",
        "migrations.broker.platform-mesh.io",
        "migrationconfigurations.broker.platform-mesh.io",
        "brokers.operator.broker.platform-mesh.io",
        "certificates.example.platform-mesh.io",
        "vms.example.platform-mesh.io",
        "hostedmodels.ai.generic.platform-mesh.io",
        "virtualmachines.compute.generic.platform-mesh.io",
        "kubernetesclusters.compute.generic.platform-mesh.io",
        "sqls.databases.generic.platform-mesh.io",
        "nosqls.databases.generic.platform-mesh.io",
        "keyvalues.databases.generic.platform-mesh.io",
        "vectors.databases.generic.platform-mesh.io",
        "certificates.identity.generic.platform-mesh.io",
        "pubsubs.messaging.generic.platform-mesh.io",
        "eventstreamings.messaging.generic.platform-mesh.io",
        "messagebrokers.messaging.generic.platform-mesh.io",
        "virtualnetworks.networking.generic.platform-mesh.io",
        "peerings.networking.generic.platform-mesh.io",
        "objects.storage.generic.platform-mesh.io",
        "blocks.storage.generic.platform-mesh.io",
        "files.storage.generic.platform-mesh.io",
    ];
    assert_eq!(found, wanted.into_iter().map(str::to_owned).collect());
}

#[test]
fn the_files_on_disk_are_the_generated_ones() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/crd");
    let wanted = files().unwrap();
    for (name, text) in &wanted {
        let found = fs::read_to_string(folder.join(name)).unwrap_or_default();
        assert!(found == *text, "config/crd/{name} is out of date: run `make manifests`");
    }
    for entry in fs::read_dir(&folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let generated = fs::read_to_string(folder.join(&name)).unwrap().starts_with(HEADER);
        assert!(
            !generated || wanted.contains_key(&name),
            "config/crd/{name} is no longer generated: run `make manifests`"
        );
    }
}

#[test]
fn the_yaml_says_what_the_crd_says() {
    let files = files().unwrap();
    for crd in crds() {
        let file = format!(
            "{}_{}.yaml",
            crd["spec"]["group"].as_str().unwrap(),
            crd["spec"]["names"]["plural"].as_str().unwrap()
        );
        let read: k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition =
            serde_saphyr::from_str(&files[&file]).unwrap();
        assert_eq!(serde_json::to_value(read).unwrap(), crd, "{file}");
    }
}

#[test]
fn every_field_is_described() {
    let bare = paths_where(|path, schema| {
        // Items and values of plain types are described by the field that holds them.
        let scalar = schema["properties"].is_null() && (path.ends_with("[]") || path.ends_with("{}"));
        !scalar && schema["description"].as_str().unwrap_or_default().is_empty()
    });
    assert!(bare.is_empty(), "no description: {bare:#?}");
}

#[test]
fn no_description_is_that_of_the_derive() {
    assert_eq!(
        paths_where(|_, schema| schema["description"].as_str().is_some_and(|text| text.contains("Auto-generated"))),
        [""; 0]
    );
}

#[test]
fn only_formats_that_kubernetes_knows() {
    let known = ["int32", "int64", "double", "date-time", "byte"];
    let unknown = paths_where(|_, schema| schema["format"].as_str().is_some_and(|format| !known.contains(&format)));
    assert_eq!(unknown, [""; 0]);
}

#[test]
fn every_schema_is_structural() {
    let loose = paths_where(|_, schema| {
        let free =
            schema["x-kubernetes-int-or-string"] == true || schema["x-kubernetes-preserve-unknown-fields"] == true;
        let typed = schema["type"].is_string() || free;
        let open = schema["type"] == "object"
            && schema["properties"].is_null()
            && schema["additionalProperties"].is_null()
            && !free;
        !typed || open || !schema["$ref"].is_null()
    });
    assert_eq!(loose, [""; 0]);
}

#[test]
fn lists_of_conditions_are_maps_by_type() {
    let lists = |wrong: bool| {
        paths_where(|path, schema| {
            path.ends_with(".status.conditions")
                && (!wrong || schema["x-kubernetes-list-map-keys"] != serde_json::json!(["type"]))
        })
    };
    assert_eq!(lists(false).len(), crds().len(), "every kind has conditions");
    assert_eq!(lists(true), [""; 0]);
}

#[test]
fn a_status_has_no_defaults() {
    assert_eq!(paths_where(|path, schema| path.contains(".status.") && !schema["default"].is_null()), [""; 0]);
}

#[test]
fn one_version_with_status_columns_and_a_short_name() {
    let mut names = BTreeSet::new();
    for crd in crds() {
        let kind = name(&crd);
        assert_eq!(crd["spec"]["versions"].as_array().unwrap().len(), 1, "{kind}");
        let version = version(&crd);
        assert_eq!(
            (&version["name"], &version["served"], &version["storage"]),
            (&"v1alpha1".into(), &true.into(), &true.into()),
            "{kind}"
        );
        assert!(version["subresources"]["status"].is_object(), "{kind}");
        assert_eq!(crd["spec"]["scope"], "Namespaced", "{kind}");

        let columns: Vec<_> = version["additionalPrinterColumns"]
            .as_array()
            .unwrap()
            .iter()
            .map(|c| c["name"].as_str().unwrap())
            .collect();
        let state = ["Ready", "Available", "State"].iter().any(|name| columns.contains(name));
        assert!(state, "{kind}: {columns:?}");
        assert_eq!(columns.last(), Some(&"Age"), "{kind}");
        assert_eq!(columns.len(), columns.iter().collect::<BTreeSet<_>>().len(), "{kind}: {columns:?}");
        assert_eq!(is_brokered(&crd), columns.contains(&"Provider"), "{kind}: {columns:?}");

        // Names that other parts of Kubernetes and widespread projects answer to.
        let taken = ["cert", "certs", "vm", "vms", "vmi", "cs", "csr", "ep", "ev", "po", "svc", "sc", "pv", "no", "ns"];
        for short in crd["spec"]["names"]["shortNames"].as_array().unwrap() {
            let short = short.as_str().unwrap();
            assert!(!taken.contains(&short), "{kind}: {short} is taken");
            assert!(names.insert(short.to_owned()), "{kind}: {short} is used twice");
        }
    }
    assert!(names.len() >= crds().len());
}

#[test]
fn brokered_kinds_share_one_status() {
    let brokered: Vec<_> = crds().into_iter().filter(is_brokered).collect();
    assert_eq!(brokered.len(), 18);
    for crd in &brokered {
        assert_eq!(schema(crd)["properties"]["status"], schema(&brokered[0])["properties"]["status"], "{}", name(crd));
    }
    let status = &schema(&brokered[0])["properties"]["status"]["properties"];
    let words = ["Unknown", "Provisioning", "Available", "Degraded", "Deleting", "Failed"];
    assert_eq!(status["status"]["enum"], serde_json::json!(words));
    let related = &status["relatedResources"]["additionalProperties"];
    assert_eq!(related["required"], serde_json::json!(["gvk", "name"]));
    assert_eq!(related["properties"]["gvk"]["required"], serde_json::json!(["kind", "version"]));
}
