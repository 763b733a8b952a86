//! OpenAPI: the document that an API server publishes of one group and version, and the schemas of kinds in it.

use std::{borrow::Cow, sync::Arc};

use kube::core::GroupVersionKind;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, value::RawValue};

use crate::{
    call::{Answer, Caller, JSON, get},
    each::{fields, within},
    error::CallError,
    hashed::HashMap,
    inliner::{Schemas, inline},
    kind::{KindInfo, group_version_path},
};

/// Longest OpenAPI document of one group and version.
const OPENAPI_LIMIT: usize = 8 << 20;

/// Most schemas in such a document.
const MOST_SCHEMAS: usize = 20_000;

/// Reads the document of a group and version. `None`: there is none, or we may not read it.
pub(crate) async fn document(caller: &Caller, group: &str, version: &str) -> Result<Option<Answer>, CallError> {
    let path = format!("/openapi/v3{}", group_version_path(group, version));
    match caller.call(get(&path, JSON)?, OPENAPI_LIMIT).await {
        Ok((_, answer)) => Ok(Some(answer)),
        Err(CallError::KindMissing(_) | CallError::NotFound(_) | CallError::Forbidden(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Hands the schema of each wanted kind to a function, one after the other: all of them at once may be too much to hold.
/// References are resolved. `None`: it is not published (yet); `Err`: it cannot be used. Where the document itself cannot
/// be read nothing is handed out.
pub fn each_schema(
    document: &[u8],
    wanted: &[Arc<KindInfo>],
    mut take: impl FnMut(&Arc<KindInfo>, Result<Option<Value>, String>),
) -> Result<(), String> {
    let said = |error: serde_json::Error| error.to_string();
    let by_name: HashMap<&str, &GroupVersionKind> =
        wanted.iter().map(|info| (info.gvk.kind.as_str(), &info.gvk)).collect();
    let mut schemas = Schemas::default();
    let mut ours: HashMap<&GroupVersionKind, &RawValue> = HashMap::default();
    if let Some(raw) = Outer::schemas(document).map_err(said)? {
        fields(raw.get().as_bytes(), |name, schema: &RawValue| {
            if let Some(gvk) = kind_of(schema, &by_name) {
                ours.entry(gvk).or_insert(schema);
            }
            schemas.insert(name, schema);
            schemas.len() <= MOST_SCHEMAS
        })
        .map_err(said)?;
    }
    for info in wanted {
        take(info, ours.get(&info.gvk).map(|schema| inline(schema, &schemas, |_| {})).transpose());
    }
    Ok(())
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

/// Where a schema says of which kinds it is.
const KIND_OF: &str = "x-kubernetes-group-version-kind";

/// Which of these kinds a schema says that it is of.
fn kind_of<'a>(schema: &RawValue, wanted: &HashMap<&str, &'a GroupVersionKind>) -> Option<&'a GroupVersionKind> {
    #[derive(Deserialize)]
    struct Of<'a> {
        #[serde(borrow, default)]
        group: Cow<'a, str>,
        #[serde(borrow, default)]
        version: Cow<'a, str>,
        #[serde(borrow, default)]
        kind: Cow<'a, str>,
    }
    let mut found = None;
    let read = within::<_, IgnoredAny>(schema.get().as_bytes(), KIND_OF, "type", |of: Of<'_>| {
        if found.is_none() {
            let named = wanted.get(&*of.kind).copied();
            found = named.filter(|gvk| of.group == gvk.group && of.version == gvk.version);
        }
    });
    found.filter(|_| read.is_ok())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::inliner::DEPTH;

    fn kind(kind: &str) -> Arc<KindInfo> {
        let gvk = GroupVersionKind::gvk("g.io", "v1", kind);
        Arc::new(KindInfo { gvk, plural: String::new(), namespaced: true, has_status: true })
    }

    fn schema_of(kind: &str, properties: &Value) -> Value {
        let of = json!([{"group": "g.io", "version": "v1", "kind": kind}]);
        json!({"x-kubernetes-group-version-kind": of, "properties": properties})
    }

    /// A document whose schema `thing` has these properties.
    fn document(properties: &Value, others: &str) -> Vec<u8> {
        format!(r#"{{"components":{{"schemas":{{"thing":{}{others}}}}}}}"#, schema_of("Thing", properties)).into_bytes()
    }

    fn resolve(document: &[u8]) -> Result<Option<Value>, String> {
        let mut found = Ok(None);
        each_schema(document, &[kind("Thing")], |_, schema| found = schema)?;
        found
    }

    fn resolved(properties: &Value, others: &str) -> Result<Value, String> {
        resolve(&document(properties, others)).map(|schema| schema.unwrap()["properties"].clone())
    }

    #[test]
    fn one_document_answers_for_all_its_kinds() {
        let other = format!(r#","other":{}"#, schema_of("Other", &json!({"b": {}})));
        let mut seen = Vec::new();
        each_schema(
            &document(&json!({"a": {}}), &other),
            &[kind("Other"), kind("Absent"), kind("Thing")],
            |info, schema| {
                let names = schema.unwrap().map(|schema| schema["properties"].clone());
                seen.push((info.gvk.kind.clone(), names));
            },
        )
        .unwrap();
        let expected = [("Other", Some(json!({"b": {}}))), ("Absent", None), ("Thing", Some(json!({"a": {}})))];
        assert_eq!(seen, expected.map(|(kind, names)| (kind.to_owned(), names)));
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
        assert_eq!(resolve(br#"{"components":{"schemas":{"x":{"type":"object"}}}}"#), Ok(None));
        assert_eq!(resolve(br#"{"openapi":"3.0.0"}"#), Ok(None));
    }
}
