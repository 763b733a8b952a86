//! `Difference`: a field that is not as it is wanted, and who owns it.

use std::collections::{BTreeMap, BTreeSet};

use runtime_cel::schema::Schema;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::paint::harmless;

/// What is shown of a value.
const SHOWN: usize = 120;

/// A field that differs.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Difference {
    /// Which: `spec.list[1]`.
    pub(crate) path: String,
    /// Its value as it is wanted; absent: it is not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) wanted: Option<Value>,
    /// Its value as it is there; absent: it is not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) found: Option<Value>,
    /// Who owns it there.
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

type Fields = BTreeMap<Vec<Segment>, Value>;

/// All fields of an object that somebody may want, and their values.
fn fields(object: &Value) -> Fields {
    let mut all = BTreeMap::new();
    for (name, value) in object.as_object().into_iter().flatten() {
        if !matches!(name.as_str(), "apiVersion" | "kind" | "metadata" | "status") {
            walk(&mut vec![Segment::Key(name.clone())], value, &mut all);
        }
    }
    all
}

/// The labels and annotations of an object that count.
fn marks(object: &Value, counts: fn(&str) -> bool) -> Fields {
    let entry = |map: &str, (key, value): (&String, &Value)| {
        let path = ["metadata", map, key].map(|key| Segment::Key(key.to_owned()));
        (path.to_vec(), value.clone())
    };
    let of = |map: &'static str| {
        let held = object["metadata"][map].as_object().into_iter().flat_map(Map::iter);
        held.filter(move |(key, _)| counts(key)).map(move |one| entry(map, one))
    };
    of("labels").chain(of("annotations")).collect()
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

fn difference(path: &[Segment], wanted: Option<&Value>, found: Option<&Value>, held: &Value) -> Difference {
    Difference { path: written(path), wanted: wanted.cloned(), found: found.cloned(), owners: owners(held, path) }
}

fn with(mut one: Fields, other: Fields) -> Fields {
    one.extend(other);
    one
}

/// Where a copy is not as its origin: fields of either that the other has not, or not so, and labels and annotations that
/// travel.
pub(crate) fn of_copy(origin: &Value, held: &Value) -> Vec<Difference> {
    let all = |object| with(fields(object), marks(object, broker_core::copy::travels));
    let (left, right) = (all(origin), all(held));
    let paths: BTreeSet<&Vec<Segment>> = left.keys().chain(right.keys()).collect();
    let differ = paths.into_iter().filter(|path| left.get(*path) != right.get(*path));
    differ.map(|path| difference(path, left.get(path), right.get(path), held)).collect()
}

/// Where a child is not as its graph renders it. What others have set beside that is theirs; and what an API server writes in
/// another way, by the kind's schema, is no difference.
pub(crate) fn of_child(rendered: &Value, held: &Value, schema: &Schema) -> Vec<Difference> {
    let mut wanted = marks(rendered, |_| true);
    if schema.difference(&content(rendered), held).is_some() {
        wanted.extend(fields(rendered));
    }
    let is_same =
        |path: &Vec<Segment>, value: &Value| at(held, path) == Some(value) || same_by(schema, path, value, held);
    let differ = wanted.iter().filter(|(path, value)| !is_same(path, value));
    differ.map(|(path, value)| difference(path, Some(value), at(held, path), held)).collect()
}

/// An object without what is told of it apart.
fn content(object: &Value) -> Value {
    let mut content = object.clone();
    if let Some(fields) = content.as_object_mut() {
        fields.retain(|name, _| !matches!(name.as_str(), "apiVersion" | "kind" | "metadata" | "status"));
    }
    content
}

fn at<'v>(object: &'v Value, path: &[Segment]) -> Option<&'v Value> {
    path.iter().try_fold(object, |at, segment| match segment {
        Segment::Key(key) => at.get(key),
        Segment::Item(index) => at.get(index),
    })
}

/// Whether what is there holds the value by the schema, written in another way.
fn same_by(schema: &Schema, path: &[Segment], value: &Value, held: &Value) -> bool {
    let Some(found) = at(held, path) else { return false };
    // The same object with this one field as it is wanted.
    let mut wanted = content(held);
    let place = path.iter().try_fold(&mut wanted, |at, segment| match segment {
        Segment::Key(key) => at.get_mut(key),
        Segment::Item(index) => at.get_mut(index),
    });
    let Some(place) = place else { return false };
    *place = value.clone();
    found != value && schema.difference(&wanted, held).is_none()
}

impl Difference {
    /// A line for people.
    pub(crate) fn draw(&self) -> String {
        let Self { path, wanted, found, owners } = self;
        let side = |value: Option<&Value>| value.map_or("(not set)".to_owned(), |value| short(&value.to_string()));
        let owners = if owners.is_empty() { String::new() } else { format!("  owned there by {}", owners.join(", ")) };
        harmless(&format!("{path}: {} → {}{owners}", side(wanted.as_ref()), side(found.as_ref())))
    }
}

fn short(value: &str) -> String {
    let cut: String = value.chars().take(SHOWN).collect();
    if cut.len() < value.len() { format!("{cut}…") } else { cut }
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
        let told: Vec<String> = of_copy(&origin, &held).iter().map(Difference::draw).collect();
        let size = "spec.size: (not set) → \"big\\u001b[2J\"  owned there by operator";
        assert_eq!(told, ["spec.list[1]: 2 → 3  owned there by operator", size]);
        assert!(of_copy(&origin, &origin).is_empty());
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
        let told: Vec<String> = of_copy(&origin, &held).iter().map(Difference::draw).collect();
        let label = r#"spec.labels["app.kubernetes.io/name"]: "web" → "shop"  owned there by labeller"#;
        assert_eq!(told, [label, "spec.ports.8080: 1 → 2  owned there by opener"]);
    }

    #[test]
    fn labels_and_annotations_of_a_copy_count_where_they_travel() {
        let object =
            |labels: Value, annotations: Value| json!({ "metadata": { "labels": labels, "annotations": annotations } });
        let origin =
            object(json!({ "team": "a", "same": "x" }), json!({ "note": "new", "kubectl.kubernetes.io/last": "x" }));
        let held = object(
            json!({ "same": "x", "broker.platform-mesh.io/slot": "aa", "added": "by hand" }),
            json!({ "note": "old" }),
        );
        let told: Vec<String> = of_copy(&origin, &held).iter().map(Difference::draw).collect();
        assert_eq!(
            told,
            [
                r#"metadata.annotations.note: "new" → "old""#,
                r#"metadata.labels.added: (not set) → "by hand""#,
                r#"metadata.labels.team: "a" → (not set)"#
            ]
        );
    }

    #[test]
    fn a_child_differs_where_it_does_not_hold_what_is_rendered() {
        let schema = Schema::compile(
            &json!({ "type": "object", "properties": { "spec": { "type": "object", "properties": {
            "replicas": { "type": "integer" },
            "ports": { "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port"], "items": {
                "type": "object", "properties": { "port": { "type": "integer" }, "name": { "type": "string" } } } },
        } } } }),
        );
        let rendered = json!({ "metadata": { "name": "shop", "labels": { "app": "shop" } },
            "spec": { "replicas": 2, "ports": [{ "port": 80, "name": "http" }] } });
        let mut held = rendered.clone();
        // Others' fields, and others' items of a list that has keys.
        held["metadata"]["labels"]["more"] = json!("x");
        held["spec"]["added"] = json!(true);
        held["spec"]["ports"] = json!([{ "port": 22 }, { "port": 80, "name": "http" }]);
        assert!(of_child(&rendered, &held, &schema).is_empty(), "{:?}", of_child(&rendered, &held, &schema));
        held["metadata"]["labels"]["app"] = json!("other");
        held["spec"]["replicas"] = json!(3);
        held["metadata"]["managedFields"] =
            json!([{ "manager": "scaler", "fieldsV1": { "f:spec": { "f:replicas": {} } } }]);
        let told: Vec<String> = of_child(&rendered, &held, &schema).iter().map(Difference::draw).collect();
        assert_eq!(told[0], r#"metadata.labels.app: "shop" → "other""#);
        assert!(told.contains(&"spec.replicas: 2 → 3  owned there by scaler".to_owned()), "{told:?}");
    }
}
