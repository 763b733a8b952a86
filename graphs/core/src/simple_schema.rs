//! SimpleSchema: fields as people write them, `port: integer | default=80`, to the structural schema that a CRD has.
//!
//! Two inputs, both free objects of an RGD: the fields of `spec`, and the types they may use. What comes out is bounded in
//! depth and in size, whatever goes in: types that use types twice would double it with every line.

mod apply;
mod build;
mod error;
mod field_type;
mod marker;
mod re2;
mod scalar;
mod types;

use serde_json::{Map, Value};

pub use self::error::SchemaError;
use self::{
    build::Builder,
    types::{Types, ordered},
};

/// Levels of the schema that may be within each other: fields, elements of lists, values of maps. The CRD around it has to
/// stay readable: a field is two levels of JSON, and `serde_json` reads 128.
pub const MAX_DEPTH: usize = 40;

/// Levels of a default value.
const MAX_DEFAULT_DEPTH: usize = 24;

/// Fields of all types and of `spec` together, each type counted wherever it is used.
pub const MAX_FIELDS: usize = 40_000;

/// Bytes of text of all types and of `spec` together, counted alike.
pub const MAX_BYTES: usize = 2 * 1024 * 1024;

/// The schema of `spec`, as OpenAPI v3 has it in a CRD: `{"type": "object", "properties": …}`.
pub fn to_open_api(spec: &Map<String, Value>, types: &Map<String, Value>) -> Result<Value, SchemaError> {
    let mut builder = Builder::default();
    let mut known = Types::default();
    for (name, definition) in ordered(types)? {
        let built = builder.define(definition, &known).map_err(|error| error.within(name).within("types"))?;
        known.insert(name, built);
    }
    builder.fields(spec, &known, 0).map(|built| Value::Object(built.schema)).map_err(|error| error.within("spec"))
}
