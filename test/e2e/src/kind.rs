//! `Kind`: a kind that tests use, and its CRD.

use kube::{ResourceExt as _, core::GroupVersionKind, discovery::ApiResource};
use serde_json::{Value, json};

/// A kind. Constants name those that several tests use; a test may make its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// API group; empty for the core group.
    pub group: &'static str,
    /// API version.
    pub version: &'static str,
    /// Kind.
    pub kind: &'static str,
    /// Plural resource name.
    pub plural: &'static str,
}

/// `Certificate` of the examples: the usual brokered kind.
pub const CERTIFICATE: Kind = Kind::example("Certificate", "certificates");
/// `VM` of the examples.
pub const VM: Kind = Kind::example("VM", "vms");
/// `Certificate` of the generic kinds: same kind and plural as [`CERTIFICATE`], another group.
pub const IDENTITY_CERTIFICATE: Kind = Kind {
    group: "identity.generic.platform-mesh.io",
    version: "v1alpha1",
    kind: "Certificate",
    plural: "certificates",
};
/// A kind of the tests, which takes any `spec`, any `payload` beside it, and any status.
pub const WIDGET: Kind = Kind::test("Widget", "widgets");
/// `AcceptAPI`.
pub const ACCEPT_API: Kind =
    Kind { group: "broker.platform-mesh.io", version: "v1alpha1", kind: "AcceptAPI", plural: "acceptapis" };
/// `Migration`.
pub const MIGRATION: Kind =
    Kind { group: "broker.platform-mesh.io", version: "v1alpha1", kind: "Migration", plural: "migrations" };
/// `MigrationConfiguration`.
pub const MIGRATION_CONFIGURATION: Kind = Kind {
    group: "broker.platform-mesh.io",
    version: "v1alpha1",
    kind: "MigrationConfiguration",
    plural: "migrationconfigurations",
};
/// `Secret`.
pub const SECRET: Kind = Kind::core("Secret", "secrets");
/// `ConfigMap`.
pub const CONFIG_MAP: Kind = Kind::core("ConfigMap", "configmaps");
/// `Namespace`.
pub const NAMESPACE: Kind = Kind::core("Namespace", "namespaces");
/// `Event` of the core group.
pub const EVENT: Kind = Kind::core("Event", "events");
/// `Pod`.
pub const POD: Kind = Kind::core("Pod", "pods");
/// `CustomResourceDefinition`.
pub const CRD: Kind = Kind {
    group: "apiextensions.k8s.io",
    version: "v1",
    kind: "CustomResourceDefinition",
    plural: "customresourcedefinitions",
};

impl Kind {
    /// A kind of the core group.
    pub const fn core(kind: &'static str, plural: &'static str) -> Self {
        Self { group: "", version: "v1", kind, plural }
    }

    /// A kind of the examples.
    pub const fn example(kind: &'static str, plural: &'static str) -> Self {
        Self { group: "example.platform-mesh.io", version: "v1alpha1", kind, plural }
    }

    /// A kind of the tests: [`Kind::crd`] makes its CRD.
    pub const fn test(kind: &'static str, plural: &'static str) -> Self {
        Self { group: "e2e.test", version: "v1", kind, plural }
    }

    /// `v1`, or `group/version`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.to_owned() } else { format!("{}/{}", self.group, self.version) }
    }

    /// `Kind.version.group`, as `--watch-kind` takes it.
    pub fn flag(&self) -> String {
        let group = if self.group.is_empty() { "core" } else { self.group };
        format!("{}.{}.{group}", self.kind, self.version)
    }

    /// `spec.gvr` of an AcceptAPI.
    pub fn gvr(&self) -> Value {
        json!({"group": self.group, "version": self.version, "resource": self.plural})
    }

    /// `gvk` of a related resource; the core group is spelled `core`, as providers do.
    pub fn gvk(&self) -> Value {
        let group = if self.group.is_empty() { "core" } else { self.group };
        json!({"group": group, "version": self.version, "kind": self.kind})
    }

    /// As the Kubernetes client has it.
    pub fn resource(&self) -> ApiResource {
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(self.group, self.version, self.kind), self.plural)
    }

    /// Whether objects live in namespaces.
    pub fn is_namespaced(&self) -> bool {
        *self != NAMESPACE && *self != CRD
    }

    /// An object of this kind; `body` holds `spec` and the like. Without a namespace it is cluster-scoped.
    pub fn object(&self, namespace: &str, name: &str, body: &Value) -> Value {
        let mut object = body.clone();
        object["apiVersion"] = json!(self.api_version());
        object["kind"] = json!(self.kind);
        object["metadata"]["name"] = json!(name);
        if self.is_namespaced() && !namespace.is_empty() {
            object["metadata"]["namespace"] = json!(namespace);
        }
        object
    }

    /// Its CRD: the product's where it has one, else one that takes any spec, payload and status, with conditions.
    pub fn crd(&self) -> Value {
        let name = format!("{}.{}", self.plural, self.group);
        if let Some(crd) = broker_api::crds().into_iter().find(|crd| crd.name_any() == name) {
            return serde_json::to_value(crd).unwrap();
        }
        let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let mut status = any.clone();
        status["properties"] = json!({"conditions": {"type": "array", "items": any}});
        self.crd_with(&json!({"spec": any, "payload": any, "status": status}), true)
    }

    /// A CRD with these `properties` beside apiVersion, kind and metadata, with or without the status subresource.
    pub fn crd_with(&self, properties: &Value, status: bool) -> Value {
        let mut version = json!({
            "name": self.version,
            "served": true,
            "storage": true,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
        });
        if status {
            version["subresources"] = json!({"status": {}});
        }
        let spec = json!({
            "group": self.group,
            "scope": "Namespaced",
            "names": {"kind": self.kind, "plural": self.plural, "singular": self.kind.to_lowercase()},
            "versions": [version],
        });
        CRD.object("", &format!("{}.{}", self.plural, self.group), &json!({"spec": spec}))
    }
}
