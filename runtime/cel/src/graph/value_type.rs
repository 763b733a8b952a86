//! `ValueType`: as what the JSON of a variable is seen, read from the OpenAPI schema of its kind.
//!
//! Only what changes a value is told apart: base64 text is bytes, a date is a moment. All else is what JSON makes of it.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;

use crate::types::Type;

/// Levels of a schema that are read; what is below is [`ValueType::Dyn`].
const MOST_DEEP: usize = 64;

/// As what a piece of JSON is seen. Cheap to clone.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum ValueType {
    /// Whatever it is: whole numbers are `int`, others `double`.
    #[default]
    Dyn,
    /// `true` or `false`.
    Bool,
    /// A whole number; `2.0` is one.
    Int,
    /// A number; `2` is one.
    Double,
    /// A text.
    Text,
    /// A text that is base64, with the standard alphabet.
    Bytes,
    /// A text that is a day: `2026-01-31`.
    Date,
    /// A text that is a moment, as RFC 3339 has it.
    Timestamp,
    /// A text that is a duration: `1h30m`.
    Duration,
    /// A list of these.
    List(Arc<ValueType>),
    /// A map from texts to these.
    Map(Arc<ValueType>),
    /// An object with these fields.
    Struct(Arc<StructType>),
}

/// The fields of an object.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StructType {
    /// By their names in JSON; expressions may write them escaped (`odd__dash__name`).
    pub fields: BTreeMap<String, ValueType>,
}

impl ValueType {
    /// Reads an OpenAPI v3 schema, its references resolved.
    pub fn of_schema(schema: &Value) -> Self {
        of_schema(schema, MOST_DEEP)
    }

    /// As what the JSON is seen that an expression of this type gave: an element of a list, for those behind it.
    pub fn of_type(of: &Type) -> Self {
        of_type(of, MOST_DEEP)
    }

    /// Reads the schema of a kind's objects: whatever it says of it, their `metadata` is a full one.
    pub fn of_object(schema: &Value) -> Self {
        let mut fields = match Self::of_schema(schema) {
            Self::Struct(of) => of.fields.clone(),
            _ => BTreeMap::new(),
        };
        fields.insert("metadata".to_owned(), Self::object_meta());
        Self::Struct(Arc::new(StructType { fields }))
    }

    /// An object with these fields.
    pub fn structure(fields: impl IntoIterator<Item = (String, ValueType)>) -> Self {
        Self::Struct(Arc::new(StructType { fields: fields.into_iter().collect() }))
    }

    /// The `metadata` that objects of every kind have.
    pub fn object_meta() -> Self {
        let field = |name: &str, of: ValueType| (name.to_owned(), of);
        let texts = || Self::Map(Arc::new(Self::Text));
        let list = |of: ValueType| Self::List(Arc::new(of));
        let managed = [field("time", Self::Timestamp)];
        Self::structure([
            field("annotations", texts()),
            field("creationTimestamp", Self::Timestamp),
            field("deletionGracePeriodSeconds", Self::Int),
            field("deletionTimestamp", Self::Timestamp),
            field("finalizers", list(Self::Text)),
            field("generateName", Self::Text),
            field("generation", Self::Int),
            field("labels", texts()),
            field("managedFields", list(Self::structure(managed))),
            field("name", Self::Text),
            field("namespace", Self::Text),
            field("ownerReferences", list(Self::Dyn)),
            field("resourceVersion", Self::Text),
            field("selfLink", Self::Text),
            field("uid", Self::Text),
        ])
    }

    /// The type of an element, or of a key's value.
    pub(super) fn item(&self) -> &Self {
        match self {
            Self::List(item) | Self::Map(item) => item,
            _ => &Self::Dyn,
        }
    }

    /// The type of a field.
    pub(super) fn field(&self, name: &str) -> &Self {
        match self {
            Self::Struct(of) => of.fields.get(name).unwrap_or(&Self::Dyn),
            other => other.item(),
        }
    }
}

fn of_type(of: &Type, deep: usize) -> ValueType {
    if deep == 0 {
        return ValueType::Dyn;
    }
    match of {
        Type::Bool => ValueType::Bool,
        Type::Int => ValueType::Int,
        Type::Double => ValueType::Double,
        Type::String => ValueType::Text,
        Type::Bytes => ValueType::Bytes,
        Type::Timestamp => ValueType::Timestamp,
        Type::Duration => ValueType::Duration,
        Type::List(element) => ValueType::List(Arc::new(of_type(element, deep - 1))),
        Type::Map(entry) => ValueType::Map(Arc::new(of_type(&entry.1, deep - 1))),
        Type::Struct(object) => {
            let fields = object.fields().iter();
            ValueType::structure(fields.map(|(name, field)| (name.clone(), of_type(&field.value, deep - 1))))
        }
        _ => ValueType::Dyn,
    }
}

fn of_schema(schema: &Value, deep: usize) -> ValueType {
    let text = |key: &str| schema.get(key).and_then(Value::as_str);
    let int_or_string = schema.get("x-kubernetes-int-or-string").and_then(Value::as_bool).unwrap_or_default();
    if deep == 0 || int_or_string {
        return ValueType::Dyn;
    }
    // API servers publish `allOf` with one element around a reference that has a default.
    if let Some([only]) = schema.get("allOf").and_then(Value::as_array).map(Vec::as_slice)
        && schema.get("properties").is_none()
    {
        return of_schema(only, deep - 1);
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    match (text("type"), text("format")) {
        (Some("boolean"), _) => ValueType::Bool,
        (Some("integer"), _) => ValueType::Int,
        (Some("number"), _) => ValueType::Double,
        (Some("string"), Some("byte")) => ValueType::Bytes,
        (Some("string"), Some("date")) => ValueType::Date,
        (Some("string"), Some("date-time")) => ValueType::Timestamp,
        (Some("string"), Some("duration")) => ValueType::Duration,
        (Some("string"), _) => ValueType::Text,
        (Some("array"), _) => {
            let items = schema.get("items");
            ValueType::List(Arc::new(items.map_or(ValueType::Dyn, |items| of_schema(items, deep - 1))))
        }
        (Some("object") | None, _) => match (properties, schema.get("additionalProperties")) {
            (Some(fields), _) => {
                ValueType::structure(fields.iter().map(|(name, field)| (name.clone(), of_schema(field, deep - 1))))
            }
            (None, Some(values @ Value::Object(_))) => ValueType::Map(Arc::new(of_schema(values, deep - 1))),
            (None, _) => ValueType::Dyn,
        },
        (Some(_), _) => ValueType::Dyn,
    }
}

/// The JSON name of a field that is written escaped, as Kubernetes escapes those that are no CEL names.
///
/// See <https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-rules>.
pub(super) fn unescaped(name: &str) -> String {
    const WORDS: [&str; 21] = [
        "true",
        "false",
        "null",
        "in",
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ];
    const SIGNS: [(&str, &str); 4] =
        [("__underscores__", "__"), ("__dot__", "."), ("__dash__", "-"), ("__slash__", "/")];
    if let Some(word) = name.strip_prefix("__").and_then(|rest| rest.strip_suffix("__"))
        && WORDS.contains(&word)
    {
        return word.to_owned();
    }
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(at) = rest.find("__") {
        let (before, sign) = rest.split_at(at);
        out.push_str(before);
        let (escaped, plain) = SIGNS.iter().find(|(escaped, _)| sign.starts_with(escaped)).unwrap_or(&("__", "__"));
        out.push_str(plain);
        rest = sign.strip_prefix(escaped).unwrap_or_default();
    }
    out.push_str(rest);
    out
}
