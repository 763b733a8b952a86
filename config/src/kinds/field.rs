//! `Field`: one row of what a schema allows, and what of a schema becomes rows.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::cell::{code, prose};

/// Fields whose types are Kubernetes' own, by kind and path: what is inside them is told in Kubernetes' own reference.
const KUBERNETES: [(&str, &str, &str); 10] = [
    ("Broker", "spec.env[]", "EnvVar"),
    ("Broker", "spec.graphs.env[]", "EnvVar"),
    ("Broker", "spec.graphs.image.imagePullSecrets[]", "LocalObjectReference"),
    ("Broker", "spec.graphs.resources", "ResourceRequirements"),
    ("Broker", "spec.hostAliases[]", "HostAlias"),
    ("Broker", "spec.image.imagePullSecrets[]", "LocalObjectReference"),
    ("Broker", "spec.resources", "ResourceRequirements"),
    ("Broker", "spec.securityContext", "PodSecurityContext"),
    ("Broker", "spec.volumeMounts[]", "VolumeMount"),
    ("Broker", "spec.volumes[]", "Volume"),
];

/// The conditions of any kind.
const CONDITIONS: (&str, &str) = ("status.conditions[]", "Condition");

/// What every object has.
const TOP: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// A field, or what is inside one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Field {
    path: String,
    kind: String,
    required: bool,
    rules: String,
    description: String,
}

impl Field {
    /// Its row, in cells for path, type, whether it is required, default and validation, description.
    pub(super) fn row(&self) -> String {
        let Self { path, kind, required, rules, description } = self;
        let required = if *required { "yes" } else { "" };
        format!("| {} | {kind} | {required} | {rules} | {description} |\n", code(path))
    }
}

/// All fields of a kind, in the order of their names, each with those inside it behind it. `[]` stands for the elements of
/// a list, `{}` for the values of a map.
pub(super) fn fields(kind: &str, schema: &Value) -> Vec<Field> {
    let mut fields = Vec::new();
    walk(kind, "", schema, &mut fields);
    fields
}

fn walk(kind: &str, path: &str, schema: &Value, fields: &mut Vec<Field>) {
    let required: BTreeSet<&str> = texts(&schema["required"]).collect();
    let properties: BTreeMap<&String, &Value> = schema["properties"].as_object().into_iter().flatten().collect();
    for (name, property) in properties {
        if path.is_empty() && TOP.contains(&name.as_str()) {
            continue;
        }
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        fields.push(Field {
            kind: type_of(kind, &path, property),
            required: required.contains(name.as_str()),
            rules: rules_of(property).join("; "),
            description: prose(property["description"].as_str().unwrap_or_default()),
            path: path.clone(),
        });
        inside(kind, &path, property, fields);
    }
}

/// Its fields, and those of its elements and values.
fn inside(kind: &str, path: &str, schema: &Value, fields: &mut Vec<Field>) {
    if foreign(kind, path).is_some() {
        return;
    }
    walk(kind, path, schema, fields);
    for (part, mark) in PARTS {
        if schema[part].is_object() {
            inside(kind, &format!("{path}{mark}"), &schema[part], fields);
        }
    }
}

/// What is inside a schema without a name, and how paths write it.
const PARTS: [(&str, &str); 2] = [("items", "[]"), ("additionalProperties", "{}")];

/// The name of a type of Kubernetes' own.
fn foreign(kind: &str, path: &str) -> Option<&'static str> {
    let (conditions, condition) = CONDITIONS;
    if path == conditions {
        return Some(condition);
    }
    KUBERNETES.iter().find(|(of, at, _)| (*of, *at) == (kind, path)).map(|(.., name)| *name)
}

fn type_of(kind: &str, path: &str, schema: &Value) -> String {
    if let Some(name) = foreign(kind, path) {
        return name.to_owned();
    }
    if schema["x-kubernetes-int-or-string"] == true {
        return "integer or string".to_owned();
    }
    match schema["type"].as_str() {
        Some("array") => format!("list of {}", type_of(kind, &format!("{path}[]"), &schema["items"])),
        Some("object") if schema["additionalProperties"].is_object() => {
            format!("map of {}", type_of(kind, &format!("{path}{{}}"), &schema["additionalProperties"]))
        }
        Some("object") if schema["properties"].is_null() => "any object".to_owned(),
        Some(name) => name.to_owned(),
        None => "any value".to_owned(),
    }
}

/// Default and validation of a field, then of its elements or values.
fn rules_of(schema: &Value) -> Vec<String> {
    let mut rules = Vec::new();
    rules.extend(schema.get("default").map(|default| format!("default {}", code(&default.to_string()))));
    rules.extend(own_rules(schema));
    for (part, _) in PARTS {
        if schema[part].is_object() {
            rules.extend(rules_of(&schema[part]).into_iter().map(|rule| format!("each: {rule}")));
        }
    }
    rules
}

fn own_rules(schema: &Value) -> Vec<String> {
    let mut rules = Vec::new();
    if let Some(allowed) = schema["enum"].as_array() {
        let allowed: Vec<String> = allowed.iter().map(|value| code(&plain(value))).collect();
        rules.push(format!("one of {}", allowed.join(", ")));
    }
    for (least, most, of) in [
        ("minimum", "maximum", ""),
        ("minLength", "maxLength", " characters"),
        ("minItems", "maxItems", " entries"),
        ("minProperties", "maxProperties", " keys"),
    ] {
        rules.extend(range(number(&schema[least]), number(&schema[most]), of));
    }
    rules.extend(schema["pattern"].as_str().map(|pattern| format!("matches {}", code(pattern))));
    // The size of an integer says nothing to whoever writes one.
    let format = schema["format"].as_str().filter(|format| !format.starts_with("int"));
    rules.extend(format.map(|format| format!("format {format}")));
    rules.extend(match schema["x-kubernetes-list-type"].as_str() {
        Some("set") => Some("no entry twice".to_owned()),
        Some("map") => {
            let keys: Vec<String> = texts(&schema["x-kubernetes-list-map-keys"]).map(code).collect();
            Some(format!("one entry for each {}", keys.join(", ")))
        }
        _ => None,
    });
    for rule in schema["x-kubernetes-validations"].as_array().into_iter().flatten() {
        let message = rule["message"].as_str().map(prose);
        rules.extend(message.or_else(|| rule["rule"].as_str().map(code)));
    }
    rules
}

fn range(least: Option<String>, most: Option<String>, of: &str) -> Option<String> {
    match (least, most) {
        (None, None) => None,
        (Some(least), None) if least == "1" && !of.is_empty() => Some("not empty".to_owned()),
        (Some(least), None) => Some(format!("at least {least}{of}")),
        (None, Some(most)) => Some(format!("at most {most}{of}")),
        (Some(least), Some(most)) => Some(format!("{least} to {most}{of}")),
    }
}

/// A number as people write it: limits in CRDs are floats.
fn number(value: &Value) -> Option<String> {
    let float = value.as_f64()?;
    Some(if value.is_f64() && float.fract() == 0.0 { format!("{float:.0}") } else { value.to_string() })
}

/// A value that people may write; a text without quotes, but for an empty one.
fn plain(value: &Value) -> String {
    value.as_str().filter(|text| !text.is_empty()).map_or_else(|| value.to_string(), str::to_owned)
}

fn texts(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    fn rows(kind: &str, schema: &Value) -> Vec<String> {
        fields(kind, schema).iter().map(|field| field.row().trim_end().to_owned()).collect()
    }

    #[test]
    fn each_field_has_a_row_and_those_inside_it_follow() {
        let entry = json!({"type": "object", "required": ["key"], "properties": {
            "key": {"type": "string", "description": "A path.", "minLength": 1, "maxLength": 512},
            "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        }});
        let schema = json!({"required": ["spec"], "properties": {"apiVersion": {"type": "string"}, "spec": {
            "type": "object",
            "description": "What is\n\nwanted.",
            "properties": {
                "entries": {"type": "array", "maxItems": 64, "items": entry},
                "labels": {"type": "object", "additionalProperties": {"type": "string", "maxLength": 63}},
            },
        }}});
        assert_eq!(
            rows("Some", &schema),
            [
                "| `spec` | object | yes |  | What is<br>wanted. |",
                "| `spec.entries` | list of object |  | at most 64 entries |  |",
                "| `spec.entries[].any` | any object |  |  |  |",
                "| `spec.entries[].key` | string | yes | 1 to 512 characters | A path. |",
                "| `spec.labels` | map of string |  | each: at most 63 characters |  |",
            ]
        );
    }

    #[test]
    fn all_that_is_validated_is_told() {
        let of = |schema: Value| rules_of(&schema).join("; ");
        assert_eq!(of(json!({"default": "a", "enum": ["a", ""]})), "default `\"a\"`; one of `a`, `\"\"`");
        assert_eq!(of(json!({"minimum": 1.0, "maximum": 0.5})), "1 to 0.5");
        assert_eq!(of(json!({"maximum": 9_007_199_254_740_991_i64})), "at most 9007199254740991");
        assert_eq!(of(json!({"pattern": "^(a|b)$", "format": "int64"})), "matches `^(a\\|b)$`");
        assert_eq!(of(json!({"format": "date-time"})), "format date-time");
        assert_eq!(of(json!({"minLength": 1})), "not empty");
        assert_eq!(of(json!({"minimum": 1.0})), "at least 1");
        let map = json!({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]});
        assert_eq!(of(map), "one entry for each `name`");
        let rules = json!([{"rule": "self > 0", "message": "must be *more*"}, {"rule": "a || b"}]);
        assert_eq!(of(json!({"x-kubernetes-validations": rules})), "must be \\*more\\*; `a \\|\\| b`");
        assert_eq!(of(json!({"items": {"enum": ["x"]}, "maxItems": 2})), "at most 2 entries; each: one of `x`");
    }

    #[test]
    fn types_of_kubernetes_are_named_and_not_told() {
        let inner = json!({"type": "object", "properties": {"name": {"type": "string"}}});
        let list = json!({"type": "array", "items": inner});
        let of = |kind: &str, part: &str, field: &str| {
            let mut schema = json!({"properties": {}});
            schema["properties"][part] = json!({"type": "object", "properties": {}});
            schema["properties"][part]["properties"][field] = list.clone();
            rows(kind, &schema)
        };
        assert_eq!(of("Broker", "spec", "env")[1..], ["| `spec.env` | list of EnvVar |  |  |  |"]);
        assert_eq!(of("Other", "spec", "env").len(), 3);
        assert_eq!(of("Other", "status", "conditions")[1..], ["| `status.conditions` | list of Condition |  |  |  |"]);
        let mut crds = broker_api::crds().into_iter().map(|crd| serde_json::to_value(crd).unwrap());
        let broker = crds.find(|crd| crd["spec"]["names"]["kind"] == "Broker").unwrap();
        let schema = &broker["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        let all = fields("Broker", schema);
        for (_, path, name) in KUBERNETES {
            let path = path.trim_end_matches("[]");
            assert!(all.iter().any(|field| field.path == path && field.kind.ends_with(name)), "{path}");
        }
        assert!(all.len() < 100, "something of Kubernetes' own is told in full: {}", all.len());
    }
}
