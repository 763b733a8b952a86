//! SimpleSchema, `{"spec": {…}, "types": {…}}`: what is made is structural, within its bounds, and the same again.

use graphs_core::{
    canonical,
    simple_schema::{MAX_DEPTH, to_open_api},
};
use runtime_cel::types;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::structural;

#[derive(Deserialize)]
struct Input {
    #[serde(default)]
    spec: Map<String, Value>,
    #[serde(default)]
    types: Map<String, Value>,
}

pub(crate) fn run(data: &[u8]) {
    let Ok(Input { spec, types }) = serde_json::from_slice(data) else { return };
    let schema = match to_open_api(&spec, &types) {
        Ok(schema) => schema,
        Err(error) => {
            let told = error.to_string();
            return assert!(told.starts_with("spec") || told.starts_with("types") || told.contains("cyclic"), "{told}");
        }
    };
    assert_eq!(to_open_api(&spec, &types).ok().as_ref(), Some(&schema), "another schema the second time");
    assert_eq!(structural::flaw(&schema), None);
    // A level is a field within `properties`.
    assert!(canonical::is_within(&schema, 2 * (MAX_DEPTH + 2) + 30), "too deep: {schema}");
    let printed = schema.to_string();
    assert_eq!(serde_json::from_str::<Value>(&printed).ok(), Some(schema.clone()), "it cannot be read back");
    let of = types::value("spec", &schema);
    assert_eq!(types::fits(&of, &of), Ok(()), "{of}");
}
