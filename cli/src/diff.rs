//! Where an object and its copy differ, field by field.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context as _;
use broker_api::{ClusterName, keys};
use broker_core::copy;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::{
    cluster::Place,
    clusters::Clusters,
    paint::harmless,
    subject::Found,
    trace::{annotation, origin_key},
};

/// What is shown of a value.
const SHOWN: usize = 120;

/// Where an object and its copy differ.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Diff {
    /// The object's cluster, such as `consumer#homer`.
    pub(crate) origin: String,
    /// The copy's.
    pub(crate) copy: String,
    /// The fields that differ.
    pub(crate) fields: Vec<Difference>,
}

/// A field that differs.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Difference {
    /// Which: `spec.list[1]`.
    pub(crate) path: String,
    /// Its value in the object; absent: it is not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) origin: Option<Value>,
    /// Its value in the copy; absent: it is not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) copy: Option<Value>,
    /// Who owns it in the copy.
    pub(crate) owners: Vec<String>,
}

/// A step on the way to a field.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Segment {
    /// Into an object, by its key.
    Key(String),
    /// Into a list, by its position.
    Item(usize),
}

/// All fields of an object that both sides are to have, and their values.
fn fields(object: &Value) -> BTreeMap<Vec<Segment>, Value> {
    let mut all = BTreeMap::new();
    for (name, value) in object.as_object().into_iter().flatten() {
        if !matches!(name.as_str(), "apiVersion" | "kind" | "metadata" | "status") {
            walk(&mut vec![Segment::Key(name.clone())], value, &mut all);
        }
    }
    all
}

fn walk(path: &mut Vec<Segment>, value: &Value, all: &mut BTreeMap<Vec<Segment>, Value>) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (key, value) in map {
                path.push(Segment::Key(key.clone()));
                walk(path, value, all);
                path.pop();
            }
        }
        Value::Array(list) if !list.is_empty() => {
            for (index, value) in list.iter().enumerate() {
                path.push(Segment::Item(index));
                walk(path, value, all);
                path.pop();
            }
        }
        other => {
            all.insert(path.clone(), other.clone());
        }
    }
}

/// A path for people.
fn written(path: &[Segment]) -> String {
    let mut out = String::new();
    for segment in path {
        match segment {
            Segment::Item(index) => out.push_str(&format!("[{index}]")),
            Segment::Key(key) if out.is_empty() => out.push_str(key),
            Segment::Key(key) if key.contains('.') => out.push_str(&format!("[{key:?}]")),
            Segment::Key(key) => out.push_str(&format!(".{key}")),
        }
    }
    out
}

/// Who owns a field, by `metadata.managedFields`: the managers that have it or anything below it.
fn owners(object: &Value, path: &[Segment]) -> Vec<String> {
    let managers = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    let owning = managers.filter(|entry| {
        let mut at = &entry["fieldsV1"];
        for segment in path {
            // Lists are owned by keys or values of their items: there it is the list that counts.
            let Segment::Key(key) = segment else { break };
            at = &at[format!("f:{key}")];
            if at.is_null() {
                return false;
            }
        }
        true
    });
    let mut names: Vec<String> = owning.filter_map(|entry| entry["manager"].as_str().map(str::to_owned)).collect();
    names.sort();
    names.dedup();
    names
}

/// The fields that differ.
fn differences(origin: &Value, held: &Value) -> Vec<Difference> {
    let (left, right) = (fields(origin), fields(held));
    let paths: BTreeSet<&Vec<Segment>> = left.keys().chain(right.keys()).collect();
    let differ = paths.into_iter().filter(|path| left.get(*path) != right.get(*path));
    let difference = |path: &Vec<Segment>| Difference {
        path: written(path),
        origin: left.get(path).cloned(),
        copy: right.get(path).cloned(),
        owners: owners(held, path),
    };
    differ.map(difference).collect()
}

impl Difference {
    fn draw(&self) -> String {
        let Self { path, origin, copy, owners } = self;
        let side = |value: Option<&Value>| value.map_or("(not set)".to_owned(), |value| short(&value.to_string()));
        let owners = if owners.is_empty() { String::new() } else { format!("  owned there by {}", owners.join(", ")) };
        harmless(&format!("{path}: {} → {}{owners}", side(origin.as_ref()), side(copy.as_ref())))
    }
}

fn short(value: &str) -> String {
    let cut: String = value.chars().take(SHOWN).collect();
    if cut.len() < value.len() { format!("{cut}…") } else { cut }
}

impl Diff {
    /// Of an object and its copy.
    pub(crate) async fn of(clusters: &Clusters, found: &Found) -> anyhow::Result<Self> {
        let provider = annotation(&found.object, keys::PROVIDER_CLUSTER);
        let provider = provider.with_context(|| format!("{}: the object is at no provider", found.cluster.name))?;
        let provider = clusters
            .get(&ClusterName::provider(provider))
            .with_context(|| format!("provider {provider} is not among the clusters"))?;
        let key = origin_key(&found.cluster.name, &found.resource, &found.object);
        let name = copy::name(&key);
        let place = Place { namespace: &key.namespace, name: &name };
        let held = provider.get(&found.resource, place).await?;
        let held = held.with_context(|| format!("{}: there is no copy {}/{name}", provider.name, key.namespace))?;
        let (origin, copy) = (found.cluster.name.to_string(), provider.name.to_string());
        Ok(Self { origin, copy, fields: differences(&found.object, &held) })
    }

    /// For people: a line for each field that differs.
    pub(crate) fn draw(&self) -> String {
        let Self { origin, copy, fields } = self;
        if fields.is_empty() {
            return format!("{origin} and {copy} say the same\n");
        }
        let lines: Vec<String> = fields.iter().map(Difference::draw).collect();
        format!("{origin} → {copy}\n  {}\n", lines.join("\n  "))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_field_that_differs_is_told_with_its_owner() {
        let origin = json!({ "kind": "K", "metadata": { "name": "a" }, "spec": { "a": 1, "list": [1, 2], "same": true }, "status": { "x": 1 } });
        let held = json!({ "kind": "K", "metadata": { "name": "b", "managedFields": [
            { "manager": "operator", "fieldsV1": { "f:spec": { "f:size": {}, "f:list": {} } } } ] },
            "spec": { "a": 1, "list": [1, 3], "same": true, "size": "big\u{1b}[2J" } });
        let told: Vec<String> = differences(&origin, &held).iter().map(Difference::draw).collect();
        let size = "spec.size: (not set) → \"big\\u001b[2J\"  owned there by operator";
        assert_eq!(told, ["spec.list[1]: 2 → 3  owned there by operator", size]);
        assert!(differences(&origin, &origin).is_empty());
    }

    #[test]
    fn keys_with_dots_and_keys_of_digits_have_their_owners() {
        let object = |name: &str, port: u16| json!({ "spec": { "labels": { "app.kubernetes.io/name": name }, "ports": { "8080": port } } });
        let (origin, mut held) = (object("web", 1), object("shop", 2));
        held["metadata"] = json!({ "managedFields": [
            { "manager": "labeller", "fieldsV1": { "f:spec": { "f:labels": { "f:app.kubernetes.io/name": {} } } } },
            { "manager": "opener", "fieldsV1": { "f:spec": { "f:ports": { "f:8080": {} } } } },
            { "manager": "other", "fieldsV1": { "f:spec": { "f:labels": { "f:app": {} }, "f:ports": { "f:9090": {} } } } },
        ] });
        let told: Vec<String> = differences(&origin, &held).iter().map(Difference::draw).collect();
        let label = r#"spec.labels["app.kubernetes.io/name"]: "web" → "shop"  owned there by labeller"#;
        assert_eq!(told, [label, "spec.ports.8080: 1 → 2  owned there by opener"]);
    }
}
