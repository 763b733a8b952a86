//! Graphs whose expressions are a few words of the instance's spec.

use std::sync::Arc;

use graphs_core::{
    instance::{Form, NodeView, Resource, target},
    node::{Node, Ready, Wanted},
};
use runtime_cel::schema::Schema;
use runtime_effect::{kind::Kind, seen::Seen};
use serde_json::{Value, json};

/// A node. The instance's spec says of it, by id: `skip`, `fail`, `wait` (texts), `counts`, `names`, `namespaces`, `values`.
#[derive(Debug, Clone)]
pub(crate) struct Toy {
    pub(crate) id: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) form: Form,
    pub(crate) needs: Vec<&'static str>,
    pub(crate) wave: u32,
    pub(crate) schema: Option<Arc<Schema>>,
}

pub(crate) fn one(id: &'static str, needs: &[&'static str], wave: u32) -> Toy {
    Toy { id, kind: "ConfigMap", form: Form::Single, needs: needs.to_vec(), wave, schema: None }
}

pub(crate) fn kind(kind: &str) -> Kind {
    let group = match kind {
        "Deployment" => "apps",
        "Web" | "Site" => "kro.run",
        _ => "",
    };
    Kind { group: group.into(), version: "v1".into(), kind: kind.into() }
}

fn text<'a>(instance: &'a Value, what: &str, id: &str) -> Option<&'a str> {
    instance["spec"][what][id].as_str()
}

impl Toy {
    pub(crate) fn collection(self) -> Self {
        Self { form: Form::Collection, ..self }
    }

    pub(crate) fn of(self, kind: &'static str) -> Self {
        Self { kind, ..self }
    }

    fn resource(&self) -> Resource {
        Resource {
            id: self.id.into(),
            kind: kind(self.kind),
            namespaced: self.kind != "Namespace",
            form: self.form,
            wave: self.wave,
            dependencies: self.needs.iter().map(|need| (*need).to_owned()).collect(),
            schema: self.schema.clone(),
            omits_empty: self.kind != "Web",
        }
    }

    fn objects(&self, instance: &Value, before: &[NodeView]) -> Wanted {
        let mut data = json!({"value": text(instance, "values", self.id).unwrap_or("v")});
        for need in &self.needs {
            let dependency = before.iter().find(|view| view.resource.id == *need).unwrap();
            match &dependency.node.wanted {
                Wanted::Skipped => return Wanted::Skipped,
                Wanted::Objects(_) => {}
                Wanted::Waiting(_) | Wanted::Unset(_) | Wanted::Failed(_) => {
                    return Wanted::Waiting(format!("{need} is not known"));
                }
            }
            let Some(names) = dependency
                .observed
                .iter()
                .map(|seen| Some(seen.present()?.value["metadata"]["name"].as_str()?.to_owned()))
                .collect::<Option<Vec<_>>>()
            else {
                return Wanted::Waiting(format!("{need} is not there"));
            };
            data[format!("from-{need}")] = json!(names.join(" "));
        }
        let count = match self.form {
            Form::Collection => instance["spec"]["counts"][self.id].as_u64().unwrap_or(2),
            _ => 1,
        };
        let name = text(instance, "names", self.id)
            .map_or_else(|| format!("{}-{}", instance["metadata"]["name"].as_str().unwrap(), self.id), str::to_owned);
        let object = |index: u64| {
            let name = if self.form == Form::Collection { format!("{name}-{index}") } else { name.clone() };
            let mut object = json!({"apiVersion": kind(self.kind).api_version(), "kind": self.kind,
                "metadata": {"name": name, "labels": {"mine": "yes"}}, "data": data});
            if let Some(namespace) = text(instance, "namespaces", self.id) {
                object["metadata"]["namespace"] = json!(namespace);
            }
            merge_into(&mut object, &instance["spec"]["more"][self.id]);
            object
        };
        Wanted::Objects((0..count).map(object).collect())
    }

    /// As rendering would have it.
    pub(crate) fn view(
        &self,
        instance: &Value,
        before: &[NodeView],
        see: impl Fn(&str, &str, &str) -> Seen,
    ) -> NodeView {
        let resource = Arc::new(self.resource());
        let wanted = if instance["spec"]["skip"].as_array().is_some_and(|skip| skip.contains(&json!(self.id))) {
            Wanted::Skipped
        } else if let Some(why) = text(instance, "fail", self.id) {
            Wanted::Failed(why.into())
        } else if let Some(why) = text(instance, "wait", self.id) {
            Wanted::Waiting(why.into())
        } else {
            self.objects(instance, before)
        };
        let own = instance["metadata"]["namespace"].as_str().unwrap_or_default();
        let observed: Vec<Seen> = match &wanted {
            Wanted::Objects(objects) => objects
                .iter()
                .map(|object| {
                    target(&resource, object, own)
                        .map_or(Seen::Unknown, |key| see(self.kind, &key.namespace, &key.name))
                })
                .collect(),
            _ => vec![],
        };
        let said = |seen: &Seen, what: &str| seen.present().is_some_and(|held| held.value["status"]["ready"] == what);
        let ready = if observed.iter().any(|seen| said(seen, "error")) {
            Ready::Failed("readyWhen failed".into())
        } else if observed.iter().any(|seen| said(seen, "no")) {
            Ready::No("not ready yet".into())
        } else {
            Ready::Yes
        };
        NodeView { resource, node: Node { wanted, ready }, observed, trouble: None }
    }
}

fn merge_into(object: &mut Value, more: &Value) {
    for (name, value) in more.as_object().into_iter().flatten() {
        if value.is_object() && object[name].is_object() {
            merge_into(&mut object[name], value);
        } else {
            object[name] = value.clone();
        }
    }
}
