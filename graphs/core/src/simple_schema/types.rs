//! The types of an RGD's own: which use which, and so in which order they are made.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{
    MAX_DEPTH,
    build::{Built, too_deep, unexpected},
    error::{SchemaError, shown},
    field_type::{self, FieldType},
};

/// How many names of a circle are told.
const SHOWN: usize = 8;

/// The types that are made already, by name.
pub(super) type Types<'a> = BTreeMap<&'a str, Built>;

/// The types so that each follows all that it uses.
pub(super) fn ordered(types: &Map<String, Value>) -> Result<Vec<(&str, &Value)>, SchemaError> {
    let mut graph = BTreeMap::new();
    for (name, definition) in types {
        let mut used = BTreeSet::new();
        collect(definition, &mut used, 0).map_err(|error| error.within(name).within("types"))?;
        if let Some(unknown) = used.iter().find(|used| !types.contains_key(**used)) {
            return Err(SchemaError::new(field_type::unknown(unknown)).within(name).within("types"));
        }
        graph.insert(name.as_str(), used);
    }
    let mut dependents: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, used) in &graph {
        for used in used {
            dependents.entry(*used).or_default().push(*name);
        }
    }
    let mut waiting: BTreeMap<&str, usize> = graph.iter().map(|(name, used)| (*name, used.len())).collect();
    let mut free: Vec<&str> = waiting.iter().filter(|(_, count)| **count == 0).map(|(name, _)| *name).collect();
    let mut order = Vec::with_capacity(types.len());
    while let Some(name) = free.pop() {
        waiting.remove(name);
        order.extend(types.get_key_value(name).map(|(name, definition)| (name.as_str(), definition)));
        for dependent in dependents.get(name).into_iter().flatten() {
            if let Some(count) = waiting.get_mut(dependent) {
                *count -= 1;
                if *count == 0 {
                    free.push(dependent);
                }
            }
        }
    }
    match waiting.keys().next() {
        None => Ok(order),
        Some(first) => Err(circle(first, &waiting, &graph)),
    }
}

/// Names of the types of the RGD's own that a definition uses.
fn collect<'a>(value: &'a Value, used: &mut BTreeSet<&'a str>, depth: usize) -> Result<(), SchemaError> {
    if depth > MAX_DEPTH {
        return Err(too_deep());
    }
    match value {
        Value::String(text) => used.extend(FieldType::parse(field_type::split(text).0)?.custom()),
        Value::Object(fields) => {
            for (name, field) in fields {
                collect(field, used, depth + 1).map_err(|error| error.within(name))?;
            }
        }
        other => return Err(unexpected(other)),
    }
    Ok(())
}

/// Tells a circle: each type that waits uses another one that waits.
fn circle<'a>(
    first: &'a str,
    waiting: &BTreeMap<&'a str, usize>,
    graph: &BTreeMap<&str, BTreeSet<&'a str>>,
) -> SchemaError {
    let mut seen = BTreeSet::new();
    let mut name = first;
    // Not all that wait are on a circle, but after as many steps as there are, one is.
    while seen.insert(name) {
        name = next(name, waiting, graph).unwrap_or(name);
    }
    let mut names = vec![shown(name)];
    let mut at = name;
    while let Some(following) = next(at, waiting, graph) {
        at = following;
        names.push(if names.len() < SHOWN { shown(at) } else { "…".into() });
        if at == name || names.len() > SHOWN {
            break;
        }
    }
    let what = format!("cyclic dependency in type {}: {}; take one of them out", shown(name), names.join(" -> "));
    SchemaError::new(what).within(name).within("types")
}

fn next<'a>(
    name: &str,
    waiting: &BTreeMap<&'a str, usize>,
    graph: &BTreeMap<&str, BTreeSet<&'a str>>,
) -> Option<&'a str> {
    let used = graph.get(name)?;
    used.iter().find_map(|used| waiting.get_key_value(used).map(|(name, _)| *name))
}
