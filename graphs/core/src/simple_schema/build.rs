//! Schemas of fields and of structs, made from the innermost outwards, within a bound on all of them together.

use serde_json::{Map, Value, json};

use super::{
    MAX_BYTES, MAX_DEPTH, MAX_FIELDS,
    apply::Markers,
    error::SchemaError,
    field_type::{self, Around, FieldType, Middle},
    types::Types,
};

/// A schema, and what its user has to know of it.
#[derive(Debug, Clone, Default)]
pub(super) struct Built {
    pub schema: Map<String, Value>,
    /// A field of it is required.
    required: bool,
    /// Levels within it.
    depth: usize,
    /// Fields in it, each list and map counted too.
    fields: usize,
    /// Bytes of text in it.
    bytes: usize,
}

pub(super) fn too_deep() -> SchemaError {
    SchemaError::new(format!("nested more than {MAX_DEPTH} levels deep: use fewer, or a field of type object"))
}

/// That a field is neither a text nor a struct.
pub(super) fn unexpected(value: &Value) -> SchemaError {
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::Array(_) => "a list",
        Value::String(_) => "a text",
        Value::Object(_) => "a map",
    };
    SchemaError::new(format!(
        "unexpected type: a field is a text, such as \"[]string | required=true\", or a map, not {found}"
    ))
}

/// Counts what is made.
#[derive(Debug, Default)]
pub(super) struct Builder {
    fields: usize,
    bytes: usize,
}

impl Builder {
    /// A type of the RGD's own.
    pub(super) fn define(&mut self, definition: &Value, known: &Types<'_>) -> Result<Built, SchemaError> {
        self.field(definition, known, 0)
    }

    /// A struct.
    pub(super) fn fields(
        &mut self,
        fields: &Map<String, Value>,
        known: &Types<'_>,
        depth: usize,
    ) -> Result<Built, SchemaError> {
        if depth > MAX_DEPTH {
            return Err(too_deep());
        }
        let mut built = Built::default();
        let mut properties = Map::new();
        let mut required = Vec::new();
        let mut has_default = false;
        for (name, value) in fields {
            self.take(&mut built, 1, name.len()).map_err(|error| error.within(name))?;
            let field = self.field(value, known, depth + 1).map_err(|error| error.within(name))?;
            built.depth = built.depth.max(field.depth + 1);
            built.fields += field.fields;
            built.bytes += field.bytes;
            has_default |= field.schema.contains_key("default");
            if field.required {
                required.push(name.as_str());
            }
            properties.insert(name.clone(), Value::Object(field.schema));
        }
        required.sort_unstable();
        built.schema.insert("type".to_owned(), "object".into());
        if has_default && required.is_empty() {
            built.schema.insert("default".to_owned(), json!({}));
        }
        if !properties.is_empty() {
            built.schema.insert("properties".to_owned(), Value::Object(properties));
        }
        if !required.is_empty() {
            built.schema.insert("required".to_owned(), json!(required));
        }
        Ok(built)
    }

    fn field(&mut self, value: &Value, known: &Types<'_>, depth: usize) -> Result<Built, SchemaError> {
        match value {
            Value::String(text) => self.text(text, known, depth),
            Value::Object(fields) => self.fields(fields, known, depth),
            other => Err(unexpected(other)),
        }
    }

    fn text(&mut self, text: &str, known: &Types<'_>, depth: usize) -> Result<Built, SchemaError> {
        let (field_type, markers) = field_type::split(text);
        let FieldType { around, middle } = FieldType::parse(field_type)?;
        let markers = Markers::parse(markers)?;
        let mut built = match middle {
            Middle::Scalar(name) => Built { schema: object([("type", name.into())]), ..Built::default() },
            Middle::Object => {
                let open = [("type", "object".into()), ("x-kubernetes-preserve-unknown-fields", true.into())];
                Built { schema: object(open), ..Built::default() }
            }
            Middle::Custom(name) => {
                let custom = known.get(name).ok_or_else(|| SchemaError::new(field_type::unknown(name)))?;
                // Before it is copied.
                self.spend(custom.fields, custom.bytes)?;
                custom.clone()
            }
        };
        if depth + around.len() + built.depth > MAX_DEPTH {
            return Err(too_deep());
        }
        self.take(&mut built, around.len(), text.len())?;
        built.depth += around.len();
        built.required &= around.is_empty();
        for around in around.into_iter().rev() {
            let inner = Value::Object(built.schema);
            built.schema = match around {
                Around::List => object([("type", "array".into()), ("items", inner)]),
                Around::Map => object([("type", "object".into()), ("additionalProperties", inner)]),
            };
        }
        built.required |= markers.apply(&mut built.schema)?;
        Ok(built)
    }

    /// Counts something as part of what is being built.
    fn take(&mut self, built: &mut Built, fields: usize, bytes: usize) -> Result<(), SchemaError> {
        built.fields += fields;
        built.bytes += bytes;
        self.spend(fields, bytes)
    }

    fn spend(&mut self, fields: usize, bytes: usize) -> Result<(), SchemaError> {
        self.fields += fields;
        self.bytes += bytes;
        if self.fields <= MAX_FIELDS && self.bytes <= MAX_BYTES {
            return Ok(());
        }
        Err(SchemaError::new(format!(
            "the schema is too large: no more than {MAX_FIELDS} fields and {MAX_BYTES} bytes with all types written out; use \
             fields of type object"
        )))
    }
}

fn object<const N: usize>(fields: [(&str, Value); N]) -> Map<String, Value> {
    fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}
