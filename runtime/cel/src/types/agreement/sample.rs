//! Objects that fit a schema which has a field of every type.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::choices::Choices;

pub(super) static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let text = |format: &str| json!({"type": "string", "format": format});
    let list = |items: Value| json!({"type": "array", "items": items});
    let map = |values: Value| json!({"type": "object", "additionalProperties": values});
    let integer = || json!({"type": "integer"});
    let port =
        json!({"type": "object", "properties": {"name": text(""), "port": integer(), "on": {"type": "boolean"}}});
    json!({"type": "object", "properties": {
        "data": map(text("")),
        "spec": {"type": "object", "properties": {
            "at": text("date-time"),
            "bytes": text("byte"),
            "count": integer(),
            "counts": list(integer()),
            "day": text("date"),
            "flag": {"type": "boolean"},
            "grid": list(list(integer())),
            "keys": map(text("byte")),
            "limits": map(integer()),
            "moments": list(text("date-time")),
            "name": text(""),
            "odd-name": text(""),
            "namespace": text(""),
            "ports": list(port.clone()),
            "byName": map(port),
            "ratio": {"type": "number"},
            "ratios": list(json!({"type": "number"})),
            "tags": list(text("")),
            "wait": text("duration"),
        }},
    }})
});

/// Makes values.
pub(super) struct Sample(pub(super) Choices);

impl Sample {
    pub(super) fn object(&mut self) -> Value {
        let mut object = self.value(&SCHEMA);
        object["apiVersion"] = json!("v1");
        object["kind"] = json!("Kind");
        object["metadata"] = json!({"name": "one", "labels": {"a": "b"}, "creationTimestamp": "2026-01-31T01:02:03Z"});
        object
    }

    fn value(&mut self, schema: &Value) -> Value {
        let text = |key: &str| schema[key].as_str().unwrap_or_default();
        match (text("type"), text("format")) {
            ("boolean", _) => json!(self.0.below(2) == 1),
            ("integer", _) => json!(*self.0.of(&[1, 0, -1, 80, i64::MAX, i64::MIN])),
            ("number", _) => self.0.of(&[json!(0.5), json!(2), json!(0), json!(-1e300)]).clone(),
            ("string", "byte") => json!(self.0.of(&["YQ==", ""])),
            ("string", "date") => json!("2026-01-31"),
            ("string", "date-time") => json!(self.0.of(&["2026-01-31T01:02:03Z", "2026-01-31T01:02:03.5+02:00"])),
            ("string", "duration") => json!(self.0.of(&["1h30m", "0s", "5ms"])),
            ("string", _) => json!(self.0.of(&["a", "", "1", "é", "2026-01-31T01:02:03Z", "1h"])),
            ("array", _) => (0..self.0.below(4)).map(|_| self.value(&schema["items"])).collect(),
            _ => {
                let mut fields = Map::new();
                if let Value::Object(properties) = &schema["properties"] {
                    for (name, of) in properties {
                        if self.0.below(4) < 3 {
                            fields.insert(name.clone(), self.value(of));
                        }
                    }
                } else {
                    for key in ["a", "b"].into_iter().take(self.0.below(3)) {
                        fields.insert(key.to_owned(), self.value(&schema["additionalProperties"]));
                    }
                }
                Value::Object(fields)
            }
        }
    }
}
