//! One step of a path into an object, as `managedFields` write it: `f:name`, `k:{"key":"value"}`, `v:"value"`.

use std::rc::Rc;

use serde_json::{Map, Value};

use crate::schema::{Relation, Schema};

/// There are many copies of each: sets of paths share them.
pub(crate) type Element = Rc<str>;

pub(crate) fn field(name: &str) -> Element {
    format!("f:{name}").into()
}

/// The name of a field, if it is one.
pub(crate) fn field_name(element: &str) -> Option<&str> {
    element.strip_prefix("f:")
}

/// What tells an element of a list from the others. `None`: it has no key.
pub(crate) fn of_item(relation: &Relation<'_>, items: Schema<'_>, item: &Value) -> Option<Element> {
    match relation {
        Relation::Atomic => None,
        Relation::Set => Some(format!("v:{item}").into()),
        Relation::Keys(names) => {
            let fields = item.as_object()?;
            let mut keys = Map::new();
            for name in names {
                let default = || items.declared(name).and_then(|field| field.get("default"));
                if let Some(value) = fields.get(*name).or_else(default) {
                    keys.insert((*name).to_owned(), value.clone());
                }
            }
            (!keys.is_empty()).then(|| format!("k:{}", Value::Object(keys)).into())
        }
    }
}

/// As errors name it: `.name`, `[key="value"]`, `[="value"]`.
pub(crate) fn shown(element: &str) -> String {
    if let Some(name) = field_name(element) {
        return format!(".{name}");
    }
    if let Some(value) = element.strip_prefix("v:") {
        return format!("[={value}]");
    }
    let keys: Map<String, Value> =
        element.strip_prefix("k:").and_then(|keys| serde_json::from_str(keys).ok()).unwrap_or_default();
    let keys: Vec<String> = keys.iter().map(|(name, value)| format!("{name}={value}")).collect();
    format!("[{}]", keys.join(","))
}
