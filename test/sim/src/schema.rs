//! `Schema`: what objects of a kind may look like, read where it stands in OpenAPI, without being taken apart.

mod defaults;
mod prune;
mod tidy;
mod trail;
mod validate;

use std::sync::LazyLock;

use serde_json::{Value, json};

pub(crate) use self::{
    defaults::{default, drop_nulls},
    prune::prune,
    tidy::{tidy, tidy_metadata},
    validate::validate,
};

/// One place of a schema. `None`: nothing is said of what is there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schema<'a>(Option<&'a Value>);

/// What the elements of a list are told apart by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Relation<'a> {
    /// By nothing: the list is one value.
    Atomic,
    /// By what they are.
    Set,
    /// By these fields.
    Keys(Vec<&'a str>),
}

/// What a value is to those who merge objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Atom<'a> {
    Scalar,
    Map { atomic: bool },
    List(Relation<'a>),
}

impl<'a> Schema<'a> {
    /// Anything may be there.
    pub(crate) const ANY: Self = Self(None);

    pub(crate) fn of(json: &'a Value) -> Self {
        Self(Some(json))
    }

    pub(crate) fn get(self, name: &str) -> Option<&'a Value> {
        self.0.and_then(|json| json.get(name))
    }

    fn text(self, name: &str) -> &'a str {
        self.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    pub(crate) fn says(self, name: &str) -> bool {
        self.get(name) == Some(&Value::Bool(true))
    }

    /// `object`, `string` …; empty: any.
    pub(crate) fn kind(self) -> &'a str {
        self.text("type")
    }

    pub(crate) fn format(self) -> &'a str {
        self.text("format")
    }

    /// Whether fields that it does not know may stay.
    pub(crate) fn preserves(self) -> bool {
        self.0.is_none() || self.says("x-kubernetes-preserve-unknown-fields")
    }

    pub(crate) fn is_int_or_string(self) -> bool {
        self.says("x-kubernetes-int-or-string") || self.format() == "int-or-string"
    }

    /// A field that the schema names.
    pub(crate) fn declared(self, name: &str) -> Option<Self> {
        self.get("properties")?.get(name).map(Self::of)
    }

    pub(crate) fn declared_names(self) -> impl Iterator<Item = (&'a String, Self)> {
        let properties = self.get("properties").and_then(Value::as_object);
        properties.into_iter().flatten().map(|(name, schema)| (name, Self::of(schema)))
    }

    /// What entries look like that are not named.
    pub(crate) fn others(self) -> Option<Self> {
        match self.get("additionalProperties") {
            Some(schema @ Value::Object(_)) => Some(Self::of(schema)),
            Some(Value::Bool(true)) => Some(Self::ANY),
            _ if self.preserves() => Some(Self::ANY),
            _ => None,
        }
    }

    /// A field, or an entry. `None`: there may be none of this name.
    pub(crate) fn field(self, name: &str) -> Option<Self> {
        self.declared(name).or_else(|| self.others())
    }

    pub(crate) fn items(self) -> Self {
        Self(self.get("items").filter(|items| items.is_object()))
    }

    fn relation(self) -> Relation<'a> {
        match self.text("x-kubernetes-list-type") {
            "set" => Relation::Set,
            "map" => {
                let keys = self.get("x-kubernetes-list-map-keys").and_then(Value::as_array);
                Relation::Keys(keys.into_iter().flatten().filter_map(Value::as_str).collect())
            }
            _ => Relation::Atomic,
        }
    }

    /// What a value here is. Where the schema does not say it, the value does.
    pub(crate) fn atom(self, value: &Value) -> Atom<'a> {
        let map = Atom::Map { atomic: self.text("x-kubernetes-map-type") == "atomic" };
        match self.kind() {
            "object" => map,
            "array" => Atom::List(self.relation()),
            "" if self.is_int_or_string() => Atom::Scalar,
            "" => match value {
                Value::Array(_) => Atom::List(Relation::Atomic),
                Value::Object(_) | Value::Null => map,
                _ => Atom::Scalar,
            },
            _ => Atom::Scalar,
        }
    }
}

impl Schema<'static> {
    /// Of what every object has.
    pub(crate) fn metadata() -> Self {
        static META: LazyLock<Value> = LazyLock::new(object_meta);
        Self::of(&META)
    }
}

/// What every object has. Structs that others hold by reference are written out.
pub(crate) fn object_meta() -> Value {
    let time = json!({"type": "string", "format": "date-time"});
    let text = json!({"type": "string"});
    let texts = json!({"type": "object", "additionalProperties": {"type": "string", "default": ""}});
    json!({"type": "object", "properties": {
        "annotations": texts, "labels": texts,
        "creationTimestamp": time, "deletionTimestamp": time,
        "deletionGracePeriodSeconds": {"type": "integer", "format": "int64"},
        "finalizers": {"type": "array", "items": {"type": "string", "default": ""}, "x-kubernetes-list-type": "set"},
        "generateName": text,
        "generation": {"type": "integer", "format": "int64"},
        "managedFields": {"type": "array", "x-kubernetes-list-type": "atomic", "items": {"type": "object", "properties": {
            "apiVersion": text, "fieldsType": text, "manager": text, "operation": text, "subresource": text, "time": time,
            "fieldsV1": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}},
        "name": text, "namespace": text,
        "ownerReferences": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["uid"],
            "items": {"type": "object", "x-kubernetes-map-type": "atomic", "required": ["apiVersion", "kind", "name", "uid"],
                "properties": {"apiVersion": text, "blockOwnerDeletion": {"type": "boolean"},
                    "controller": {"type": "boolean"}, "kind": text, "name": text, "uid": text}}},
        "resourceVersion": text, "selfLink": text, "uid": text,
    }})
}

/// A CRD's schema with what every object has, and the objects in its objects, too.
pub(crate) fn complete(mut schema: Value) -> Value {
    add_object(&mut schema);
    complete_embedded(&mut schema);
    schema
}

fn complete_embedded(schema: &mut Value) {
    let Value::Object(fields) = schema else { return };
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        properties.values_mut().for_each(complete_embedded);
    }
    for inner in ["items", "additionalProperties"] {
        fields.get_mut(inner).into_iter().for_each(complete_embedded);
    }
    if fields.get("x-kubernetes-embedded-resource") == Some(&Value::Bool(true)) {
        add_object(schema);
    }
}

fn add_object(schema: &mut Value) {
    if !schema["properties"].is_object() {
        schema["properties"] = json!({});
    }
    for name in ["apiVersion", "kind"] {
        schema["properties"][name] = json!({"type": "string"});
    }
    schema["properties"]["metadata"] = object_meta();
}
