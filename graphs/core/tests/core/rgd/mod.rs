//! Random RGDs that compile: chains and diamonds of several kinds, collections, references by name and by selector,
//! conditions, optional values, texts made of parts, and a status.
#![allow(dead_code)]

use std::sync::{Arc, LazyLock};

use broker_api::{Gvk, graphs::ResourceGraphDefinitionSpec};
use graphs_core::graph::{Bounds, Found, Graph, GraphError, Kinds, ServedKind, compile};
use runtime_cel::graph::Evaluator;
use serde_json::{Value, json};

/// One for all: each has threads of its own.
pub(crate) static EVALUATOR: LazyLock<Evaluator> = LazyLock::new(graphs_core::limits::evaluator);

/// A list of choices; when it is used up, the first of all that there is.
pub(crate) struct Choices(std::vec::IntoIter<u8>);

impl Choices {
    pub(crate) fn new(all: Vec<u8>) -> Self {
        Self(all.into_iter())
    }

    /// One of so many.
    fn below(&mut self, many: usize) -> usize {
        usize::from(self.0.next().unwrap_or_default()) % many.max(1)
    }

    fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// `ConfigMap`, `Secret`, `Deployment` and the cluster-scoped `Namespace`.
struct Served;

impl Kinds for Served {
    fn find(&self, name: &Gvk) -> Found {
        let texts =
            |format: &str| json!({"type": "object", "additionalProperties": {"type": "string", "format": format}});
        let (text, boolean) = (json!({"type": "string"}), json!({"type": "boolean"}));
        let properties = match name.kind.as_str() {
            "ConfigMap" => json!({"data": texts("")}),
            "Secret" => json!({"data": texts("byte"), "stringData": texts("")}),
            "Namespace" => json!({"spec": {"type": "object"}}),
            "Deployment" => json!({
                "spec": {"type": "object", "properties":
                    {"replicas": {"type": "integer"}, "paused": boolean, "host": text, "hosts": {"type": "array", "items": text}}},
                "status": {"type": "object", "properties": {"ready": boolean, "url": text, "never": text}},
            }),
            _ => return Found::NotServed,
        };
        let plural = format!("{}s", name.kind.to_lowercase());
        let schema = json!({"type": "object", "properties": properties});
        Found::Served(Arc::new(ServedKind { name: name.clone(), plural, namespaced: name.kind != "Namespace", schema }))
    }
}

/// Compiles an RGD.
pub(crate) fn compiled(rgd: &Value) -> Result<Arc<Graph>, GraphError> {
    let spec: ResourceGraphDefinitionSpec = serde_json::from_value(rgd.clone()).unwrap();
    compile("web-graph", &spec, &Served, &EVALUATOR, Bounds::default())
}

/// The spec of an instance: nothing of it fails or waits for ever.
pub(crate) fn instance_spec() -> Value {
    json!({"on": true, "count": 2, "text": "v", "tags": ["p", "q"], "waits": "", "divisor": 1})
}

#[derive(Clone, Copy, PartialEq)]
enum Form {
    One,
    Collection,
    External,
    Selected,
}

/// A resource that others may use.
struct Made {
    id: String,
    kind: &'static str,
    form: Form,
}

/// Writes an RGD.
pub(crate) fn write(choices: &mut Choices) -> Value {
    let mut writer = Writer { choices, made: Vec::new() };
    let resources: Vec<Value> = (0..=writer.choices.below(6)).map(|at| writer.resource(at)).collect();
    let mut status = json!({});
    for at in 0..writer.choices.below(3) {
        status[format!("s{at}")] = json!(format!("${{{}}}", writer.text()));
    }
    json!({
        "schema": {"apiVersion": "v1", "kind": "Web", "status": status, "spec": {
            "on": "boolean", "count": "integer", "text": "string", "tags": "[]string", "waits": "string",
            "divisor": "integer", "labels": "map[string]string",
        }},
        "resources": resources,
    })
}

struct Writer<'a> {
    choices: &'a mut Choices,
    made: Vec<Made>,
}

impl Writer<'_> {
    /// An expression that gives a text.
    fn text(&mut self) -> String {
        let at = self.choices.below(self.made.len() * 2 + 1);
        let Some(used) = self.made.get(at) else {
            let all = [
                "schema.spec.text",
                "schema.metadata.name",
                "string(schema.spec.count)",
                "schema.spec.tags.join('-')",
                "schema.spec.?labels.?a.orValue('none')",
                "(schema.spec.on ? 'on' : 'off')",
                "string(1 / schema.spec.divisor)",
            ];
            return (*self.choices.of(&all)).to_owned();
        };
        let all: &[&str] = match (used.form, used.kind) {
            (Form::Collection | Form::Selected, _) => &[
                "ID.map(x, x.metadata.name).join('.')",
                "string(size(ID))",
                "string(ID.all(x, has(x.metadata.labels)))",
                "ID.filter(x, x.metadata.name.endsWith('-p')).map(x, x.metadata.name).join('')",
            ],
            (_, "ConfigMap") => &["ID.data.value", "ID.metadata.name", "ID.data.?extra.orValue('none')"],
            (_, "Secret") => &["string(ID.data.value)", "ID.metadata.name"],
            (_, "Deployment") => &[
                "ID.status.url",
                "ID.status.?url.orValue('later')",
                "string(ID.spec.replicas)",
                "ID.spec.host",
                "(schema.spec.waits == 'ID' ? ID.status.never : 'v')",
            ],
            _ => &["ID.metadata.name"],
        };
        let id = used.id.clone();
        self.choices.of(all).replace("ID", &id)
    }

    /// A text made of parts.
    fn parts(&mut self) -> String {
        let (one, other) = (self.text(), self.text());
        format!("a-${{{one}}}-b-${{{other}}}")
    }

    fn resource(&mut self, at: usize) -> Value {
        let id = format!("r{at}");
        let form =
            *self.choices.of(&[Form::One, Form::One, Form::One, Form::Collection, Form::External, Form::Selected]);
        let is_read = matches!(form, Form::External | Form::Selected);
        let kind =
            if is_read { "ConfigMap" } else { *self.choices.of(&["ConfigMap", "Deployment", "Secret", "Namespace"]) };
        let mut resource = json!({"id": id});
        match form {
            Form::External => {
                let name = *self.choices.of(&["ext-a", "ext-b", "${'ext-' + (schema.spec.on ? 'a' : 'b')}"]);
                resource["externalRef"] = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name}});
            }
            Form::Selected => {
                let metadata = json!({"selector": {"matchLabels": {"ext": "yes"}}});
                resource["externalRef"] = json!({"apiVersion": "v1", "kind": kind, "metadata": metadata});
            }
            Form::One | Form::Collection => resource["template"] = self.template(&id, kind),
        }
        if form == Form::Collection {
            self.expand(&mut resource);
        } else if form == Form::One && self.choices.below(4) == 3 {
            let name = format!("${{schema.metadata.name}}-{id}-${{{}}}", self.text());
            resource["template"]["metadata"]["name"] = json!(name);
        }
        if self.choices.below(4) == 3 {
            let text = self.text();
            let all = ["schema.spec.on", "schema.spec.count > 1", "TEXT != 'none'", "TEXT == 'v'"];
            resource["includeWhen"] = json!([format!("${{{}}}", self.choices.of(&all).replace("TEXT", &text))]);
        }
        if self.choices.below(3) == 2 {
            resource["readyWhen"] = json!([self.ready(&id, kind, form)]);
        }
        self.made.push(Made { id, kind, form });
        resource
    }

    fn ready(&mut self, id: &str, kind: &str, form: Form) -> String {
        let name = if matches!(form, Form::Collection | Form::Selected) { "each" } else { id };
        let of = match kind {
            "Deployment" => *self.choices.of(&["status.ready", "status.?ready.orValue(false)", "spec.host != 'bad'"]),
            _ => "metadata.name != ''",
        };
        format!("${{{name}.{of}}}")
    }

    fn template(&mut self, id: &str, kind: &str) -> Value {
        let version = if kind == "Deployment" { "apps/v1" } else { "v1" };
        let mut template = json!({"apiVersion": version, "kind": kind,
            "metadata": {"name": format!("${{schema.metadata.name}}-{id}"), "labels": {"mine": "yes"}}});
        let text = format!("${{{}}}", self.text());
        match kind {
            "ConfigMap" => {
                template["data"] = json!({"value": text, "fixed": "1", "extra": "${schema.spec.?labels.?a}"});
                if self.choices.below(2) == 1 {
                    template["data"]["more"] = json!(self.parts());
                }
            }
            "Secret" if self.choices.below(2) == 1 => template["stringData"] = json!({"value": text}),
            "Secret" => template["data"] = json!({"value": format!("${{bytes({})}}", self.text())}),
            "Deployment" => {
                template["spec"] = json!({"replicas": "${schema.spec.count}", "paused": "${schema.spec.on}", "host": text,
                    "hosts": ["${schema.spec.text}", self.parts()]});
            }
            _ => template["metadata"]["labels"]["text"] = json!(text),
        }
        if kind != "Namespace" && self.choices.below(5) == 4 {
            template["metadata"]["namespace"] = json!("other");
        }
        template
    }

    /// Makes a collection of one object: each is named by its iterators.
    fn expand(&mut self, resource: &mut Value) {
        let lists: Vec<&Made> =
            self.made.iter().filter(|made| matches!(made.form, Form::Collection | Form::Selected)).collect();
        let list = match self.choices.below(4) {
            0 | 1 => "${schema.spec.tags}".to_owned(),
            2 => "${lists.range(schema.spec.count).map(n, string(n))}".to_owned(),
            _ if lists.is_empty() => "${schema.spec.tags}".to_owned(),
            _ => format!("${{{}.map(x, x.metadata.name)}}", self.choices.of(&lists).id),
        };
        let mut dimensions = vec![json!({"it": list})];
        let mut name = format!("{}-${{it}}", resource["template"]["metadata"]["name"].as_str().unwrap());
        if self.choices.below(4) == 3 {
            dimensions.push(json!({"other": "${['y', 'z']}"}));
            name.push_str("-${other}");
        }
        resource["forEach"] = json!(dimensions);
        resource["template"]["metadata"]["name"] = json!(name);
    }
}
