//! Objects as API servers send them: what is held of one is what a plain JSON parser reads, but for the entries of field
//! managers, and reads the same again when it is written down.

use runtime_fleet::{
    conventions::Conventions,
    object::{Object, ObjectKey},
    shape::Shape,
};
use serde_json::{Value, json};

static CONVENTIONS: Conventions = Conventions {
    program: "the program",
    manager: "us",
    words: br#""metadata":{"name":"","namespace":"","uid":"","resourceVersion":"#,
    prefix: "example.org/",
    role: "example.org/role",
    roles: &[],
    apart: &[],
    identified: &[],
    reads_core_schemas: false,
};

fn parse(raw: &[u8]) -> Option<(ObjectKey, Object)> {
    Object::parse(raw, Some(("v1", "ConfigMap")), &CONVENTIONS).ok()
}

/// Lists and objects within each other, and values, as [`Shape`] counts them.
fn count(value: &Value) -> (usize, usize) {
    let inner: Vec<&Value> = match value {
        Value::Array(elements) => elements.iter().collect(),
        Value::Object(fields) => fields.values().collect(),
        _ => return (0, 1),
    };
    let counts = inner.iter().map(|inner| count(inner));
    let (depth, values) = counts.fold((0, 0), |all, one| (all.0.max(one.0), all.1 + one.1));
    (depth + 1, 1 + values.max(1))
}

/// What is to be held of an object without excess.
fn expected(whole: &Value) -> Value {
    let mut expected = whole.clone();
    if let Some(metadata) = expected["metadata"].as_object_mut() {
        metadata.remove("managedFields");
    }
    if expected.get("kind").is_none() {
        expected["apiVersion"] = json!("v1");
        expected["kind"] = json!("ConfigMap");
    }
    expected
}

/// Whether it has all that an object must have, each of its type.
fn is_sound(whole: &Value) -> bool {
    let metadata = &whole["metadata"];
    let is_text = |field: &str| metadata.get(field).is_none_or(Value::is_string);
    let version = metadata["resourceVersion"].as_str().is_some_and(|version| version.parse::<u64>().is_ok());
    let finalizers = metadata.get("finalizers").is_none_or(|all| all.is_array() || all.is_null());
    version && metadata["name"].is_string() && is_text("namespace") && is_text("uid") && finalizers
}

pub(crate) fn run(data: &[u8]) {
    let whole = serde_json::from_slice::<Value>(data).ok();
    if let Some(whole) = &whole {
        measure(whole);
    }
    let Some((key, object)) = parse(data) else {
        return assert!(!whole.as_ref().is_some_and(is_sound), "a sound object is refused");
    };
    let (marks, owners) = (object.marks(), object.owners());
    assert_eq!(object.is_gone(), object.deleting && !object.has_finalizers);
    let held = match (object.value(), &whole) {
        (Ok(held), Some(_)) => held,
        // Deeper than the parser goes: it has less of it.
        (Ok(held), None) => return assert!(object.excess.is_some() || held.is_object(), "{held}"),
        (Err(error), whole) => return assert!(whole.is_none(), "it is not held: {error}"),
    };
    assert_eq!(held["metadata"]["name"], *key.name);
    assert_eq!(held["metadata"]["namespace"].as_str().unwrap_or_default(), &*key.namespace);
    assert_eq!(held["metadata"]["uid"].as_str().unwrap_or_default(), &*object.uid);
    if let (None, Some(whole)) = (object.excess, &whole) {
        assert_eq!(held, expected(whole), "another object is held");
    }
    let printed = held.to_string();
    let Some((again, second)) = parse(printed.as_bytes()) else { panic!("what is held is no object: {printed}") };
    assert_eq!((again, second.value().ok()), (key, Some(held)), "it is read otherwise the second time");
    assert_eq!((second.marks().labels, second.owners()), (marks.labels, owners));
}

/// The measure of a text is that of its tree.
fn measure(whole: &Value) {
    let printed = whole.to_string();
    let (shape, bound) = (Shape::of(printed.as_bytes()), Shape::bound(printed.as_bytes()));
    assert_eq!((shape.depth, shape.values), count(whole), "{printed}");
    assert_eq!(shape.excess(), bound.excess());
    assert!(bound.depth >= shape.depth && bound.values >= shape.values && bound.objects >= shape.objects);
}
