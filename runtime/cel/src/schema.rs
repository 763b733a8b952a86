//! `Schema`: what an API server can hold of a kind, read from its schema as OpenAPI v3 has it.
//!
//! A desired object is compared with what the server *can* hold, not with what we wrote: else a field that a CRD
//! prunes or defaults would be written again for ever. Where no schema is known, everything is taken to fit.

mod difference;
mod emptied;
mod place;
mod shape;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

pub use self::difference::same_scalar;
use self::{
    difference::difference,
    emptied::without_emptied,
    place::{PATH, Place, cut},
    shape::{Field, ListKind, Object, Shape},
};

/// What a kind's objects can hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema(Shape);

fn flag(schema: &Value, key: &str) -> bool {
    schema.get(key).and_then(Value::as_bool).unwrap_or_default()
}

fn compile(schema: &Value) -> Shape {
    // Before all else: API servers publish `allOf` with some of these.
    if flag(schema, "x-kubernetes-int-or-string") {
        return Shape::Scalar;
    }
    if is_quantity(schema) {
        return Shape::Quantity;
    }
    if let Some([only]) = schema.get("allOf").and_then(Value::as_array).map(Vec::as_slice)
        && schema.get("properties").is_none()
    {
        return compile(only);
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("object") => Shape::Object(compile_object(schema)),
        Some("array") => compile_list(schema),
        Some("string" | "integer" | "number" | "boolean") => Shape::Scalar,
        _ if schema.get("properties").is_some() => Shape::Object(compile_object(schema)),
        _ => Shape::Any,
    }
}

/// As API servers publish quantities: a text or a number, and nothing else is like it.
fn is_quantity(schema: &Value) -> bool {
    let Some([one, other]) = schema.get("oneOf").and_then(Value::as_array).map(Vec::as_slice) else { return false };
    let is = |schema: &Value, kind: &str| schema.get("type").and_then(Value::as_str) == Some(kind);
    is(one, "string") && is(other, "number")
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
            Shape::Scalar | Shape::Quantity | Shape::List { .. } => Some(false),
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

    /// What is to be applied over `observed` first, where a map of `desired` has just become empty: server-side apply can only
    /// take such a map away, and make it anew after. `None`: all of `desired` can be applied at once.
    pub fn without_emptied(&self, desired: &Value, observed: &Value) -> Option<Value> {
        without_emptied(&self.0, desired, observed)
    }
}

/// Most paths that are told: a stranger's object may have as many fields as it has bytes.
const MOST_LOST: usize = 16;

fn lose(lost: &mut Vec<String>, place: &Place<'_>) {
    if lost.len() < MOST_LOST {
        lost.push(place.to_string());
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

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
