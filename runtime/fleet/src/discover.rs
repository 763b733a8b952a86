//! Discovery: whether an API server serves a kind, how, and what its schema can hold.

use std::{borrow::Cow, collections::HashMap, fmt};

use kube::core::GroupVersionKind;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, json, value::RawValue};

use crate::{
    call::{Caller, JSON, get},
    each::{fields, within},
    error::{CallError, cut},
    kind::{KindInfo, group_version_path},
    shape::Shape,
};

/// Longest discovery document of one group and version.
const DISCOVERY_LIMIT: usize = 2 << 20;

/// Longest OpenAPI document of one group and version.
const OPENAPI_LIMIT: usize = 8 << 20;

/// Most schemas in such a document.
const MOST_SCHEMAS: usize = 20_000;

/// What a kind's schema may take in memory as a tree, with its references resolved, in bytes. The largest of well-known CRDs
/// take a third of it.
const TREE: usize = 24 << 20;

/// What we read of meta/v1 `APIResource`.
#[derive(Deserialize)]
struct Resource<'a> {
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    kind: Cow<'a, str>,
    #[serde(default)]
    namespaced: bool,
}

/// Asks for one kind. `None`: not served.
pub async fn kind(caller: &Caller, gvk: &GroupVersionKind) -> Result<Option<KindInfo>, CallError> {
    let path = group_version_path(&gvk.group, &gvk.version);
    let answer = match caller.call(get(&path, JSON)?, DISCOVERY_LIMIT).await {
        Ok((_, answer)) => answer,
        Err(CallError::KindMissing(_) | CallError::NotFound(_)) => return Ok(None),
        Err(error) => return Err(error),
    };
    let unreadable = |error| CallError::UnknownOutcome(format!("unreadable discovery at {path}: {error}"));
    find(&answer, gvk).map_err(unreadable)
}

fn find(document: &[u8], gvk: &GroupVersionKind) -> Result<Option<KindInfo>, serde_json::Error> {
    let mut found: Option<KindInfo> = None;
    // `<plural>/status` may come before or after its resource; there are few of the kind, whatever else there is.
    let mut status: Option<String> = None;
    each_resource(document, |resource| {
        if found.is_none() && resource.kind == gvk.kind && !resource.name.contains('/') {
            status = Some(format!("{}/status", resource.name));
            found = Some(KindInfo {
                gvk: gvk.clone(),
                plural: resource.name.into_owned(),
                namespaced: resource.namespaced,
                has_status: false,
            });
        }
    })?;
    if let (Some(found), Some(status)) = (&mut found, status) {
        each_resource(document, |resource| found.has_status |= resource.name == status)?;
    }
    Ok(found)
}

fn each_resource<'a>(document: &'a [u8], take: impl FnMut(Resource<'a>)) -> Result<(), serde_json::Error> {
    within::<_, IgnoredAny>(document, "resources", "groupVersion", take).map(drop)
}

/// The OpenAPI v3 schema of a kind with its references resolved. `None`: not published (yet).
pub async fn schema(caller: &Caller, gvk: &GroupVersionKind) -> Result<Option<Value>, CallError> {
    let path = format!("/openapi/v3{}", group_version_path(&gvk.group, &gvk.version));
    let answer = match caller.call(get(&path, JSON)?, OPENAPI_LIMIT).await {
        Ok((_, answer)) => answer,
        Err(CallError::KindMissing(_) | CallError::NotFound(_) | CallError::Forbidden(_)) => return Ok(None),
        Err(error) => return Err(error),
    };
    let unreadable = |error: &dyn fmt::Display| {
        CallError::Invalid(format!("the schema at {path} cannot be used: {}", cut(&error.to_string())))
    };
    let wanted = gvk.clone();
    let read = tokio::task::spawn_blocking(move || resolve(&answer, &wanted)).await;
    read.map_err(|error| unreadable(&error))?.map_err(|error| unreadable(&error))
}

/// Where a schema says of which kinds it is.
const KIND_OF: &str = "x-kubernetes-group-version-kind";

/// Schemas of a document by their names, as they were sent.
type Schemas<'a> = HashMap<Cow<'a, str>, &'a RawValue>;

fn resolve(document: &[u8], gvk: &GroupVersionKind) -> Result<Option<Value>, String> {
    let said = |error: serde_json::Error| error.to_string();
    let mut schemas = Schemas::new();
    let mut ours: Option<&RawValue> = None;
    let Some(raw) = Outer::schemas(document).map_err(said)? else { return Ok(None) };
    fields(raw.get().as_bytes(), |name, schema| {
        if ours.is_none() && is_of(schema, gvk) {
            ours = Some(schema);
        }
        schemas.insert(name, schema);
        schemas.len() <= MOST_SCHEMAS
    })
    .map_err(said)?;
    let Some(ours) = ours else { return Ok(None) };
    let mut inliner = Inliner { all: &schemas, open: Vec::new(), left: TREE };
    // Half a schema would be taken for a whole one: fields would be lost without a word.
    let schema = inliner.read(ours, 0).ok_or_else(|| format!("it takes more than {} MiB", TREE >> 20))?;
    Ok(Some(schema))
}

#[derive(Deserialize)]
struct Outer<'a> {
    #[serde(borrow, default)]
    components: Option<Components<'a>>,
}

#[derive(Deserialize)]
struct Components<'a> {
    #[serde(borrow, default)]
    schemas: Option<&'a RawValue>,
}

impl<'a> Outer<'a> {
    fn schemas(document: &'a [u8]) -> Result<Option<&'a RawValue>, serde_json::Error> {
        let outer: Self = serde_json::from_slice(document)?;
        Ok(outer.components.and_then(|components| components.schemas))
    }
}

/// Whether a schema says that it is of this kind.
fn is_of(schema: &RawValue, gvk: &GroupVersionKind) -> bool {
    #[derive(Deserialize)]
    struct Of<'a> {
        #[serde(borrow, default)]
        group: Cow<'a, str>,
        #[serde(borrow, default)]
        version: Cow<'a, str>,
        #[serde(borrow, default)]
        kind: Cow<'a, str>,
    }
    let mut found = false;
    let read = within::<_, IgnoredAny>(schema.get().as_bytes(), KIND_OF, "type", |of: Of<'_>| {
        found |= of.group == gvk.group && of.version == gvk.version && of.kind == gvk.kind;
    });
    read.is_ok() && found
}

/// How deep schema nodes may lie. Everybody who walks a schema recurses, and an API server must not choose our stack.
const DEPTH: usize = 100;

/// Puts referenced schemas in place. A schema within itself, and what lies too deep, becomes `{}`: it holds anything.
struct Inliner<'a> {
    all: &'a Schemas<'a>,
    /// References that are being followed.
    open: Vec<String>,
    /// Bytes that the tree may still take; 0: it is too large.
    left: usize,
}

impl Inliner<'_> {
    /// Parses a schema and puts what it refers to in place. `None`: it is too large.
    fn read(&mut self, raw: &RawValue, depth: usize) -> Option<Value> {
        let shape = Shape::of(raw.get().as_bytes());
        // What is parsed is charged before it is, and what is made of it once more as it is made.
        self.spend(shape.tree())?;
        // Everybody who walks a schema recurses: one that nests deeper than the parser goes holds anything.
        let Ok(parsed) = serde_json::from_str::<Value>(raw.get()) else { return Some(json!({})) };
        let inlined = self.inline(parsed, depth)?;
        self.left += shape.tree();
        Some(inlined)
    }

    fn spend(&mut self, bytes: usize) -> Option<()> {
        self.left = self.left.saturating_sub(bytes);
        (self.left > 0).then_some(())
    }

    fn inline(&mut self, schema: Value, depth: usize) -> Option<Value> {
        if depth > DEPTH {
            return Some(json!({}));
        }
        match schema {
            Value::Object(fields) => {
                self.spend(640)?;
                if let Some(target) = fields.get("$ref").and_then(Value::as_str) {
                    let name = target.rsplit('/').next().unwrap_or_default();
                    let Some(found) = self.all.get(name) else { return Some(json!({})) };
                    if self.open.iter().any(|seen| seen == name) {
                        return Some(json!({}));
                    }
                    self.open.push(name.to_owned());
                    let inlined = self.read(found, depth + 1);
                    self.open.pop();
                    return inlined;
                }
                let is_text = |name: &str, value: &Value| name == "description" && value.is_string();
                let kept = fields.into_iter().filter(|(name, value)| !is_text(name, value));
                kept.map(|(name, value)| Some((name, self.inline(value, depth + 1)?))).collect()
            }
            Value::Array(items) => {
                self.spend(32 * items.len())?;
                items.into_iter().map(|item| self.inline(item, depth + 1)).collect()
            }
            Value::String(text) => {
                self.spend(text.len())?;
                Some(Value::String(text))
            }
            other => Some(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gvk() -> GroupVersionKind {
        GroupVersionKind::gvk("g.io", "v1", "Thing")
    }

    /// A document whose schema `thing` has these properties.
    fn document(properties: &Value, others: &str) -> Vec<u8> {
        let of = json!([{"group": "g.io", "version": "v1", "kind": "Thing"}]);
        let thing = json!({"x-kubernetes-group-version-kind": of, "properties": properties});
        format!(r#"{{"components":{{"schemas":{{"thing":{thing}{others}}}}}}}"#).into_bytes()
    }

    fn resolved(properties: &Value, others: &str) -> Result<Value, String> {
        resolve(&document(properties, others), &gvk()).map(|schema| schema.unwrap()["properties"].clone())
    }

    #[test]
    fn resources_are_found_among_others() {
        let list = br#"{"groupVersion":"g.io/v1","resources":[{"name":"things/status","kind":"Thing"},
            {"name":"others","kind":"Other"},{"name":"things","kind":"Thing","namespaced":true,"verbs":["get"]}]}"#;
        let found = find(list, &gvk()).unwrap().unwrap();
        assert_eq!((found.plural.as_str(), found.namespaced, found.has_status), ("things", true, true));
        assert_eq!(find(br#"{"resources":null}"#, &gvk()).unwrap(), None);
        assert!(find(b"[]", &gvk()).is_err());
    }

    #[test]
    fn references_are_resolved_and_cycles_end() {
        let leaf = r##","leaf":{"type":"object","description":"d","properties":{"next":{"$ref":"#/components/schemas/leaf"}}}"##;
        let found = resolved(&json!({"a": {"$ref": "#/components/schemas/leaf"}}), leaf).unwrap();
        assert_eq!(found, json!({"a": {"type": "object", "properties": {"next": {}}}}));
    }

    #[test]
    fn a_schema_made_to_be_deep_ends() {
        let nested = |target: &str| {
            let leaf = json!({"$ref": format!("#/components/schemas/{target}")});
            (0..60).fold(leaf, |inner, _| json!({"items": inner}))
        };
        let others: Vec<String> = (0..200).map(|n| format!(r#","s{n}":{}"#, nested(&format!("s{}", n + 1)))).collect();
        let found = resolved(&json!({"a": nested("s0")}), &others.concat()).unwrap();
        let mut depth = 0;
        let mut at = &found["a"];
        while let Some(inner) = at.get("items") {
            (depth, at) = (depth + 1, inner);
        }
        assert!((60..=DEPTH).contains(&depth), "{depth}");
    }

    #[test]
    fn a_schema_that_is_too_large_is_none() {
        let many = vec![json!({"": 0}); 100_000];
        assert!(resolved(&json!({"a": {"enum": many}}), "").unwrap_err().contains("MiB"));
        // References that double: each is small, and all together are not.
        let doubling: Vec<String> = (0..30)
            .map(|n| {
                let next = json!({"$ref": format!("#/components/schemas/d{}", n + 1)});
                format!(r#","d{n}":{}"#, json!({"properties": {"a": next, "b": next}}))
            })
            .collect();
        assert!(resolved(&json!({"a": {"$ref": "#/components/schemas/d0"}}), &doubling.concat()).is_err());
        let small: Vec<String> = (0..=MOST_SCHEMAS).map(|n| format!(r#","s{n}":{{}}"#)).collect();
        assert!(resolved(&json!({}), &small.concat()).unwrap_err().contains("too many"));
    }

    #[test]
    fn a_kind_without_a_schema_has_none() {
        assert_eq!(resolve(br#"{"components":{"schemas":{"x":{"type":"object"}}}}"#, &gvk()), Ok(None));
        assert_eq!(resolve(br#"{"openapi":"3.0.0"}"#, &gvk()), Ok(None));
    }
}
