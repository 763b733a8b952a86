//! `Schemas`: how the kinds that a graph uses are served, by a cluster's word; where none is asked, as if they took anything.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use broker_api::{
    Gvk,
    graphs::{GeneratedScope, Resource, ResourceGraphDefinitionSpec},
};
use graphs_core::{
    graph::{Found, Kinds, ServedKind},
    plural,
};
use runtime_effect::kind::Kind;
use runtime_fleet::{
    kind::{KindInfo, group_version_path},
    openapi::each_schema,
};
use serde_json::{Value, json, value::RawValue};

use crate::{
    cluster::{Cluster, Trouble},
    resource::Resource as Served,
};

/// Kubernetes' own kinds that are in no namespace.
const CLUSTER_SCOPED: [(&str, &str); 17] = [
    ("", "Namespace"),
    ("", "Node"),
    ("", "PersistentVolume"),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
    ("apiregistration.k8s.io", "APIService"),
    ("kro.run", "ResourceGraphDefinition"),
    ("networking.k8s.io", "IngressClass"),
    ("node.k8s.io", "RuntimeClass"),
    ("rbac.authorization.k8s.io", "ClusterRole"),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
    ("scheduling.k8s.io", "PriorityClass"),
    ("storage.k8s.io", "CSIDriver"),
    ("storage.k8s.io", "StorageClass"),
];

const UNPUBLISHED: &str = "the cluster publishes no schema of it";

/// How kinds are served.
#[derive(Debug, Default)]
pub(crate) struct Schemas {
    kinds: BTreeMap<Gvk, Found>,
    /// Kinds of which it is not known what they can hold, and why.
    pub(crate) unknown: Vec<String>,
}

impl Kinds for Schemas {
    fn find(&self, name: &Gvk) -> Found {
        self.kinds.get(name).cloned().unwrap_or(Found::NotServed)
    }
}

/// The kind of a resource of a graph, and whether it says in which namespace it is; `None`: it names none.
fn kind_of(resource: &Resource) -> Option<(Gvk, bool)> {
    let (api_version, kind, namespace) = match (&resource.template, &resource.external_ref) {
        (Some(template), _) => {
            let text = |name: &str| template.get(name).and_then(Value::as_str);
            let namespace = template.get("metadata").and_then(|metadata| metadata["namespace"].as_str());
            (text("apiVersion")?, text("kind")?, namespace)
        }
        (None, Some(reference)) => (&*reference.api_version, &*reference.kind, reference.metadata.namespace.as_deref()),
        (None, None) => return None,
    };
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let kind = Gvk { group: group.to_owned(), version: version.to_owned(), kind: kind.to_owned() };
    Some((kind, namespace.is_some_and(|namespace| !namespace.is_empty())))
}

/// The kinds that a graph uses, and whether a resource of each says in which namespace it is.
fn used(spec: &ResourceGraphDefinitionSpec) -> BTreeMap<Gvk, bool> {
    let mut used: BTreeMap<Gvk, bool> = BTreeMap::new();
    for (kind, stated) in spec.resources.iter().filter_map(kind_of) {
        *used.entry(kind).or_default() |= stated;
    }
    used
}

/// A kind's name, as people say it.
fn called(kind: &Gvk) -> String {
    let Gvk { group, version, kind } = kind;
    if group.is_empty() { format!("{kind} of {version}") } else { format!("{kind} of {group}/{version}") }
}

/// A schema of which nothing is known but that data of Secrets are bytes.
fn open(kind: &Gvk) -> Value {
    let mut schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    if kind.group.is_empty() && kind.kind == "Secret" {
        let bytes = json!({ "type": "object", "additionalProperties": { "type": "string", "format": "byte" } });
        schema["properties"] = json!({ "data": bytes });
    }
    schema
}

/// What a cluster publishes of the fields of a kind, or why that is not known.
pub(crate) async fn published_of(cluster: &Cluster, served: &Served) -> Result<Value, String> {
    let Served { kind, plural, namespaced, .. } = served;
    let info = KindInfo { gvk: kind.to_gvk(), plural: plural.clone(), namespaced: *namespaced, has_status: false };
    let document = document(cluster, &kind.group, &kind.version).await.map_err(|trouble| trouble.to_string())?;
    let mut found = Ok(None);
    each_schema(document.get().as_bytes(), &[Arc::new(info)], |_, schema| found = schema)?;
    found?.ok_or_else(|| UNPUBLISHED.to_owned())
}

/// The OpenAPI document of a group and version.
async fn document(cluster: &Cluster, group: &str, version: &str) -> Result<Box<RawValue>, Trouble> {
    let path = format!("/openapi/v3{}", group_version_path(group, version));
    cluster.ask(&path, "application/json").await
}

impl Schemas {
    /// As if each kind that a graph uses were served and took anything.
    pub(crate) fn open(spec: &ResourceGraphDefinitionSpec) -> Self {
        let mut schemas = Self::default();
        for (name, stated) in used(spec) {
            let known = CLUSTER_SCOPED.contains(&(name.group.as_str(), name.kind.as_str()));
            // Of a graph whose instances are in no namespace each resource says in which it is.
            let namespaced = !known && (stated || spec.schema.scope == GeneratedScope::Namespaced);
            schemas.unknown.push(called(&name));
            schemas.take(name.clone(), plural::of(&name.kind), namespaced, open(&name));
        }
        schemas
    }

    /// As a cluster serves and publishes them.
    pub(crate) async fn published(cluster: &Cluster, spec: &ResourceGraphDefinitionSpec) -> Result<Self, Trouble> {
        let resources = cluster.resources().await?;
        let mut schemas = Self::default();
        let mut documents: BTreeMap<(String, String), Vec<Arc<KindInfo>>> = BTreeMap::new();
        for name in used(spec).into_keys() {
            let kind = Kind::from(&name);
            let Some(served) = resources.of_kind(&kind) else { continue };
            let info = KindInfo {
                gvk: kind.to_gvk(),
                plural: served.plural.clone(),
                namespaced: served.namespaced,
                has_status: false,
            };
            schemas.take(name.clone(), info.plural.clone(), info.namespaced, open(&name));
            documents.entry((name.group, name.version)).or_default().push(Arc::new(info));
        }
        for ((group, version), wanted) in documents {
            match document(cluster, &group, &version).await {
                Ok(document) => schemas.read(&document, &wanted),
                Err(trouble) => schemas.leave(&wanted, &trouble.to_string()),
            }
        }
        Ok(schemas)
    }

    /// Takes in what an API server publishes of kinds of one group and version.
    fn read(&mut self, document: &RawValue, wanted: &[Arc<KindInfo>]) {
        let mut read = BTreeSet::new();
        let done = each_schema(document.get().as_bytes(), wanted, |info, schema| {
            let (name, one) = (name_of(info), std::slice::from_ref(info));
            match schema {
                Ok(Some(schema)) => self.take(name.clone(), info.plural.clone(), info.namespaced, schema),
                Ok(None) => self.leave(one, UNPUBLISHED),
                Err(why) => self.leave(one, &why),
            }
            read.insert(name);
        });
        if let Err(why) = done {
            let left: Vec<_> = wanted.iter().filter(|info| !read.contains(&name_of(info))).cloned().collect();
            self.leave(&left, &why);
        }
    }

    fn take(&mut self, name: Gvk, plural: String, namespaced: bool, schema: Value) {
        let kind = ServedKind { name: name.clone(), plural, namespaced, schema };
        self.kinds.insert(name, Found::Served(Arc::new(kind)));
    }

    fn leave(&mut self, kinds: &[Arc<KindInfo>], why: &str) {
        self.unknown.extend(kinds.iter().map(|info| format!("{} ({why})", called(&name_of(info)))));
    }
}

fn name_of(info: &KindInfo) -> Gvk {
    let Kind { group, version, kind } = Kind::from(&info.gvk);
    Gvk { group, version, kind }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn spec(scope: &str) -> ResourceGraphDefinitionSpec {
        let template = |kind: &str, namespace: Value| {
            json!({ "id": kind.to_lowercase(), "template": {
                "apiVersion": if kind == "Bucket" { "x.io/v1" } else { "v1" }, "kind": kind,
                "metadata": { "name": "a", "namespace": namespace } } })
        };
        let reference = json!({ "id": "zone", "externalRef": { "apiVersion": "x.io/v1", "kind": "Zone", "metadata": { "name": "a" } } });
        let resources = [template("Namespace", Value::Null), template("Bucket", json!("${schema.spec.x}")), reference];
        let schema = json!({ "kind": "App", "apiVersion": "v1", "scope": scope });
        serde_json::from_value(json!({ "schema": schema, "resources": resources })).unwrap()
    }

    fn namespaced(schemas: &Schemas, group: &str, kind: &str) -> Option<bool> {
        match schemas.find(&Gvk { group: group.into(), version: "v1".into(), kind: kind.into() }) {
            Found::Served(kind) => Some(kind.namespaced),
            Found::NotServed | Found::Unknown => None,
        }
    }

    #[test]
    fn without_a_cluster_each_kind_takes_anything_where_its_resources_say_that_it_is() {
        let open = Schemas::open(&spec("Namespaced"));
        assert_eq!(open.unknown, ["Namespace of v1", "Bucket of x.io/v1", "Zone of x.io/v1"]);
        assert_eq!(namespaced(&open, "", "Namespace"), Some(false));
        assert_eq!((namespaced(&open, "x.io", "Bucket"), namespaced(&open, "x.io", "Zone")), (Some(true), Some(true)));
        let cluster = Schemas::open(&spec("Cluster"));
        assert_eq!(
            (namespaced(&cluster, "x.io", "Bucket"), namespaced(&cluster, "x.io", "Zone")),
            (Some(true), Some(false))
        );
        assert_eq!(namespaced(&cluster, "x.io", "Other"), None);
    }

    #[test]
    fn what_a_cluster_publishes_is_taken_in_and_what_it_does_not_takes_anything() {
        let info = |kind: &str| {
            let gvk = Kind { group: "x.io".into(), version: "v1".into(), kind: kind.into() }.to_gvk();
            Arc::new(KindInfo { gvk, plural: plural::of(kind), namespaced: true, has_status: false })
        };
        let document = json!({ "components": { "schemas": { "bucket": {
            "x-kubernetes-group-version-kind": [{ "group": "x.io", "version": "v1", "kind": "Bucket" }],
            "properties": { "spec": { "type": "object" } } } } } });
        let raw = RawValue::from_string(document.to_string()).unwrap();
        let mut schemas = Schemas::default();
        schemas.read(&raw, &[info("Bucket"), info("Zone")]);
        let Found::Served(bucket) = schemas.find(&name_of(&info("Bucket"))) else { panic!("not served") };
        assert_eq!(bucket.schema["properties"]["spec"]["type"], "object");
        assert_eq!(schemas.unknown, ["Zone of x.io/v1 (the cluster publishes no schema of it)"]);
    }
}
