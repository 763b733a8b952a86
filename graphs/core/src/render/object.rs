//! One object: a template with the values of its expressions.

use std::{io, sync::Arc};

use runtime_cel::graph::without_omitted;
use serde_json::{Map, Value};

use super::{
    Renderer, Stopped,
    values::{Local, stopped},
};
use crate::{
    canonical,
    graph::{Resource, Role, Tree},
};

impl Renderer<'_> {
    /// The object that a template makes with these iterators.
    pub(super) fn object(&mut self, resource: &Resource, locals: &[Local<'_>]) -> Result<Value, Stopped> {
        let mut values = Vec::with_capacity(resource.expressions.len());
        let mut bytes = 0_usize;
        for computed in &resource.expressions {
            let value = if computed.iterates {
                self.values.evaluated(&computed.program, locals, true)
            } else {
                self.values.once(&computed.program)
            };
            let value = value.map_err(|error| stopped(&computed.path, &error))?;
            // Before it is copied: one value may stand at many places.
            bytes = bytes.saturating_add(length(&value));
            if bytes > self.graph.bounds.object {
                return Err(self.too_large(bytes));
            }
            values.push(if computed.program.omits() {
                without_omitted(value.as_ref().clone()).map(Arc::new)
            } else if computed.optional && value.is_null() {
                None
            } else {
                Some(value)
            });
        }
        let Some(Value::Object(mut object)) = filled(&resource.template, &values) else {
            return Err(Stopped::Failed("the template makes no object".to_owned()));
        };
        self.complete(resource, &mut object)?;
        let object = Value::Object(object);
        self.bound(&object)?;
        Ok(object)
    }

    /// Sees to the name and the namespace.
    fn complete(&self, resource: &Resource, object: &mut Map<String, Value>) -> Result<(), Stopped> {
        let fail = |what: String| Err(Stopped::Failed(what));
        let Some(Value::Object(metadata)) = object.get_mut("metadata") else {
            return fail("metadata is no object".to_owned());
        };
        let stated = match metadata.get("namespace") {
            None | Some(Value::Null) => false,
            Some(Value::String(namespace)) => !namespace.is_empty(),
            Some(_) => return fail("metadata.namespace is not a text".to_owned()),
        };
        let restricted = self.graph.bounds.own_namespace && resource.kind.namespaced && !self.graph.is_cluster_scoped();
        let fixed = stated && resource.template.is_fixed(&["metadata", "namespace"]);
        if restricted && !fixed {
            let stated = metadata.get("namespace").and_then(Value::as_str).filter(|_| stated);
            if let Some(other) = stated.filter(|other| *other != self.namespace) {
                return fail(format!(
                    "metadata.namespace is {other:?}, which an expression says: with --restrict-namespaces only what stands \
                     in the ResourceGraphDefinition as it is may name another than the instance's, {:?}",
                    self.namespace
                ));
            }
            metadata.insert("namespace".to_owned(), self.namespace.as_str().into());
        }
        if resource.role == Role::Selected {
            if !stated && !restricted {
                metadata.remove("namespace");
            }
            return check_selector(metadata.get("selector")).or_else(fail);
        }
        if metadata.get("name").and_then(Value::as_str).is_none_or(str::is_empty) {
            return fail("metadata.name is empty, or no text".to_owned());
        }
        if !resource.kind.namespaced {
            metadata.remove("namespace");
        } else if !stated && self.graph.is_cluster_scoped() {
            return fail(format!(
                "node {:?} is namespaced and must resolve metadata.namespace when the instance is cluster-scoped",
                resource.id
            ));
        } else if !stated {
            metadata.insert("namespace".to_owned(), self.namespace.as_str().into());
        }
        Ok(())
    }

    fn too_large(&self, bytes: usize) -> Stopped {
        let most = self.graph.bounds.object;
        Stopped::Failed(format!("the object has at least {bytes} bytes of JSON; {most} are allowed"))
    }

    /// Counts an object.
    fn bound(&mut self, object: &Value) -> Result<(), Stopped> {
        if !canonical::is_within(object, canonical::MAX_DEPTH) {
            let most = canonical::MAX_DEPTH;
            return Err(Stopped::Failed(format!("the object is nested more than {most} levels deep")));
        }
        let (bytes, bounds) = (length(object), self.graph.bounds);
        if bytes > bounds.object {
            return Err(self.too_large(bytes));
        }
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > bounds.pass {
            let most = bounds.pass;
            return Err(Stopped::Failed(format!("all objects of an instance have more than {most} bytes of JSON")));
        }
        Ok(())
    }
}

/// The template with these values; `None` where nothing is to be. As deep as the template, which is bounded.
fn filled(tree: &Tree, values: &[Option<Arc<Value>>]) -> Option<Value> {
    match tree {
        Tree::Fixed(value) => Some(value.clone()),
        Tree::List(elements) => {
            Some(Value::Array(elements.iter().filter_map(|element| filled(element, values)).collect()))
        }
        Tree::Object(fields) => {
            let fields = fields.iter().filter_map(|(name, field)| Some((name.clone(), filled(field, values)?)));
            Some(Value::Object(fields.collect()))
        }
        Tree::Computed(at) => values.get(*at).cloned().flatten().map(|value| value.as_ref().clone()),
    }
}

/// One that an expression makes may hold anything.
fn check_selector(selector: Option<&Value>) -> Result<(), String> {
    let known = |name: &String| name == "matchLabels" || name == "matchExpressions";
    match selector {
        Some(Value::Object(fields)) if fields.keys().all(known) => Ok(()),
        _ => Err("metadata.selector must be {matchLabels: …, matchExpressions: …}".to_owned()),
    }
}

struct Length(usize);

impl io::Write for Length {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.saturating_add(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Bytes of JSON.
fn length(value: &Value) -> usize {
    let mut length = Length(0);
    // Neither the writer nor a value can fail.
    if serde_json::to_writer(&mut length, value).is_err() { usize::MAX } else { length.0 }
}
