//! RGDs that stories are about, and what they take.

use serde_json::{Value, json};

pub(crate) const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
pub(crate) const DEFINITIONS: &str = "/apis/kro.run/v1alpha1/resourcegraphdefinitions";
pub(crate) const ROLLOUTS: &str = "/apis/broker.platform-mesh.io/v1alpha1/resourcegraphrollouts";
pub(crate) const CONFIGS: &str = "/api/v1/namespaces/shop/configmaps";

/// Objects of the kinds that RGDs here generate.
pub(crate) const SITES: &str = "/apis/apps.sim.io/v1/namespaces/shop/sites";
pub(crate) const NOTES: &str = "/apis/apps.sim.io/v1/namespaces/shop/notes";

/// As the journal has it: a kind that others realise.
pub(crate) const WIDGETS: &str = "widgets.parts.sim.io";

/// A CRD of somebody who has nothing to do with graphs.
pub(crate) fn crd(kind: &str, group: &str, spec: &Value) -> Value {
    let plural = format!("{}s", kind.to_lowercase());
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": spec},
        "status": {"type": "object", "properties": {"state": {"type": "string"}, "address": {"type": "string"}}}}});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {"group": group, "scope": "Namespaced", "names": {"plural": plural, "kind": kind},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": schema}}]}})
}

pub(crate) fn widget_crd() -> Value {
    crd("Widget", "parts.sim.io", &json!({"size": {"type": "integer"}, "owner": {"type": "string"}}))
}

/// An RGD of this name for this kind.
pub(crate) fn rgd(name: &str, kind: &str, spec: &Value, status: &Value, resources: &[Value]) -> Value {
    let schema = json!({"apiVersion": "v1", "group": "apps.sim.io", "kind": kind, "spec": spec, "status": status});
    json!({"apiVersion": "kro.run/v1alpha1", "kind": "ResourceGraphDefinition", "metadata": {"name": name},
        "spec": {"schema": schema, "resources": resources}})
}

/// A ConfigMap that is made for an instance.
pub(crate) fn config(id: &str, name: &str, data: &Value) -> Value {
    json!({"id": id, "template": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}})
}

pub(crate) fn widget(id: &str, owner: &str) -> Value {
    json!({"id": id, "readyWhen": [format!("${{{id}.status.state == \"Ready\"}}")],
        "template": {"apiVersion": "parts.sim.io/v1", "kind": "Widget", "metadata": {"name": "${schema.metadata.name}"},
            "spec": {"size": 3, "owner": owner}}})
}

/// Fields of a Site.
pub(crate) fn site_fields() -> Value {
    json!({"text": "string | default=\"hello\"", "wanted": "boolean | default=true", "items": "[]string | default=[]"})
}

/// What a Site consists of: a ConfigMap, a Secret of it, a Widget of that, a ConfigMap that waits for the Widget, one that may be
/// wanted, and one for each item.
pub(crate) fn site_parts() -> Vec<Value> {
    let name = "${schema.metadata.name}";
    let secret = json!({"id": "secret", "template": {"apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": format!("{name}-secret")},
        "data": {"text": "${base64.encode(bytes(config.data.text))}"}}});
    let mut extra = config("extra", &format!("{name}-extra"), &json!({"of": "${config.metadata.name}"}));
    extra["includeWhen"] = json!(["${schema.spec.wanted}"]);
    let mut items = config("pieces", &format!("{name}-item-${{one}}"), &json!({"item": "${one}"}));
    items["forEach"] = json!([{"one": "${schema.spec.items}"}]);
    vec![
        config("config", &format!("{name}-config"), &json!({"text": "${schema.spec.text}"})),
        secret,
        widget("widget", "${secret.metadata.name}"),
        config("report", &format!("{name}-report"), &json!({"address": "${widget.status.address}"})),
        extra,
        items,
    ]
}

pub(crate) fn site_status() -> Value {
    json!({"address": "${widget.status.address}", "items": "${size(pieces)}"})
}

pub(crate) fn site_rgd() -> Value {
    rgd("site", "Site", &site_fields(), &site_status(), &site_parts())
}

pub(crate) fn site(name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "apps.sim.io/v1", "kind": "Site", "metadata": {"name": name}, "spec": spec})
}

/// An RGD whose instances become a ConfigMap with their text behind `prefix`.
pub(crate) fn note_rgd(prefix: &str) -> Value {
    let text = json!({"text": format!("{prefix}${{schema.spec.text}}")});
    let part = config("config", "${schema.metadata.name}-config", &text);
    rgd("note", "Note", &json!({"text": "string"}), &json!({"config": "${config.metadata.name}"}), &[part])
}

/// The same with a Widget.
pub(crate) fn note_rgd_with_widget(prefix: &str) -> Value {
    let mut rgd = note_rgd(prefix);
    rgd["spec"]["resources"].as_array_mut().unwrap().push(widget("widget", "${schema.spec.text}"));
    rgd
}

pub(crate) fn note(name: &str, text: &str) -> Value {
    json!({"apiVersion": "apps.sim.io/v1", "kind": "Note", "metadata": {"name": name}, "spec": {"text": text}})
}

pub(crate) fn rollout(spec: &Value) -> Value {
    json!({"apiVersion": "broker.platform-mesh.io/v1alpha1", "kind": "ResourceGraphRollout",
        "metadata": {"name": "note"}, "spec": spec})
}

/// Paris first, then all others one by one.
pub(crate) fn waves() -> Value {
    json!({"waves": [
        {"name": "canary", "clusterSelector": {"matchLabels": {"tier": "canary"}}},
        {"name": "prod", "clusterSelector": {"matchExpressions": [{"key": "tier", "operator": "Exists"}]}}]})
}
