//! `Rgd` and `Node`: a ResourceGraphDefinition as tests write one.
// What a story writes out is handed over as it is.
#![allow(clippy::needless_pass_by_value)]

use serde_json::{Value, json};

/// A ResourceGraphDefinition without a name.
#[derive(Clone)]
pub struct Rgd {
    /// Its `spec`.
    pub spec: Value,
    /// Labels and annotations of its own.
    pub metadata: Value,
    /// Whether it names no group, so that its kind is in `kro.run`. Else its group is the test's.
    pub groupless: bool,
}

impl Rgd {
    /// One for a kind without fields and resources.
    pub fn new(kind: &str) -> Self {
        let schema = json!({"apiVersion": "v1alpha1", "kind": kind, "spec": {}});
        Self { spec: json!({"schema": schema, "resources": []}), metadata: json!({}), groupless: false }
    }

    /// As a person writes `spec`, in YAML; of group `kro.run` unless it says another.
    pub fn yaml(spec: &str) -> Self {
        let indented = spec.lines().fold(String::new(), |text, line| text + "  " + line + "\n");
        let text = format!("apiVersion: kro.run/v1alpha1\nkind: ResourceGraphDefinition\nspec:\n{indented}");
        let object = harness::parse_objects(&text).unwrap().remove(0);
        Self { spec: object.data["spec"].clone(), metadata: json!({}), groupless: true }
    }

    /// Its kind.
    pub fn kind(&self) -> &str {
        self.spec["schema"]["kind"].as_str().unwrap()
    }

    /// A field of `spec.schema`.
    #[must_use]
    pub fn schema(mut self, field: &str, value: Value) -> Self {
        self.spec["schema"][field] = value;
        self
    }

    /// `spec.schema.spec`.
    #[must_use]
    pub fn spec(self, fields: Value) -> Self {
        self.schema("spec", fields)
    }

    /// `spec.schema.status`.
    #[must_use]
    pub fn status(self, fields: Value) -> Self {
        self.schema("status", fields)
    }

    /// One more resource.
    #[must_use]
    pub fn node(mut self, node: Node) -> Self {
        self.spec["resources"].as_array_mut().unwrap().push(node.0);
        self
    }

    /// An annotation on the RGD.
    #[must_use]
    pub fn annotated(mut self, key: &str, value: &str) -> Self {
        self.metadata["annotations"][key] = json!(value);
        self
    }
}

/// One entry of `spec.resources`.
#[derive(Clone)]
pub struct Node(pub Value);

impl Node {
    /// A resource with a template.
    pub fn new(id: &str, template: Value) -> Self {
        Self(json!({"id": id, "template": template}))
    }

    /// A ConfigMap with this `data`.
    pub fn config(id: &str, name: &str, data: Value) -> Self {
        let template = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data});
        Self::new(id, template)
    }

    /// A Service with one port, whose load balancer others report.
    pub fn service(id: &str, name: &str) -> Self {
        let spec = json!({"type": "LoadBalancer", "selector": {"app": "web"}, "ports": [{"port": 80}]});
        Self::new(id, json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}))
    }

    /// Objects that are read; `metadata` holds name, selector and namespace.
    pub fn external(id: &str, api_version: &str, kind: &str, metadata: Value) -> Self {
        Self(json!({"id": id, "externalRef": {"apiVersion": api_version, "kind": kind, "metadata": metadata}}))
    }

    fn push(mut self, field: &str, value: Value) -> Self {
        match &mut self.0[field] {
            Value::Array(list) => list.push(value),
            absent => *absent = json!([value]),
        }
        self
    }

    /// One more `readyWhen`.
    #[must_use]
    pub fn ready_when(self, expression: &str) -> Self {
        self.push("readyWhen", json!(expression))
    }

    /// One more `includeWhen`.
    #[must_use]
    pub fn include_when(self, expression: &str) -> Self {
        self.push("includeWhen", json!(expression))
    }

    /// One more dimension of `forEach`.
    #[must_use]
    pub fn for_each(self, iterator: &str, expression: &str) -> Self {
        self.push("forEach", json!({iterator: expression}))
    }

    /// A field of the template.
    #[must_use]
    pub fn with(mut self, field: &str, value: Value) -> Self {
        self.0["template"][field] = value;
        self
    }

    /// A field of the template's metadata.
    #[must_use]
    pub fn meta(mut self, field: &str, value: Value) -> Self {
        self.0["template"]["metadata"][field] = value;
        self
    }
}
