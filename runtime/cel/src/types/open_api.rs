//! [`Type`]s → OpenAPI schemas: what a field of an instance's status holds that an expression gives.

use serde_json::{Map, Value, json};

use super::{
    budget::Budget,
    cel_type::{Field, Struct, Type},
};

/// Lists, maps and fields of objects that one CRD has for its status. API servers take no CRD of more than 1.5 MiB, and a
/// kind's whole schema has up to ten thousand of them.
const PARTS: u32 = 32_000;

/// The schema of a status field that holds values of this type: see [`Schemas::of`].
pub fn open_api(of: &Type) -> Value {
    Schemas::default().of(of)
}

/// Writes the schemas of all fields of one status.
#[derive(Debug)]
pub struct Schemas {
    budget: Budget,
}

impl Default for Schemas {
    fn default() -> Self {
        Self { budget: Budget::of(PARTS) }
    }
}

/// Inside of an object that is written out, less is known of a value than where an expression gives it as it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Whole,
    Field,
}

impl Schemas {
    /// The schema of a status field that holds values of this type, as kro infers it: descriptions and all, for suites compare
    /// whole trees. Fields of objects have their real names. What is too large to be written out with all before it takes
    /// anything.
    pub fn of(&mut self, of: &Type) -> Value {
        self.write(of, Place::Whole, 0)
    }

    fn write(&mut self, of: &Type, place: Place, depth: u32) -> Value {
        let has_parts = matches!(of, Type::List(_) | Type::Map(_) | Type::Struct(_));
        if (has_parts || place == Place::Field) && self.budget.look(depth).is_err() {
            return anything();
        }
        match of {
            Type::Bool => json!({"type": "boolean"}),
            Type::Int | Type::Uint => json!({"type": "integer"}),
            Type::Double => json!({"type": "number"}),
            Type::String => json!({"type": "string"}),
            Type::Bytes => json!({"type": "string", "format": "byte"}),
            Type::List(element) => json!({"type": "array", "items": self.write(element, place, depth + 1)}),
            Type::Map(entry) => {
                json!({"type": "object", "additionalProperties": self.write(&entry.1, place, depth + 1)})
            }
            Type::Struct(object) => self.write_object(object, depth),
            Type::Native(native) if native.is_object() => json!({"type": "object", "additionalProperties": true}),
            Type::Dyn => anything(),
            _ if place == Place::Field => anything(),
            Type::Timestamp => {
                json!({"type": "string", "format": "date-time", "description": "Timestamp representing a creation time"})
            }
            Type::Null => described("null type - any value allowed"),
            other => described(&format!("unknown CEL type: {other}")),
        }
    }

    fn write_object(&mut self, object: &Struct, depth: u32) -> Value {
        let write =
            |(name, field): (&String, &Field)| (name.clone(), self.write(&field.value, Place::Field, depth + 1));
        let properties: Map<String, Value> = object.fields().iter().map(write).collect();
        if !properties.is_empty() {
            return json!({"type": "object", "properties": properties});
        }
        // Without fields and closed it would hold nothing: the API server prunes what is in it.
        if object.is_open() {
            return json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        }
        json!({"type": "object"})
    }
}

fn anything() -> Value {
    json!({"x-kubernetes-preserve-unknown-fields": true})
}

fn described(what: &str) -> Value {
    json!({"x-kubernetes-preserve-unknown-fields": true, "description": what})
}
