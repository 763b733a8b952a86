//! Sets of objects, to be compared.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;

/// Objects by kind, namespace and name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Objects(BTreeMap<String, Value>);

impl Objects {
    /// The objects of a YAML text; none may be there twice.
    pub(crate) fn parse(yaml: &str) -> Self {
        let mut objects = BTreeMap::new();
        for object in harness::parse_objects(yaml).unwrap() {
            let value = serde_json::to_value(&object).unwrap();
            let types = object.types.unwrap();
            let meta = object.metadata;
            let key = format!(
                "{} {} {}/{}",
                types.api_version,
                types.kind,
                meta.namespace.unwrap_or_default(),
                meta.name.unwrap()
            );
            assert!(objects.insert(key.clone(), value).is_none(), "{key} is there twice");
        }
        Self(objects)
    }

    /// Without what Helm alone understands, and without the labels that it sets.
    pub(crate) fn without_helm(mut self) -> Self {
        for object in self.0.values_mut() {
            let metadata = object["metadata"].as_object_mut().unwrap();
            for kind in ["labels", "annotations"] {
                let Some(pairs) = metadata.get_mut(kind).and_then(Value::as_object_mut) else { continue };
                pairs.retain(|key, value| {
                    let helms =
                        key.starts_with("helm.sh/") || (key == "app.kubernetes.io/managed-by" && value == "Helm");
                    !helms
                });
                if pairs.is_empty() {
                    metadata.remove(kind);
                }
            }
        }
        self
    }

    /// The one of this kind and name.
    pub(crate) fn get(&self, kind: &str, name: &str) -> &Value {
        let (kind, name) = (format!(" {kind} "), format!("/{name}"));
        let found: Vec<_> = self.0.iter().filter(|(key, _)| key.contains(&kind) && key.ends_with(&name)).collect();
        assert_eq!(found.len(), 1, "{kind}{name} in {self}");
        found[0].1
    }

    /// Kind, namespace and name of each.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// What differs: paths with both values.
    pub(crate) fn differences(&self, other: &Self) -> Vec<String> {
        let mut found = Vec::new();
        let keys: BTreeSet<_> = self.0.keys().chain(other.0.keys()).collect();
        for key in keys {
            compare(key, self.0.get(key), other.0.get(key), &mut found);
        }
        found
    }
}

impl fmt::Display for Objects {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.keys().collect::<Vec<_>>().join("\n"))
    }
}

fn compare(path: &str, left: Option<&Value>, right: Option<&Value>, found: &mut Vec<String>) {
    match (left, right) {
        (Some(Value::Object(left)), Some(Value::Object(right))) => {
            let keys: BTreeSet<_> = left.keys().chain(right.keys()).collect();
            for key in keys {
                compare(&format!("{path}.{key}"), left.get(key), right.get(key), found);
            }
        }
        (Some(Value::Array(left)), Some(Value::Array(right))) => {
            for index in 0..left.len().max(right.len()) {
                compare(&format!("{path}[{index}]"), left.get(index), right.get(index), found);
            }
        }
        (left, right) if left == right => {}
        (left, right) => {
            let shown = |value: Option<&Value>| value.map_or("absent".to_owned(), Value::to_string);
            found.push(format!("{path}: {} ≠ {}", shown(left), shown(right)));
        }
    }
}
