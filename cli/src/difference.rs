//! `Difference`: a field that is not as it is wanted, and who owns it.

use std::collections::{BTreeMap, BTreeSet};

use graphs_core::instance::as_stored;
use runtime_cel::schema::Schema;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::paint::harmless;

/// What is shown of a value.
const SHOWN: usize = 120;

/// In place of a value of a Secret.
const HIDDEN: &str = "(not shown)";

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
    differ.map(|path| difference(path, left.get(path), right.get(path), held).hidden(held)).collect()
}

/// Where a child is not as its graph renders it, by the comparison of the controller: what others have set beside that is theirs,
/// and what an API server writes in another way is no difference. Lists are told of as a whole. `omits_empty`: the API server
/// stores no empty values.
pub(crate) fn of_child(rendered: &Value, held: &Value, schema: &Schema, omits_empty: bool) -> Vec<Difference> {
    let counts = |_: &str| true;
    let (marks, there) = (marks(rendered, counts), marks(held, counts));
    let mut differ: Vec<Difference> = Vec::new();
    for (path, wanted) in &marks {
        if there.get(path) != Some(wanted) {
            differ.push(difference(path, Some(wanted), there.get(path), held));
        }
    }
    for name in ["finalizers", "ownerReferences"] {
        let items = |object: &Value| object["metadata"][name].as_array().cloned().unwrap_or_default();
        let there = items(held);
        if items(rendered).iter().any(|item| !there.contains(item)) {
            let path = ["metadata", name].map(|key| Segment::Key(key.to_owned()));
            let side = |object: &Value| object["metadata"].get(name).cloned();
            differ.push(difference(&path, side(rendered).as_ref(), side(held).as_ref(), held));
        }
    }
    let wanted = as_stored(rendered, schema, omits_empty, held);
    if schema.difference(&wanted, held).is_some() {
        let mut search = Search { schema, stored: content(held), held, path: Vec::new(), differ: Vec::new() };
        search.fields(&wanted);
        differ.append(&mut search.differ);
    }
    differ.into_iter().map(|one| one.hidden(held)).collect()
}

/// Finds all fields that differ: each is put into what is stored, alone, and compared as a whole.
struct Search<'a> {
    schema: &'a Schema,
    /// What is there, but for its metadata and status.
    stored: Value,
    held: &'a Value,
    path: Vec<Segment>,
    differ: Vec<Difference>,
}

impl Search<'_> {
    /// Whether what is there would differ from the same with another value at this place; `None`: without any.
    fn counts(&self, key: &str, value: Option<&Value>) -> bool {
        let mut other = self.stored.clone();
        let place = self.path.iter().try_fold(&mut other, |at, segment| match segment {
            Segment::Key(key) => at.get_mut(key),
            Segment::Item(index) => at.get_mut(index),
        });
        let Some(Value::Object(fields)) = place else { return true };
        match value {
            Some(value) => fields.insert(key.to_owned(), value.clone()),
            None => fields.remove(key),
        };
        self.schema.difference(&other, self.held).is_some()
    }

    fn fields(&mut self, wanted: &Value) {
        let there = at(&self.stored, &self.path).cloned().unwrap_or_default();
        for (key, value) in wanted.as_object().into_iter().flatten() {
            if !self.counts(key, Some(value)) {
                continue;
            }
            let before = self.differ.len();
            let found = there.get(key);
            self.path.push(Segment::Key(key.clone()));
            if value.is_object() && found.is_some_and(Value::is_object) {
                self.fields(value);
            }
            if self.differ.len() == before {
                self.differ.push(difference(&self.path, Some(value), found, self.held));
            }
            self.path.pop();
        }
        // Beside what is wanted there may be others' fields, but where a kind has what is applied as a whole.
        for key in there.as_object().into_iter().flat_map(Map::keys).filter(|key| wanted.get(key).is_none()) {
            if self.counts(key, None) {
                self.path.push(Segment::Key(key.clone()));
                self.differ.push(difference(&self.path, None, there.get(key), self.held));
                self.path.pop();
            }
        }
    }
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

impl Difference {
    /// The same; of a Secret without what is in it.
    fn hidden(self, object: &Value) -> Self {
        if object["kind"] != "Secret" || object["apiVersion"] != "v1" || self.path.starts_with("metadata.") {
            return self;
        }
        let hide = |value: Option<Value>| value.map(|_| Value::from(HIDDEN));
        Self { wanted: hide(self.wanted), found: hide(self.found), ..self }
    }

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
        let of = |rendered: &Value, held: &Value| -> Vec<String> {
            of_child(rendered, held, &schema, false).iter().map(Difference::draw).collect()
        };
        assert_eq!(of(&rendered, &held), Vec::<String>::new());
        held["metadata"]["labels"]["app"] = json!("other");
        held["spec"]["replicas"] = json!(3);
        held["metadata"]["managedFields"] =
            json!([{ "manager": "scaler", "fieldsV1": { "f:spec": { "f:replicas": {} } } }]);
        let label = r#"metadata.labels.app: "shop" → "other""#;
        assert_eq!(of(&rendered, &held), [label, "spec.replicas: 2 → 3  owned there by scaler"]);
        held["metadata"]["labels"]["app"] = json!("shop");
        held["spec"]["replicas"] = json!(2);
        held["spec"]["ports"][1]["name"] = json!("web");
        let ports = r#"spec.ports: [{"name":"http","port":80}] → [{"port":22},{"name":"web","port":80}]"#;
        assert_eq!(of(&rendered, &held), [ports]);
    }

    #[test]
    fn what_is_applied_as_a_whole_has_nothing_beside_it_and_what_is_not_stored_is_not_missed() {
        let schema = Schema::compile(
            &json!({ "type": "object", "properties": { "spec": { "type": "object", "properties": {
            "args": { "type": "array", "items": { "type": "string" } },
            "selector": { "type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": { "type": "string" } },
            "memory": { "x-kubernetes-int-or-string": true, "anyOf": [{ "type": "integer" }, { "type": "string" }] },
            "hostNetwork": { "type": "boolean" },
        } } } }),
        );
        let rendered =
            json!({ "spec": { "args": ["a"], "selector": { "app": "shop" }, "hostNetwork": false, "pruned": 1 } });
        let stored = json!({ "spec": { "args": ["a"], "selector": { "app": "shop" } } });
        assert_eq!(of_child(&rendered, &stored, &schema, true), []);
        let told = |held: Value| -> Vec<String> {
            of_child(&rendered, &held, &schema, true).iter().map(Difference::draw).collect()
        };
        let more = json!({ "spec": { "args": ["a", "b"], "selector": { "app": "shop", "tier": "x" } } });
        assert_eq!(told(more), [r#"spec.args: ["a"] → ["a","b"]"#, r#"spec.selector.tier: (not set) → "x""#]);
    }

    #[test]
    fn nothing_of_what_is_in_a_secret_is_told() {
        let secret =
            |field: &str, value: &str| json!({ "apiVersion": "v1", "kind": "Secret", field: { "password": value } });
        let rendered = secret("stringData", "hunter2");
        assert_eq!(of_child(&rendered, &secret("data", "aHVudGVyMg=="), &Schema::any(), true), []);
        let told = of_child(&rendered, &secret("data", "b3RoZXI="), &Schema::any(), true);
        let hidden = r#"data.password: "(not shown)" → "(not shown)""#;
        assert_eq!(told.iter().map(Difference::draw).collect::<Vec<_>>(), [hidden]);
        let told = of_copy(&secret("data", "aHVudGVyMg=="), &secret("data", "b3RoZXI="));
        assert_eq!(told.iter().map(Difference::draw).collect::<Vec<_>>(), [hidden]);
    }
}
