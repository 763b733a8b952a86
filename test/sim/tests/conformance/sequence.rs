//! `Sequence`: requests, one after the other.

use serde_json::{Value, json};

pub(crate) const JSON: &str = "application/json";
pub(crate) const MERGE: &str = "application/merge-patch+json";
pub(crate) const APPLY: &str = "application/apply-patch+yaml";
pub(crate) const PARTIAL: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
pub(crate) const PARTIAL_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

pub(crate) const DISCOVERY: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Where things are. `{ns}` is the sequence's own namespace.
pub(crate) const MAPS: &str = "/api/v1/namespaces/{ns}/configmaps";
pub(crate) const SECRETS: &str = "/api/v1/namespaces/{ns}/secrets";
pub(crate) const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases";
pub(crate) const WIDGETS: &str = "/apis/sim.example.org/v1/namespaces/{ns}/widgets";
pub(crate) const GADGETS: &str = "/apis/sim.example.org/v1/namespaces/{ns}/gadgets";
pub(crate) const PLANETS: &str = "/apis/sim.example.org/v1/planets";
pub(crate) const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
pub(crate) const NAMESPACES: &str = "/api/v1/namespaces";

/// The name of the object that ends a watch.
pub(crate) const LAST: &str = "zz-last";

/// One thing to do. Texts hold `${answer#/pointer}`: what an earlier answer holds; an answer is named by its number in the
/// sequence, or, as what was last said of an object, by `plural/name`.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Call {
        method: &'static str,
        path: String,
        content_type: &'static str,
        accept: &'static str,
        body: Value,
    },
    /// Waits until a field is this; null: until there is no such object.
    Until {
        path: String,
        pointer: String,
        value: Value,
    },
    /// What is published of a kind, once it is: a group's document, and the kind.
    Published {
        path: String,
        kind: String,
    },
    Watch {
        name: String,
        path: String,
        accept: &'static str,
    },
    /// Creates the last object of a watch, and tells all events up to it.
    Told {
        name: String,
        path: String,
        body: Value,
    },
    /// All events of a watch until its end.
    Ended {
        name: String,
    },
    /// Nobody can tell any more what was before now.
    Forget,
}

/// A name, and what to do.
#[derive(Debug, Clone)]
pub(crate) struct Sequence {
    pub(crate) name: String,
    pub(crate) steps: Vec<Step>,
}

pub(crate) fn sequence(name: impl Into<String>) -> Sequence {
    Sequence { name: name.into(), steps: Vec::new() }
}

impl Sequence {
    pub(crate) fn step(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    fn call(self, method: &'static str, path: String, content_type: &'static str, body: Value) -> Self {
        self.step(Step::Call { method, path, content_type, accept: JSON, body })
    }

    pub(crate) fn get(self, path: impl Into<String>) -> Self {
        self.get_as(path, JSON)
    }

    pub(crate) fn get_as(self, path: impl Into<String>, accept: &'static str) -> Self {
        self.step(Step::Call { method: "GET", path: path.into(), content_type: JSON, accept, body: Value::Null })
    }

    pub(crate) fn post(self, path: &str, body: Value) -> Self {
        self.call("POST", by(path, "creator"), JSON, body)
    }

    pub(crate) fn put(self, path: &str, body: Value) -> Self {
        self.call("PUT", by(path, "updater"), JSON, body)
    }

    pub(crate) fn merge(self, path: &str, body: Value) -> Self {
        self.call("PATCH", by(path, "patcher"), MERGE, body)
    }

    pub(crate) fn apply(self, path: &str, manager: &str, body: Value) -> Self {
        self.call("PATCH", by(path, manager), APPLY, body)
    }

    pub(crate) fn force(self, path: &str, manager: &str, body: Value) -> Self {
        self.call("PATCH", format!("{}&force=true", by(path, manager)), APPLY, body)
    }

    /// With another media type.
    pub(crate) fn patch(self, path: &str, content_type: &'static str, body: Value) -> Self {
        self.call("PATCH", path.to_owned(), content_type, body)
    }

    pub(crate) fn delete(self, path: &str) -> Self {
        self.delete_with(path, Value::Null)
    }

    pub(crate) fn delete_with(self, path: &str, mut options: Value) -> Self {
        if !options.is_null() {
            options["kind"] = json!("DeleteOptions");
            options["apiVersion"] = json!("v1");
        }
        self.call("DELETE", path.to_owned(), JSON, options)
    }

    pub(crate) fn until(self, path: &str, pointer: &str, value: Value) -> Self {
        self.step(Step::Until { path: path.to_owned(), pointer: pointer.to_owned(), value })
    }

    pub(crate) fn published(self, path: &str, kind: &str) -> Self {
        self.step(Step::Published { path: path.to_owned(), kind: kind.to_owned() })
    }

    pub(crate) fn watch(self, name: &str, path: impl Into<String>) -> Self {
        self.watch_as(name, path, JSON)
    }

    pub(crate) fn watch_as(self, name: &str, path: impl Into<String>, accept: &'static str) -> Self {
        self.step(Step::Watch { name: name.to_owned(), path: path.into(), accept })
    }

    pub(crate) fn forget(self) -> Self {
        self.step(Step::Forget)
    }

    pub(crate) fn told(self, name: &str, path: &str, body: Value) -> Self {
        self.step(Step::Told { name: name.to_owned(), path: path.to_owned(), body })
    }

    pub(crate) fn ended(self, name: &str) -> Self {
        self.step(Step::Ended { name: name.to_owned() })
    }
}

fn by(path: &str, manager: &str) -> String {
    format!("{path}{}fieldManager={manager}", if path.contains('?') { '&' } else { '?' })
}

/// The path of one object.
pub(crate) fn at(collection: &str, name: &str) -> String {
    format!("{collection}/{name}")
}

/// An object with some metadata and other fields.
pub(crate) fn object(api_version: &str, kind: &str, metadata: &Value, fields: Value) -> Value {
    made(api_version, kind, metadata.clone(), fields)
}

/// The same of what nobody else needs.
fn made(api_version: &str, kind: &str, metadata: Value, mut fields: Value) -> Value {
    fields["apiVersion"] = json!(api_version);
    fields["kind"] = json!(kind);
    fields["metadata"] = metadata;
    fields
}

/// One field.
fn only(name: &str, value: Value) -> Value {
    Value::Object(serde_json::Map::from_iter([(name.to_owned(), value)]))
}

pub(crate) fn map(metadata: Value, data: Value) -> Value {
    made("v1", "ConfigMap", metadata, only("data", data))
}

pub(crate) fn secret(metadata: Value, fields: Value) -> Value {
    made("v1", "Secret", metadata, fields)
}

pub(crate) fn widget(metadata: Value, spec: Value) -> Value {
    made("sim.example.org/v1", "Widget", metadata, only("spec", spec))
}

pub(crate) fn gadget(metadata: Value, fields: Value) -> Value {
    made("sim.example.org/v1", "Gadget", metadata, fields)
}
