//! What a field takes, by its OpenAPI schema.

use serde_json::Value;

/// `allOf` and the like within each other that are looked through.
const DEPTH: usize = 16;

/// What is known of a field.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Field<'s> {
    /// Its schema.
    pub(super) schema: Option<&'s Value>,
    /// Whether what is written out is compared with it: below what preserves unknown fields it is not.
    pub(super) checked: bool,
}

impl<'s> Field<'s> {
    /// A field of this schema.
    pub(super) fn of(schema: &'s Value) -> Self {
        Self { schema: Some(sole(schema)), checked: true }
    }

    /// The types of what it takes, as JSON schema names them; `None` for anything.
    pub(super) fn kinds(&self) -> Option<Vec<&'s str>> {
        let schema = self.schema.filter(|_| self.checked)?;
        if is_open(schema) { None } else { kinds(schema, 0) }
    }

    /// A field within it, or an error if it has none of this name.
    pub(super) fn child(&self, name: &str) -> Result<Field<'s>, ()> {
        let Some(schema) = self.schema else { return Ok(Self::default()) };
        let checked = self.checked && !is_open(schema);
        let of = |schema: &'s Value| Field { schema: Some(sole(schema)), checked };
        let properties = schema.get("properties").and_then(Value::as_object);
        if let Some(field) = properties.and_then(|fields| fields.get(name)) {
            return Ok(of(field));
        }
        match schema.get("additionalProperties") {
            Some(values @ Value::Object(_)) => Ok(of(values)),
            Some(Value::Bool(true)) => Ok(Self::default()),
            // One without any says nothing of what is in it.
            _ if checked && properties.is_some_and(|fields| !fields.is_empty()) => Err(()),
            _ => Ok(Self::default()),
        }
    }

    /// An element of it.
    pub(super) fn element(&self) -> Field<'s> {
        let Some(schema) = self.schema else { return Self::default() };
        let checked = self.checked && !is_open(schema);
        schema.get("items").map_or_else(Self::default, |items| Field { schema: Some(sole(items)), checked })
    }

    /// Whether it takes null.
    pub(super) fn is_nullable(&self) -> bool {
        self.schema.is_some_and(|schema| flag(schema, "nullable"))
    }
}

fn kinds(schema: &Value, depth: usize) -> Option<Vec<&str>> {
    if flag(schema, "x-kubernetes-int-or-string") || text(schema, "format") == "int-or-string" {
        return Some(vec!["string", "integer"]);
    }
    if let kind @ ("string" | "integer" | "number" | "boolean" | "object" | "array") = text(schema, "type") {
        return Some(vec![kind]);
    }
    if schema.get("properties").is_some() || schema.get("additionalProperties").is_some() {
        return Some(vec!["object"]);
    }
    let any = ["oneOf", "anyOf"].into_iter().find_map(|key| schema.get(key).and_then(Value::as_array))?;
    if depth > DEPTH {
        return None;
    }
    let mut all = Vec::new();
    for one in any {
        for kind in kinds(one, depth + 1)? {
            if !all.contains(&kind) {
                all.push(kind);
            }
        }
    }
    (!all.is_empty()).then_some(all)
}

/// Without the `allOf` of one that API servers put around a reference.
fn sole(schema: &Value) -> &Value {
    let mut sole = schema;
    for _ in 0..DEPTH {
        match sole.get("allOf").and_then(Value::as_array).map(Vec::as_slice) {
            Some([only]) if sole.get("type").is_none() && sole.get("properties").is_none() => sole = only,
            _ => break,
        }
    }
    sole
}

fn is_open(schema: &Value) -> bool {
    flag(schema, "x-kubernetes-preserve-unknown-fields")
}

fn flag(schema: &Value, key: &str) -> bool {
    schema.get(key).and_then(Value::as_bool).unwrap_or_default()
}

fn text<'s>(schema: &'s Value, key: &str) -> &'s str {
    schema.get(key).and_then(Value::as_str).unwrap_or_default()
}
