//! Where an object and its copy differ, field by field.

use std::collections::BTreeMap;

use anyhow::Context as _;
use broker_api::{ClusterName, keys};
use broker_core::copy;
use serde_json::Value;

use crate::{
    cluster::Place,
    clusters::Clusters,
    paint::harmless,
    subject::Found,
    trace::{annotation, origin_key},
};

/// What is shown of a value.
const SHOWN: usize = 120;

/// All fields of an object that both sides are to have, and their values.
fn fields(object: &Value) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for (name, value) in object.as_object().into_iter().flatten() {
        if !matches!(name.as_str(), "apiVersion" | "kind" | "metadata" | "status") {
            walk(name, value, &mut all);
        }
    }
    all
}

fn walk(path: &str, value: &Value, all: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (name, value) in map {
                let name = if name.contains('.') { format!("[{name:?}]") } else { format!(".{name}") };
                walk(&format!("{path}{name}"), value, all);
            }
        }
        Value::Array(list) if !list.is_empty() => {
            for (index, value) in list.iter().enumerate() {
                walk(&format!("{path}[{index}]"), value, all);
            }
        }
        other => {
            all.insert(path.to_owned(), other.to_string());
        }
    }
}

/// Who owns a field, by `metadata.managedFields`: the managers that have it or anything below it.
fn owners(object: &Value, path: &str) -> Vec<String> {
    let parts: Vec<&str> = path.split(['.', '[']).map(|part| part.trim_end_matches(']')).collect();
    let managers = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    let owning = managers.filter(|entry| {
        let mut at = &entry["fieldsV1"];
        for part in &parts {
            // Lists are owned by keys or values of their items: there it is the list that counts.
            if part.parse::<usize>().is_ok() {
                break;
            }
            at = &at[format!("f:{}", part.trim_matches('"'))];
            if at.is_null() {
                return false;
            }
        }
        true
    });
    let mut names: Vec<String> = owning.filter_map(|entry| entry["manager"].as_str().map(str::to_owned)).collect();
    names.sort();
    names.dedup();
    names
}

/// One line for each field that differs; empty where none does.
fn differences(origin: &Value, held: &Value) -> Vec<String> {
    let (left, right) = (fields(origin), fields(held));
    let mut lines = Vec::new();
    let paths: std::collections::BTreeSet<&String> = left.keys().chain(right.keys()).collect();
    for path in paths {
        let (here, there) = (left.get(path), right.get(path));
        if here == there {
            continue;
        }
        let side = |value: Option<&String>| value.map_or("(not set)".to_owned(), |value| short(value));
        let owners = owners(held, path);
        let owners = if owners.is_empty() { String::new() } else { format!("  owned there by {}", owners.join(", ")) };
        lines.push(format!("{path}: {} → {}{owners}", side(here), side(there)));
    }
    lines
}

fn short(value: &str) -> String {
    let cut: String = harmless(value).chars().take(SHOWN).collect();
    if cut.chars().count() < value.chars().count() { format!("{cut}…") } else { cut }
}

/// Prints them. `true`: there are some.
pub(crate) async fn diff(clusters: &Clusters, found: &Found) -> anyhow::Result<bool> {
    let provider = annotation(&found.object, keys::PROVIDER_CLUSTER);
    let provider = provider.with_context(|| format!("{}: the object is at no provider", found.cluster.name))?;
    let provider = clusters
        .get(&ClusterName::provider(provider))
        .with_context(|| format!("provider {provider} is not among the clusters"))?;
    let key = origin_key(&found.cluster.name, &found.resource, &found.object);
    let name = copy::name(&key);
    let place = Place { namespace: &key.namespace, name: &name };
    let held = provider.get(&found.resource, place).await?;
    let held = held.with_context(|| format!("{}: there is no copy {}/{name}", provider.name, key.namespace))?;
    let lines = differences(&found.object, &held);
    if lines.is_empty() {
        println!("{} and {} say the same", found.cluster.name, provider.name);
        return Ok(false);
    }
    println!("{} → {}", found.cluster.name, provider.name);
    for line in &lines {
        println!("  {line}");
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_field_that_differs_is_told_with_its_owner() {
        let origin = json!({ "kind": "K", "metadata": { "name": "a" }, "spec": { "a": 1, "list": [1, 2], "same": true }, "status": { "x": 1 } });
        let held = json!({ "kind": "K", "metadata": { "name": "b", "managedFields": [
            { "manager": "operator", "fieldsV1": { "f:spec": { "f:size": {}, "f:list": {} } } } ] },
            "spec": { "a": 1, "list": [1, 3], "same": true, "size": "big" } });
        assert_eq!(
            differences(&origin, &held),
            ["spec.list[1]: 2 → 3  owned there by operator", "spec.size: (not set) → \"big\"  owned there by operator"]
        );
        assert!(differences(&origin, &origin).is_empty());
    }
}
