//! Where in a ResourceGraphDefinition something is that its compiler finds wrong. The compiler says it in words, which begin
//! with the place: the id of a resource, and a path in its template. The tests compile what they look for.

use std::collections::BTreeMap;

use broker_api::graphs::{Resource, ResourceGraphDefinitionSpec};

use super::place::{Step, key, keys, path};

/// How much of an expression the compiler tells, in characters.
const TOLD: usize = 200;

/// The path of what is wrong, as far as it can be told.
pub(crate) fn path_of(told: &str, spec: &ResourceGraphDefinitionSpec) -> Vec<Step> {
    of_schema(told)
        .or_else(|| of_name(told, spec))
        .or_else(|| of_resource(told, spec))
        .unwrap_or_else(|| keys(&["spec"]))
}

/// The path of the kind that a resource names.
pub(crate) fn path_of_kind(id: &str, spec: &ResourceGraphDefinitionSpec) -> Vec<Step> {
    let Some((at, resource)) = spec.resources.iter().enumerate().find(|(_, resource)| resource.id == id) else {
        return keys(&["spec", "resources"]);
    };
    below(below(resource_path(at), [key(body(resource))]), [key("kind")])
}

fn below(mut path: Vec<Step>, steps: impl IntoIterator<Item = Step>) -> Vec<Step> {
    path.extend(steps);
    path
}

fn resource_path(at: usize) -> Vec<Step> {
    below(keys(&["spec", "resources"]), [Step::Index(at)])
}

/// Where a resource says what its objects are.
fn body(resource: &Resource) -> &'static str {
    if resource.external_ref.is_some() { "externalRef" } else { "template" }
}

/// What a text says before a word; the text itself where it has none.
fn before<'t>(text: &'t str, word: &str) -> &'t str {
    text.split_once(word).map_or(text, |(before, _)| before)
}

/// The path that a quotation begins with. A quotation mark within it may be escaped.
fn quoted(text: &str) -> Vec<Step> {
    let ends = ["\": ", "\" — ", "\" expression ", "\", resource "];
    let end = ends.iter().filter_map(|end| text.find(end)).min().unwrap_or(text.len());
    path(&text[..end].replace("\\\"", "\""))
}

/// What is about the instance's schema or status.
fn of_schema(told: &str) -> Option<Vec<Step>> {
    let schema = || keys(&["spec", "schema"]);
    let status = || keys(&["spec", "schema", "status"]);
    let in_status = |text: &str| below(status(), path(text.strip_prefix("status.").unwrap_or(text)));
    if let Some(rest) = told.strip_prefix("failed to build the instance's schema: ") {
        return Some(below(schema(), path(before(rest, ": "))));
    }
    if let Some(rest) = told.strip_prefix("failed to build instance status schema: ") {
        let field = rest.strip_prefix("status field \"").or_else(|| rest.strip_prefix('"'));
        let plain = rest.strip_prefix("status fields without expressions are not supported: [");
        let first = plain.map(|plain| before(before(plain, "]"), " "));
        return Some(match (field, first) {
            (Some(field), _) => below(status(), quoted(field)),
            (None, Some(first)) => below(status(), path(first)),
            (None, None) => status(),
        });
    }
    if let Some(rest) = told.strip_prefix("status field \"") {
        return Some(below(status(), quoted(rest)));
    }
    if let Some(rest) = told.strip_prefix("instance status field must refer to a resource or schema: ") {
        return Some(in_status(rest));
    }
    let conditions = told.strip_prefix("failed to build instance conditions: ");
    if conditions.is_some() || told.starts_with("status.") {
        let at = conditions.unwrap_or(told);
        let at = before(before(at, ": "), " must be");
        return Some(if at.starts_with("status.") { in_status(at) } else { in_status("status.conditions") });
    }
    None
}

/// What is about names: of the kind, its group, or resources.
fn of_name(told: &str, spec: &ResourceGraphDefinitionSpec) -> Option<Vec<Step>> {
    if let Some(rest) = told.strip_prefix("naming convention violation: ") {
        let resource = |id: &str, nth: usize| {
            let mut all = spec.resources.iter().enumerate().filter(|(_, resource)| resource.id == id);
            let (at, _) = all.nth(nth)?;
            Some(below(resource_path(at), [key("id")]))
        };
        if let Some(id) = rest.strip_prefix("found duplicate resource IDs ") {
            return resource(id, 1);
        }
        if let Some(rest) = rest.strip_prefix("id ") {
            let id = ["is a reserved", "is not a valid", "is longer than"].iter().find_map(|word| {
                let (id, _) = rest.split_once(&format!(" {word}"))?;
                Some(id)
            });
            return resource(id?, 0);
        }
        return Some(keys(&["spec", "schema", "kind"]));
    }
    if told.starts_with("group \"") {
        return Some(keys(&["spec", "schema", "group"]));
    }
    if told.starts_with("there are ") {
        return Some(keys(&["spec", "resources"]));
    }
    let first = before(told.strip_prefix("graph contains a cycle: ")?, " -> ");
    let at = spec.resources.iter().position(|resource| resource.id == first)?;
    Some(resource_path(at))
}

/// What is about a resource: the one that is named first.
fn of_resource(told: &str, spec: &ResourceGraphDefinitionSpec) -> Option<Vec<Step>> {
    let named = |quotes: bool| {
        let all = spec.resources.iter().enumerate().filter(|(_, resource)| !resource.id.is_empty());
        let places = all.filter_map(|(at, resource)| {
            let (start, length) = mention(told, &resource.id, quotes)?;
            Some((start, at, &told[start + length..]))
        });
        places.min_by_key(|(start, _, _)| *start)
    };
    let (start, at, rest) = named(true).or_else(|| named(false))?;
    let resource = spec.resources.get(at)?;
    Some(below(resource_path(at), within(resource, &told[..start], rest)))
}

/// Where a text names a resource, and how long that is.
fn mention(told: &str, id: &str, quotes: bool) -> Option<(usize, usize)> {
    let words = if quotes {
        [format!("resource {id:?}"), format!("node {id:?}")]
    } else {
        [format!("resource {id}"), format!("resourceID: {id}")]
    };
    let ends = |end: usize| !told[end..].starts_with(|next: char| next.is_ascii_alphanumeric());
    let places = words.iter().filter_map(|word| {
        let mut starts = told.match_indices(word.as_str()).map(|(start, _)| start);
        // Another one's id may begin like this one.
        Some((starts.find(|start| quotes || ends(start + word.len()))?, word.len()))
    });
    places.min()
}

/// Where within a resource something is, by what is said before and behind its name.
fn within(resource: &Resource, before_it: &str, rest: &str) -> Vec<Step> {
    let body = body(resource);
    let in_body = |steps: Vec<Step>| below(vec![key(body)], steps);
    let all = format!("{before_it}{rest}");
    if let Some(at) = rest.strip_prefix(" at path \"") {
        return in_body(quoted(at));
    }
    if let Some((_, at)) = before_it.split_once("found in path \"") {
        return in_body(quoted(at));
    }
    if before_it.starts_with("includeWhen ") {
        return listed("includeWhen", &resource.include_when, before_it);
    }
    if before_it.starts_with("readyWhen ") || rest.starts_with(" readyWhen") {
        return listed("readyWhen", &resource.ready_when, &all);
    }
    if before_it.starts_with("failed to extract GVK") {
        return in_body(keys(&[if rest.contains("apiVersion") { "apiVersion" } else { "kind" }]));
    }
    if before_it.starts_with("invalid label") || before_it.starts_with("invalid annotation") {
        let what = if before_it.starts_with("invalid label") { "labels" } else { "annotations" };
        return in_body(keys(&["metadata", what]));
    }
    if rest.starts_with(" has no metadata.name") {
        return in_body(keys(&["metadata"]));
    }
    if rest.starts_with(" is namespaced") || rest.starts_with(" is cluster-scoped") {
        return in_body(keys(&["metadata", "namespace"]));
    }
    if rest.starts_with(" is not a valid Kubernetes object") {
        return vec![key(body)];
    }
    let Some(said) = rest.strip_prefix(": ") else { return Vec::new() };
    said_of(resource, said).unwrap_or_default()
}

/// Where within a resource something is, by what is said of it.
fn said_of(resource: &Resource, said: &str) -> Option<Vec<Step>> {
    let in_body = |steps: Vec<Step>| below(vec![key(body(resource))], steps);
    if let Some(at) = said.strip_prefix("error getting field schema for path ") {
        return Some(in_body(path(before(at, ": schema not found"))));
    }
    if let Some((_, at)) = said.split_once(" type for path ").filter(|_| said.starts_with("expected ")) {
        let end = at.rfind(", got ").unwrap_or(at.len());
        return Some(in_body(path(&at[..end])));
    }
    if let Some(at) = said.strip_prefix("omit() cannot be used at path \"") {
        return Some(in_body(quoted(at)));
    }
    if said.starts_with("externalRef: ") {
        return Some(in_body(keys(&["metadata"])));
    }
    if said.starts_with("all forEach dimensions must be used") {
        return Some(in_body(keys(&["metadata", "name"])));
    }
    for (field, list) in [("includeWhen", &resource.include_when), ("readyWhen", &resource.ready_when)] {
        if said.starts_with(field) || said.starts_with(&format!("failed to parse {field}")) {
            return Some(listed(field, list, said));
        }
    }
    if ["forEach ", "invalid forEach ", "duplicate forEach "].iter().any(|word| said.starts_with(word)) {
        return Some(dimension(&resource.for_each, said));
    }
    let (at, _) = said.split_once(": \"").filter(|_| said.contains("references unknown identifiers"))?;
    Some(in_body(path(at)))
}

/// One of a list of expressions: the one that is quoted, or the only one.
fn listed(field: &str, expressions: &[String], told: &str) -> Vec<Step> {
    let inner = |text: &str| {
        let text = text.trim();
        let source = text.strip_prefix("${").and_then(|text| text.strip_suffix('}')).unwrap_or(text);
        source.chars().take(TOLD).collect::<String>()
    };
    let named = expressions.iter().position(|text| told.contains(&format!("{:?}", inner(text))));
    let at = named.or((expressions.len() == 1).then_some(0));
    below(keys(&[field]), at.map(Step::Index))
}

/// A dimension of `forEach`: the one whose iterator is quoted, or whose list is.
fn dimension(dimensions: &[BTreeMap<String, String>], told: &str) -> Vec<Step> {
    let found = dimensions.iter().enumerate().find_map(|(at, dimension)| {
        let is_it = |(name, list): &(&String, &String)| {
            let source = list.trim().trim_start_matches("${").trim_end_matches('}');
            told.contains(&format!("{name:?}")) || told.contains(&format!("{source:?}"))
        };
        dimension.iter().find(is_it).map(|(name, _)| [Step::Index(at), key(name)])
    });
    below(keys(&["forEach"]), found.into_iter().flatten())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::{Arc, LazyLock};

    use broker_api::Gvk;
    use graphs_core::graph::{Bounds, Found, Kinds, ServedKind, compile};
    use runtime_cel::graph::Evaluator;
    use serde_json::{Value, json};

    use super::*;
    use crate::simulate::place::told;

    /// One for all: each has threads of its own.
    static EVALUATOR: LazyLock<Evaluator> = LazyLock::new(graphs_core::limits::evaluator);

    /// Kinds with data, and `Zone`, whose objects are in no namespace.
    struct Served;

    impl Kinds for Served {
        fn find(&self, name: &Gvk) -> Found {
            let texts = json!({ "type": "object", "additionalProperties": { "type": "string" } });
            let schema = json!({ "type": "object", "properties": { "data": texts } });
            let (name, plural) = (name.clone(), "things".to_owned());
            Found::Served(Arc::new(ServedKind { namespaced: name.kind != "Zone", name, plural, schema }))
        }
    }

    /// The place of what is wrong with an RGD with these resources and this schema.
    fn place(schema: &Value, resources: &Value) -> String {
        let mut whole = json!({ "kind": "App", "apiVersion": "v1", "spec": { "name": "string", "tags": "[]string" } });
        for (name, value) in schema.as_object().into_iter().flatten() {
            whole[name] = value.clone();
        }
        let spec: ResourceGraphDefinitionSpec =
            serde_json::from_value(json!({ "schema": whole, "resources": resources })).unwrap();
        let error = compile("t", &spec, &Served, &EVALUATOR, Bounds::default()).map(drop).unwrap_err();
        told(&path_of(&error.to_string(), &spec))
    }

    fn config(id: &str, data: &str) -> Value {
        json!({ "id": id, "template": { "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": id }, "data": { "k": data } } })
    }

    /// The second of two resources, with a change.
    fn second(change: impl FnOnce(&mut Value)) -> String {
        let mut resource = config("b", "v");
        change(&mut resource);
        place(&json!({}), &json!([config("a", "v"), resource]))
    }

    #[test]
    fn an_id_is_found_behind_one_that_begins_like_it() {
        let told = "resource ab uses resource a";
        assert_eq!(mention(told, "a", false), Some((17, 10)));
        assert_eq!((mention(told, "ab", false), mention(told, "b", false)), (Some((0, 11)), None));
    }

    #[test]
    fn schemas_names_and_status() {
        let schema = |schema: &Value| place(schema, &json!([config("a", "v")]));
        assert_eq!(schema(&json!({ "spec": { "a": { "b": "strin" } } })), "spec.schema.spec.a.b");
        assert_eq!(schema(&json!({ "types": { "T": { "x": "[]" } } })), "spec.schema.types.T.x");
        assert_eq!(schema(&json!({ "kind": "app" })), "spec.schema.kind");
        assert_eq!(schema(&json!({ "group": "apps.k8s.io" })), "spec.schema.group");
        assert_eq!(schema(&json!({ "status": { "x": { "y": "fixed" } } })), "spec.schema.status.x.y");
        assert_eq!(schema(&json!({ "status": { "x": ["${a.nope}"] } })), "spec.schema.status.x[0]");
        assert_eq!(schema(&json!({ "status": { "x": "${1 +}" } })), "spec.schema.status.x");
        assert_eq!(schema(&json!({ "status": { "x": "${1}" } })), "spec.schema.status.x");
        assert_eq!(schema(&json!({ "status": { "x": "${other.data}" } })), "spec.schema.status.x");
        assert_eq!(schema(&json!({ "status": { "conditions": ["${1 +}"] } })), "spec.schema.status.conditions[0]");
        assert_eq!(schema(&json!({ "status": { "conditions": [1] } })), "spec.schema.status.conditions[0]");
        assert_eq!(schema(&json!({ "status": { "conditions": ["${1}"] } })), "spec.schema.status.conditions");
    }

    #[test]
    fn ids_and_circles() {
        assert_eq!(second(|b| b["id"] = json!("spec")), "spec.resources[1].id");
        assert_eq!(second(|b| b["id"] = json!("a-b")), "spec.resources[1].id");
        assert_eq!(second(|b| b["id"] = json!("a")), "spec.resources[1].id");
        let circle = json!([config("a", "v"), config("b", "${c.data.k}"), config("c", "${b.data.k}")]);
        assert_eq!(place(&json!({}), &circle), "spec.resources[1]");
    }

    #[test]
    fn templates() {
        let with = |change: &dyn Fn(&mut Value)| second(|b| change(&mut b["template"]));
        let at = |path: &str| format!("spec.resources[1].template{path}");
        assert_eq!(with(&|b| b["apiVersion"] = json!("a/b/c")), at(".apiVersion"));
        assert_eq!(with(&|b| b["kind"] = json!("Config Map")), at(".kind"));
        assert_eq!(with(&|b| b["metadata"] = json!("a")), at(""));
        assert_eq!(with(&|b| b["metadata"] = json!({})), at(".metadata"));
        assert_eq!(with(&|b| b["metadata"]["labels"] = json!({ "kro.run/x": "a" })), at(".metadata.labels"));
        assert_eq!(with(&|b| b["nope"] = json!(1)), at(".nope"));
        assert_eq!(with(&|b| b["data"]["a.b"] = json!(1)), at(".data[\"a.b\"]"));
        assert_eq!(with(&|b| b["data"]["a.b"] = json!("${1 +}")), at(".data[\"a.b\"]"));
        assert_eq!(with(&|b| b["data"]["a.b"] = json!("${1}")), at(".data[\"a.b\"]"));
        assert_eq!(with(&|b| b["data"]["x"] = json!("${schema.spec.nmae}")), at(".data.x"));
        assert_eq!(with(&|b| b["data"]["x"] = json!("${other.data.k}")), at(".data.x"));
        assert_eq!(with(&|b| b["metadata"]["name"] = json!("${omit()}")), at(".metadata.name"));
        let zone = |b: &mut Value| {
            b["kind"] = json!("Zone");
            b["metadata"]["namespace"] = json!("x");
        };
        assert_eq!(with(&zone), at(".metadata.namespace"));
        assert_eq!(second(|b| drop(b.as_object_mut().unwrap().remove("template"))), "spec.resources[1]");
        assert_eq!(second(|b| b["template"]["data"]["k"] = json!("${b.data.k}")), "spec.resources[1]");
    }

    #[test]
    fn conditions_lists_and_references() {
        let list = |field: &str, texts: Value| second(|b| b[field] = texts);
        let at = |path: &str| format!("spec.resources[1].{path}");
        assert_eq!(list("includeWhen", json!(["${true}", "${1}"])), at("includeWhen[1]"));
        assert_eq!(list("includeWhen", json!(["${true}", "${other.x}"])), at("includeWhen[1]"));
        assert_eq!(list("includeWhen", json!(["${1 +}"])), at("includeWhen[0]"));
        assert_eq!(list("readyWhen", json!(["${true}", "${b.data.k}"])), at("readyWhen[1]"));
        assert_eq!(list("readyWhen", json!(["${a.data.k == ''}"])), at("readyWhen[0]"));
        assert_eq!(list("forEach", json!([{ "x": "${schema.spec.tags}" }])), at("template.metadata.name"));
        assert_eq!(list("forEach", json!([{ "x": "${schema.spec.name}" }, { "a": "${1}" }])), at("forEach[1].a"));
        let named = |lists: Value| {
            second(|b| {
                b["template"]["metadata"]["name"] = json!("n-${x}");
                b["forEach"] = lists;
            })
        };
        assert_eq!(named(json!([{ "x": "${schema.spec.name}" }])), at("forEach[0].x"));
        assert_eq!(named(json!([{ "x": "${1 +}" }])), at("forEach[0].x"));
        assert_eq!(named(json!([{ "x": "${other.x}" }])), at("forEach[0].x"));
        let reference = |metadata: Value| {
            let reference = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata });
            place(&json!({}), &json!([config("a", "v"), { "id": "b", "externalRef": reference }]))
        };
        assert_eq!(reference(json!({ "name": "" })), at("externalRef.metadata"));
        assert_eq!(reference(json!({ "name": "${1}" })), at("externalRef.metadata.name"));
    }
}
