//! `Schema`: what an API server can hold of a kind, read from its OpenAPI v3 document.
//!
//! A desired object is compared with what the server *can* hold, not with what we wrote: else a field that a CRD
//! prunes or defaults would be written again for ever. Where no schema is known, everything is taken to fit.

mod list;

use std::{borrow::Cow, collections::BTreeMap, fmt};

use serde_json::{Map, Value};

/// What a kind's objects can hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema(Shape);

#[derive(Debug, Clone, PartialEq)]
enum Shape {
    /// Anything, or nothing is known.
    Any,
    /// A text, number or bool.
    Scalar,
    Object(Object),
    List {
        items: Box<Shape>,
        kind: ListKind,
    },
}

#[derive(Debug, Clone, PartialEq)]
struct Object {
    fields: BTreeMap<String, Field>,
    /// What fields that are not named may hold; `None`: they are pruned.
    others: Option<Box<Shape>>,
    /// Server-side apply replaces it as a whole.
    atomic: bool,
}

#[derive(Debug, Clone, PartialEq)]
struct Field {
    shape: Shape,
    default: Option<Value>,
    nullable: bool,
}

#[derive(Debug, Clone, PartialEq)]
enum ListKind {
    Atomic,
    Set,
    /// Elements are told apart by these fields.
    Map(Vec<String>),
}

fn flag(schema: &Value, key: &str) -> bool {
    schema.get(key).and_then(Value::as_bool).unwrap_or_default()
}

fn compile(schema: &Value) -> Shape {
    if let Some([only]) = schema.get("allOf").and_then(Value::as_array).map(Vec::as_slice)
        && schema.get("properties").is_none()
    {
        return compile(only);
    }
    if flag(schema, "x-kubernetes-int-or-string") {
        return Shape::Scalar;
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("object") => Shape::Object(compile_object(schema)),
        Some("array") => compile_list(schema),
        Some("string" | "integer" | "number" | "boolean") => Shape::Scalar,
        _ if schema.get("properties").is_some() => Shape::Object(compile_object(schema)),
        _ => Shape::Any,
    }
}

fn compile_object(schema: &Value) -> Object {
    let properties = schema.get("properties").and_then(Value::as_object);
    let fields: BTreeMap<String, Field> = properties
        .into_iter()
        .flatten()
        .map(|(name, schema)| {
            let field = Field {
                shape: compile(schema),
                default: schema.get("default").cloned(),
                nullable: flag(schema, "nullable"),
            };
            (name.clone(), field)
        })
        .collect();
    let open = flag(schema, "x-kubernetes-preserve-unknown-fields") || flag(schema, "x-kubernetes-embedded-resource");
    let others = match schema.get("additionalProperties") {
        Some(Value::Bool(false)) => None,
        Some(Value::Bool(true)) => Some(Box::new(Shape::Any)),
        Some(schema) => Some(Box::new(compile(schema))),
        // An object without any rule is a free-form map in built-in kinds; in a CRD such an object holds nothing,
        // and structural schemas say so by naming no properties at all.
        None => open.then(|| Box::new(Shape::Any)),
    };
    let atomic = schema.get("x-kubernetes-map-type").and_then(Value::as_str) == Some("atomic");
    Object { fields, others, atomic }
}

fn compile_list(schema: &Value) -> Shape {
    let items = schema.get("items").map_or(Shape::Any, compile);
    let kind = match schema.get("x-kubernetes-list-type").and_then(Value::as_str) {
        Some("set") => ListKind::Set,
        Some("map") => {
            let keys = schema.get("x-kubernetes-list-map-keys").and_then(Value::as_array);
            ListKind::Map(keys.into_iter().flatten().filter_map(|key| key.as_str().map(str::to_owned)).collect())
        }
        _ => ListKind::Atomic,
    };
    Shape::List { items: Box::new(items), kind }
}

impl Schema {
    /// Reads the JSON schema of a kind, its references resolved.
    pub fn compile(schema: &Value) -> Self {
        Self(compile(schema))
    }

    /// A schema that holds anything.
    pub fn any() -> Self {
        Self(Shape::Any)
    }

    /// Whether there is a place for `status.<field>`; `None` where the schema leaves that open.
    pub fn status_has(&self, field: &str) -> Option<bool> {
        let Shape::Object(root) = &self.0 else { return None };
        let Some(status) = root.fields.get("status") else { return Some(false) };
        match &status.shape {
            Shape::Object(status) => Some(status.fields.contains_key(field) || status.others.is_some()),
            Shape::Any => None,
            Shape::Scalar | Shape::List { .. } => Some(false),
        }
    }

    /// Whether the schema names `status.<field>`.
    pub fn names_status(&self, field: &str) -> bool {
        let Shape::Object(root) = &self.0 else { return false };
        let status = root.fields.get("status").map(|status| &status.shape);
        matches!(status, Some(Shape::Object(status)) if status.fields.contains_key(field))
    }

    /// `value` without what the server would prune. `lost` collects the first paths that do not fit.
    pub fn fit(&self, value: Value, lost: &mut Vec<String>) -> Value {
        fit(&self.0, value, &Place::Root, lost)
    }

    /// `status` as the server would store it: pruned and defaulted.
    pub fn stored_status(&self, status: Value) -> Value {
        let Shape::Object(root) = &self.0 else { return status };
        let Some(field) = root.fields.get("status") else { return Value::Object(Map::new()) };
        let mut status = fit(&field.shape, status, &Place::Root, &mut Vec::new());
        fill(&field.shape, &mut status);
        status
    }

    /// The first path where `observed` does not hold what is desired. Fields that only `observed` has are others' or
    /// defaults, except inside what server-side apply replaces as a whole.
    pub fn difference(&self, desired: &Value, observed: &Value) -> Option<String> {
        difference(&self.0, desired, observed, false).map(|path| cut(path.trim_start_matches('.'), PATH).into_owned())
    }
}

/// Most paths that are told: a stranger's object may have as many fields as it has bytes.
const MOST_LOST: usize = 16;

/// How much of a name, and of a path, is told, in characters.
const NAME: usize = 64;
const PATH: usize = 256;

fn cut(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
    }
}

fn lose(lost: &mut Vec<String>, place: &Place<'_>) {
    if lost.len() < MOST_LOST {
        lost.push(place.to_string());
    }
}

/// Where in an object, as a list from the leaf to the root: written out only where something is lost.
#[derive(Clone, Copy)]
enum Place<'a> {
    Root,
    Field(&'a Place<'a>, &'a str),
    Element(&'a Place<'a>, usize),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Field(Self::Root, name) => f.write_str(&cut(name, NAME)),
            Self::Field(parent, name) => write!(f, "{parent}.{}", cut(name, NAME)),
            Self::Element(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

fn fit(shape: &Shape, value: Value, place: &Place<'_>, lost: &mut Vec<String>) -> Value {
    match (shape, value) {
        (Shape::Object(object), Value::Object(values)) => {
            let fitted = values.into_iter().filter_map(|(name, value)| {
                let place = Place::Field(place, &name);
                let field = object.fields.get(&name);
                let inner = field.map(|field| &field.shape).or(object.others.as_deref());
                let null = value.is_null() && field.is_some_and(|field| !field.nullable);
                let Some(inner) = inner.filter(|_| !null) else {
                    lose(lost, &place);
                    return None;
                };
                let fitted = fit(inner, value, &place, lost);
                Some((name, fitted))
            });
            Value::Object(fitted.collect())
        }
        (Shape::List { items, .. }, Value::Array(values)) => {
            let fitted = values.into_iter().enumerate();
            fitted.map(|(index, value)| fit(items, value, &Place::Element(place, index), lost)).collect()
        }
        (_, value) => value,
    }
}

/// Structural defaulting: every object that is present gets the defaults of the fields that it lacks.
fn fill(shape: &Shape, value: &mut Value) {
    match (shape, value) {
        (Shape::Object(object), Value::Object(values)) => {
            for (name, field) in &object.fields {
                if !values.contains_key(name)
                    && let Some(default) = &field.default
                {
                    values.insert(name.clone(), default.clone());
                }
                if let Some(value) = values.get_mut(name) {
                    fill(&field.shape, value);
                }
            }
            if let Some(others) = &object.others {
                for (_, value) in values.iter_mut().filter(|(name, _)| !object.fields.contains_key(*name)) {
                    fill(others, value);
                }
            }
        }
        (Shape::List { items, .. }, Value::Array(values)) => values.iter_mut().for_each(|value| fill(items, value)),
        _ => {}
    }
}

/// Numbers are equal by value: `1` and `1.0` are one number in JSON.
pub fn same_scalar(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        _ => left == right,
    }
}

fn difference(shape: &Shape, desired: &Value, observed: &Value, exact: bool) -> Option<String> {
    match (desired, observed) {
        (Value::Object(desired), Value::Object(observed)) => {
            let object = if let Shape::Object(object) = shape { Some(object) } else { None };
            let exact = exact || object.is_some_and(|object| object.atomic);
            for (name, value) in desired {
                let field = object.and_then(|object| object.fields.get(name));
                let inner = field.map_or_else(
                    || object.and_then(|object| object.others.as_deref()).unwrap_or(&Shape::Any),
                    |field| &field.shape,
                );
                let Some(held) = observed.get(name) else {
                    // A null that is not stored is the same as a field that is not there.
                    if value.is_null() {
                        continue;
                    }
                    return Some(format!(".{}", cut(name, NAME)));
                };
                if let Some(path) = difference(inner, value, held, exact) {
                    return Some(format!(".{}{path}", cut(name, NAME)));
                }
            }
            let has_default =
                |name: &str| object.and_then(|o| o.fields.get(name)).is_some_and(|field| field.default.is_some());
            let extra = observed.keys().find(|name| exact && !desired.contains_key(*name) && !has_default(name));
            extra.map(|name| format!(".{}", cut(name, NAME)))
        }
        (Value::Array(desired), Value::Array(observed)) => list::difference(shape, desired, observed, exact),
        _ => (!same_scalar(desired, observed)).then(String::new),
    }
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
