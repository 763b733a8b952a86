//! The template of an object: what an object is known by, and its fields.

use broker_api::{
    Gvk,
    graphs::{FreeObject, keys},
};
use runtime_cel::types::OBJECT_META;
use serde_json::{Map, Value};

use super::{
    draft::Draft,
    error::GraphError,
    expression::{Compiler, shown},
    kinds::{ServedKind, group_version},
    path::Step,
    schema::Field,
    template::Reader,
    tree::Tree,
};
use crate::canonical;

/// Levels of a template.
const MAX_DEPTH: usize = 100;

/// Longest kind: its lower-case form is a DNS label.
const MAX_KIND: usize = 63;

/// The kind of a template.
pub(super) fn kind_of(id: &str, template: &FreeObject) -> Result<Gvk, GraphError> {
    let wrong = |what: &str| {
        Err(GraphError::invalid(format_args!("resource {} is not a valid Kubernetes object: {what}", shown(id))))
    };
    let text = |key: &str| template.get(key).map(|value| value.as_str().unwrap_or_default());
    let Some(api_version) = text("apiVersion") else { return wrong("apiVersion field not found") };
    let Some(kind) = text("kind") else { return wrong("kind field not found") };
    if api_version.is_empty() || kind.is_empty() {
        return wrong("apiVersion and kind must be texts that are not empty");
    }
    match template.get("metadata") {
        None => return wrong("metadata field not found"),
        Some(Value::Object(_)) => {}
        Some(_) => return wrong("metadata field is not a map"),
    }
    gvk(id, api_version, kind)
}

/// The kind of this `apiVersion` and `kind`, which are fixed texts.
pub(super) fn gvk(id: &str, api_version: &str, kind: &str) -> Result<Gvk, GraphError> {
    let wrong = |what: std::fmt::Arguments<'_>| {
        Err(GraphError::invalid(format_args!("failed to extract GVK from resource {}: {what}", shown(id))))
    };
    let Some((group, version)) = group_version(api_version) else {
        return wrong(format_args!("unexpected apiVersion {:?}: write group/version", shown(api_version)));
    };
    let lower = kind.to_lowercase();
    let bytes = lower.as_bytes();
    let is_inner = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-';
    let valid = bytes.iter().all(is_inner)
        && bytes.len() <= MAX_KIND
        && bytes.first().is_some_and(u8::is_ascii_lowercase)
        && bytes.last() != Some(&b'-');
    if !valid {
        return wrong(format_args!(
            "invalid kind {:?}: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with \
             an alphabetic character, and end with an alphanumeric character",
            shown(kind)
        ));
    }
    Ok(Gvk { group: group.to_owned(), version: version.to_owned(), kind: kind.to_owned() })
}

/// Reads the template of an object of this kind.
pub(super) fn read(
    id: &str,
    template: &FreeObject,
    kind: &ServedKind,
    cluster_instance: bool,
    compiler: &mut Compiler<'_>,
) -> Result<(Tree, Vec<Draft>), GraphError> {
    if !canonical::fields_are_within(template, MAX_DEPTH) {
        return Err(GraphError::invalid(format_args!(
            "resource {id:?}: lists and objects are within each other more than {MAX_DEPTH} deep"
        )));
    }
    let metadata = template.get("metadata").and_then(Value::as_object);
    check_metadata(id, metadata, kind, cluster_instance)?;
    let is_crd = kind.name.group == "apiextensions.k8s.io" && kind.name.kind == "CustomResourceDefinition";
    let whole = Field::of(&kind.schema);
    let mut reader = Reader::new(compiler, id);
    let mut trees = Vec::with_capacity(template.len());
    for (name, value) in template {
        let tree = match name.as_str() {
            "apiVersion" | "kind" => Tree::Fixed(value.clone()),
            "metadata" => reader.at(Step::Key(name), value, Field::of(&OBJECT_META))?,
            _ if is_crd => reader.at(Step::Key(name), value, Field::default())?,
            _ => {
                let field = reader.child(whole, name)?;
                reader.at(Step::Key(name), value, field)?
            }
        };
        trees.push((name.clone(), tree));
    }
    let expressions = reader.expressions;
    if let Some(draft) = expressions.iter().find(|draft| is_crd && !draft.path.starts_with("metadata.")) {
        return Err(GraphError::invalid(format_args!(
            "CEL expressions in CRDs are only supported for metadata fields, found in path {:?}, resource {id}",
            draft.path
        )));
    }
    for draft in &expressions {
        let must_be = draft.path == "metadata.name" || cluster_instance && draft.path == "metadata.namespace";
        if must_be && draft.program.omits() {
            return Err(GraphError::invalid(format_args!(
                "resource {id:?}: omit() cannot be used at path {:?} — the field is required and must resolve to a \
                 concrete value",
                draft.path
            )));
        }
    }
    Ok((Tree::Object(trees), expressions))
}

fn check_metadata(
    id: &str,
    metadata: Option<&Map<String, Value>>,
    kind: &ServedKind,
    cluster_instance: bool,
) -> Result<(), GraphError> {
    let field = |name: &str| metadata.and_then(|metadata| metadata.get(name));
    if matches!(field("name"), None | Some(Value::Null)) || field("name").and_then(Value::as_str) == Some("") {
        return Err(GraphError::invalid(format_args!(
            "resource {id:?} has no metadata.name: server-side apply needs one, generateName cannot work with it"
        )));
    }
    check_namespace(id, field("namespace"), kind, cluster_instance)?;
    for (name, one) in [("labels", "label"), ("annotations", "annotation")] {
        let keys = field(name).and_then(Value::as_object).into_iter().flat_map(Map::keys);
        for key in keys {
            if let Some(prefix) =
                [keys::PREFIX, keys::INTERNAL_PREFIX].into_iter().find(|prefix| key.starts_with(prefix))
            {
                return Err(GraphError::invalid(format_args!(
                    "invalid {one} for resource {id:?}. {name} with prefix {prefix:?} are reserved for internal use"
                )));
            }
        }
    }
    Ok(())
}

/// Whether a namespace may, or must, stand there.
pub(super) fn check_namespace(
    id: &str,
    namespace: Option<&Value>,
    kind: &ServedKind,
    cluster_instance: bool,
) -> Result<(), GraphError> {
    let stated = !matches!(namespace, None | Some(Value::Null)) && namespace.and_then(Value::as_str) != Some("");
    match (kind.namespaced, stated) {
        (false, true) => Err(GraphError::invalid(format_args!(
            "resource {id:?} is cluster-scoped and must not set metadata.namespace"
        ))),
        (true, false) if cluster_instance => Err(GraphError::invalid(format_args!(
            "resource {id:?} is namespaced and must set metadata.namespace when the instance CRD is cluster-scoped"
        ))),
        _ => Ok(()),
    }
}
