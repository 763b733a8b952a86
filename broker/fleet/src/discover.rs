//! Discovery: whether an API server serves a kind, how, and what its schema can hold.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResourceList;
use kube::core::GroupVersionKind;
use serde_json::{Value, json};

use crate::{
    call::{Caller, JSON, OBJECT_LIMIT, get},
    error::CallError,
    kind::{KindInfo, group_version_path},
};

/// Asks for one kind. `None`: not served.
pub async fn kind(caller: &Caller, gvk: &GroupVersionKind) -> Result<Option<KindInfo>, CallError> {
    let path = group_version_path(&gvk.group, &gvk.version);
    let answer = match caller.call(get(&path, JSON)?, OBJECT_LIMIT).await {
        Ok((_, answer)) => answer,
        Err(CallError::KindMissing(_) | CallError::NotFound(_)) => return Ok(None),
        Err(error) => return Err(error),
    };
    let list: APIResourceList = serde_json::from_slice(&answer)
        .map_err(|error| CallError::UnknownOutcome(format!("unreadable discovery at {path}: {error}")))?;
    let found = list.resources.iter().find(|r| r.kind == gvk.kind && !r.name.contains('/'));
    Ok(found.map(|resource| KindInfo {
        gvk: gvk.clone(),
        plural: resource.name.clone(),
        namespaced: resource.namespaced,
        has_status: list.resources.iter().any(|r| r.name == format!("{}/status", resource.name)),
    }))
}

/// The OpenAPI v3 schema of a kind with its references resolved. `None`: not published (yet).
pub async fn schema(caller: &Caller, gvk: &GroupVersionKind) -> Result<Option<Value>, CallError> {
    let path = format!("/openapi/v3{}", group_version_path(&gvk.group, &gvk.version));
    let answer = match caller.call(get(&path, JSON)?, 4 * OBJECT_LIMIT).await {
        Ok((_, answer)) => answer,
        Err(CallError::KindMissing(_) | CallError::NotFound(_) | CallError::Forbidden(_)) => return Ok(None),
        Err(error) => return Err(error),
    };
    let document: Value = serde_json::from_slice(&answer)
        .map_err(|error| CallError::UnknownOutcome(format!("unreadable schema at {path}: {error}")))?;
    let Some(schemas) = document["components"]["schemas"].as_object() else { return Ok(None) };
    let is_ours = |schema: &&Value| {
        schema["x-kubernetes-group-version-kind"]
            .as_array()
            .is_some_and(|list| list.contains(&json!({"group": gvk.group, "version": gvk.version, "kind": gvk.kind})))
    };
    let Some(schema) = schemas.values().find(is_ours) else { return Ok(None) };
    let map: BTreeMap<&str, &Value> = schemas.iter().map(|(name, schema)| (name.as_str(), schema)).collect();
    Ok(Some(inline(schema, &map, &mut Vec::new(), &mut NODES.clone(), 0)))
}

/// How many schema nodes are followed at the most; what comes after them is taken to hold anything.
const NODES: usize = 200_000;

/// How deep schema nodes may lie. Everybody who walks a schema recurses, and an API server must not choose our stack.
const DEPTH: usize = 100;

/// Puts referenced schemas in place. A schema within itself, and what is beyond the budget, becomes `{}`: it holds anything.
fn inline(
    schema: &Value,
    all: &BTreeMap<&str, &Value>,
    open: &mut Vec<String>,
    budget: &mut usize,
    depth: usize,
) -> Value {
    if *budget == 0 || depth > DEPTH {
        return json!({});
    }
    *budget -= 1;
    match schema {
        Value::Object(fields) => {
            if let Some(target) = fields.get("$ref").and_then(Value::as_str) {
                let name = target.rsplit('/').next().unwrap_or_default();
                let Some(found) = all.get(name) else { return json!({}) };
                if open.iter().any(|seen| seen == name) {
                    return json!({});
                }
                open.push(name.to_owned());
                let inlined = inline(found, all, open, budget, depth + 1);
                open.pop();
                return inlined;
            }
            let is_text = |name: &str, value: &Value| name == "description" && value.is_string();
            let kept = fields.iter().filter(|(name, value)| !is_text(name, value));
            kept.map(|(name, value)| (name.clone(), inline(value, all, open, budget, depth + 1))).collect()
        }
        Value::Array(items) => items.iter().map(|item| inline(item, all, open, budget, depth + 1)).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_resolved_and_cycles_end() {
        let leaf = json!({"type": "object", "description": "d", "properties": {"next": {"$ref": "#/components/schemas/leaf"}}});
        let all = BTreeMap::from([("leaf", &leaf)]);
        let inlined =
            inline(&json!({"items": {"$ref": "#/components/schemas/leaf"}}), &all, &mut Vec::new(), &mut 100, 0);
        assert_eq!(inlined, json!({"items": {"type": "object", "properties": {"next": {}}}}));
    }

    #[test]
    fn a_schema_made_to_be_deep_ends() {
        let nested = |target: &str| {
            let leaf = json!({"$ref": format!("#/components/schemas/{target}")});
            (0..60).fold(leaf, |inner, _| json!({"items": inner}))
        };
        let schemas: Vec<(String, Value)> =
            (0..200).map(|n| (format!("s{n}"), nested(&format!("s{}", n + 1)))).collect();
        let all: BTreeMap<&str, &Value> = schemas.iter().map(|(name, schema)| (name.as_str(), schema)).collect();
        let inlined = inline(&schemas[0].1, &all, &mut Vec::new(), &mut NODES.clone(), 0);
        let mut depth = 0;
        let mut at = &inlined;
        while let Some(inner) = at.get("items") {
            (depth, at) = (depth + 1, inner);
        }
        assert!((60..=DEPTH).contains(&depth), "{depth}");
    }
}
