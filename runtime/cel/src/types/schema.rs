//! OpenAPI schemas → [`Type`]s.
//!
//! Schemas come as API servers publish them, or as CRDs have them, with their `$ref`s resolved; one that is left is dyn. So is
//! all that no type can say: int-or-string, quantities, what has no type. A field's `metadata` at the root is always the
//! whole ObjectMeta: CRDs say only `type: object` there.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    cel_type::{Field, Struct, Type},
    escape,
    name::Name,
    object_meta::OBJECT_META,
};

/// How deep schemas are read; API servers publish none deeper than 30 or so.
const DEPTH: usize = 64;

/// How many types one schema may make, all in all; the largest kinds have some 2,000.
const TYPES: usize = 100_000;

/// Where objects of a kind are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// In a namespace, or it is not known.
    Namespaced,
    /// In none: their metadata has no `namespace`.
    Cluster,
}

/// The type of an object of a kind: `__type_<variable>`, with the whole ObjectMeta as its `metadata`.
pub fn object(variable: &str, schema: &Value, scope: Scope) -> Type {
    Reader::new().read_root(&Name::root(variable), schema, scope, 0)
}

/// The type of a list of objects of a kind, as a node with `forEach` or a selector has it.
pub fn collection(variable: &str, schema: &Value) -> Type {
    Type::list(Reader::new().read_root(&Name::root(variable).child("@idx"), schema, Scope::Namespaced, 0))
}

/// The type of whatever the schema is of: a field that is written to.
pub fn value(name: &str, schema: &Value) -> Type {
    Reader::new().read(&Name::root(name), schema, 0)
}

struct Reader {
    left: usize,
}

impl Reader {
    fn new() -> Self {
        Self { left: TYPES }
    }

    fn read_root(&mut self, name: &Name, schema: &Value, scope: Scope, depth: usize) -> Type {
        let schema = sole(schema);
        let mut fields = self.read_fields(name, schema, depth);
        for plain in ["apiVersion", "kind"] {
            fields.entry(plain.to_owned()).or_insert(Field { value: Type::String, required: false });
        }
        let metadata = self.read_metadata(name, scope, depth + 1);
        fields.insert("metadata".to_owned(), Field { value: metadata, required: false });
        Type::Struct(Struct::new(name.clone(), fields, is_open(schema)))
    }

    fn read_metadata(&mut self, parent: &Name, scope: Scope, depth: usize) -> Type {
        let name = parent.child("metadata");
        let mut fields = self.read_fields(&name, &OBJECT_META, depth);
        if scope == Scope::Cluster {
            fields.remove("namespace");
        }
        Type::Struct(Struct::new(name, fields, false))
    }

    fn read(&mut self, name: &Name, schema: &Value, depth: usize) -> Type {
        if depth > DEPTH || self.left == 0 {
            return Type::Dyn;
        }
        self.left -= 1;
        let schema = sole(schema);
        // Before all else: API servers publish a type beside it.
        if flag(schema, "x-kubernetes-int-or-string") || text(schema, "format") == "int-or-string" {
            return Type::Dyn;
        }
        match text(schema, "type") {
            "boolean" => Type::Bool,
            "integer" => Type::Int,
            "number" => Type::Double,
            "string" => of_text(schema),
            "array" => {
                let items = schema.get("items");
                Type::list(items.map_or(Type::Dyn, |items| self.read(&name.child("@idx"), items, depth + 1)))
            }
            "object" => self.read_object(name, schema, depth),
            _ if schema.get("properties").is_some() => self.read_object(name, schema, depth),
            _ => Type::Dyn,
        }
    }

    fn read_object(&mut self, name: &Name, schema: &Value, depth: usize) -> Type {
        match schema.get("additionalProperties") {
            Some(others @ Value::Object(_)) => {
                return Type::map(Type::String, self.read(&name.child("@elem"), others, depth + 1));
            }
            Some(Value::Bool(true)) => return Type::map(Type::String, Type::Dyn),
            _ => {}
        }
        if flag(schema, "x-kubernetes-embedded-resource") {
            return self.read_root(name, schema, Scope::Namespaced, depth);
        }
        let fields = self.read_fields(name, schema, depth);
        Type::Struct(Struct::new(name.clone(), fields, is_open(schema)))
    }

    fn read_fields(&mut self, name: &Name, schema: &Value, depth: usize) -> BTreeMap<String, Field> {
        let required: BTreeSet<&str> =
            schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        let read = |(field, schema): (&String, &Value)| {
            let value = self.read(&name.child(&escape::escape(field)), schema, depth + 1);
            let required = required.contains(field.as_str()) && schema.get("default").is_none();
            (field.clone(), Field { value, required })
        };
        properties.map(read).collect()
    }
}

/// Without the `allOf` of one that API servers put around a `$ref` that has a default or a description beside it.
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

fn of_text(schema: &Value) -> Type {
    match text(schema, "format") {
        "byte" => Type::Bytes,
        "date" | "date-time" => Type::Timestamp,
        "duration" => Type::Duration,
        _ => Type::String,
    }
}

fn is_open(schema: &Value) -> bool {
    flag(schema, "x-kubernetes-preserve-unknown-fields")
}

fn flag(schema: &Value, key: &str) -> bool {
    schema.get(key).and_then(Value::as_bool).unwrap_or_default()
}

fn text<'a>(schema: &'a Value, key: &str) -> &'a str {
    schema.get(key).and_then(Value::as_str).unwrap_or_default()
}
