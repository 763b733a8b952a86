use std::collections::BTreeMap;

use broker_api::graphs::keys;
use graphs_core::applyset::{self, GroupKind, Inventory};
use serde_json::Value;

use super::{each, equal, text};

fn texts(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str)
}

#[test]
fn ids_and_inventories_are_as_recorded() {
    each("applyset.json", |entry| {
        let id = applyset::id(text(entry, "name"), text(entry, "namespace"), text(entry, "kind"), text(entry, "group"));
        equal("the id", id.as_str(), text(entry, "id"))?;
        let parsed: Result<_, _> = texts(&entry["groupKinds"]).map(str::parse::<GroupKind>).collect();
        let inventory = Inventory {
            group_kinds: parsed.map_err(|error| error.to_string())?,
            namespaces: texts(&entry["namespaces"]).map(str::to_owned).collect(),
        };
        let annotations = inventory.annotations(&id, "kro/v0.9.3");
        for (key, recorded) in [
            (keys::APPLYSET_GROUP_KINDS, "contains-group-kinds"),
            (keys::APPLYSET_NAMESPACES, "additional-namespaces"),
            (keys::APPLYSET_HASH, "inventory-hash"),
        ] {
            equal(key, annotations[key].as_str(), text(entry, recorded))?;
        }
        let annotations: BTreeMap<String, String> =
            annotations.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        let labels = BTreeMap::from([(keys::APPLYSET_ID.to_owned(), id.clone())]);
        equal("what is read back", &Inventory::read(&id, &labels, &annotations), &Ok(inventory))
    });
}
