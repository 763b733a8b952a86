//! Templates of stage objects: text with CEL in `${…}`.
//!
//! Expressions may stand in values and in keys, at any depth. A value that is one expression and nothing else has the
//! expression's type; around others they become text. `$${` is a literal `${`. What a template is made of is known before
//! anything runs: `apiVersion`, `kind` and the names of the fields at the top and in `metadata` are fixed.

mod text;

use std::sync::Arc;

use runtime_cel::expression::{Evaluator, ExpressionError};
use runtime_effect::kind::Kind;
use serde_json::{Map, Value};

pub(super) use self::text::unknown_names;
use self::text::{Compiler, Text};
use super::flaws::Flaws;

/// Most expressions of a template.
pub const MAX_EXPRESSIONS: usize = 64;

/// Largest object, in bytes of JSON.
pub const MAX_OBJECT: usize = 256 * 1024;

/// A template, its expressions compiled.
#[derive(Debug, Clone)]
pub struct Template {
    kind: Kind,
    namespace: Namespace,
    fields: Vec<(Text, Node)>,
}

/// What a template says of the namespace of its object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Namespace {
    /// Nothing: it is the Migration's.
    Own,
    /// This one, in fixed text.
    Fixed(String),
    /// It comes out of an expression.
    Computed,
}

/// Why a template has no object now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {what}")]
pub struct TemplateError {
    /// Where in the template, such as `spec.containers[0].image`.
    pub path: String,
    /// What is wrong, with the expression.
    pub what: String,
    /// Whether the same may work in a moment.
    pub transient: bool,
}

impl TemplateError {
    fn new(path: &str, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), what: what.into(), transient: false }
    }

    fn failed(path: &str, error: &ExpressionError) -> Self {
        Self { path: path.to_owned(), what: error.to_string(), transient: error.is_transient() }
    }
}

/// A value of a template.
#[derive(Debug, Clone)]
enum Node {
    /// No text and no expression in it.
    Fixed(Value),
    Text(Text),
    List(Vec<Node>),
    Map(Vec<(Text, Node)>),
}

impl Template {
    /// Compiles a template. `variables` are the names that its expressions may use. The errors are all that is wrong
    /// with it, each led by its place in the template.
    pub fn compile(template: &Map<String, Value>, variables: &[&str], evaluator: &Evaluator) -> Result<Self, Flaws> {
        let mut compiler = Compiler::new(variables, evaluator);
        let kind = kind(template, &mut compiler);
        let fields = map(template, "", &mut compiler);
        let metadata = template.get("metadata");
        if !matches!(metadata, None | Some(Value::Object(_))) {
            compiler.error("metadata", "is not a map of fields; write its fields out");
        }
        let metadata = metadata.and_then(Value::as_object);
        for (place, map) in [("", Some(template)), ("metadata", metadata)] {
            for key in map.into_iter().flat_map(Map::keys).filter(|key| key.contains("${")) {
                compiler
                    .error(&child(place, key), "names of fields are fixed text here, for the broker must know them");
            }
        }
        let namespace = namespace(metadata.and_then(|metadata| metadata.get("namespace")), &mut compiler);
        match compiler.into_errors() {
            errors if errors.is_empty() => Ok(Self { kind, namespace, fields }),
            errors => Err(errors),
        }
    }

    /// Kind of the object: a template says it in fixed text.
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// The namespace that it asks for.
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// The object, with these values for the variables. Its name and namespace are as the template has them.
    pub fn render(&self, variables: &[(&str, Arc<Value>)], evaluator: &Evaluator) -> Result<Value, TemplateError> {
        let object = Value::Object(render_map(&self.fields, variables, evaluator)?);
        let length = object.to_string().len();
        if length > MAX_OBJECT {
            let what = format!("has {length} bytes of JSON; at most {MAX_OBJECT} are allowed");
            return Err(TemplateError::new("the object", what));
        }
        Ok(object)
    }
}

/// The kind of the object; errors when it is not fixed text.
fn kind(template: &Map<String, Value>, compiler: &mut Compiler<'_>) -> Kind {
    let mut fixed = |field: &str, example: &str| match template.get(field) {
        Some(Value::String(text)) if text.contains("${") => {
            compiler.error(field, format!("is fixed text such as {example}, without expressions"));
            String::new()
        }
        Some(Value::String(text)) if !text.is_empty() => text.clone(),
        Some(_) => {
            compiler.error(field, format!("is not a text such as {example}"));
            String::new()
        }
        None => {
            compiler.error(field, format!("is missing; write one such as {example}"));
            String::new()
        }
    };
    let (api_version, kind) = (fixed("apiVersion", "batch/v1"), fixed("kind", "Job"));
    let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
    if !api_version.is_empty() && (version.is_empty() || version.contains('/') || api_version.starts_with('/')) {
        compiler.error("apiVersion", format!("{api_version:?} is neither a version nor group/version"));
    }
    Kind { group: group.to_owned(), version: version.to_owned(), kind }
}

fn namespace(namespace: Option<&Value>, compiler: &mut Compiler<'_>) -> Namespace {
    match namespace {
        None | Some(Value::Null) => Namespace::Own,
        Some(Value::String(name)) if name.is_empty() => Namespace::Own,
        Some(Value::String(name)) if name.contains("${") => Namespace::Computed,
        Some(Value::String(name)) => Namespace::Fixed(name.clone()),
        Some(_) => {
            compiler.error("metadata.namespace", "is not a text");
            Namespace::Own
        }
    }
}

fn node(value: &Value, path: &str, compiler: &mut Compiler<'_>) -> Node {
    match value {
        Value::String(text) => Node::Text(compiler.text(text, path)),
        Value::Array(elements) => Node::List(
            elements
                .iter()
                .enumerate()
                .map(|(index, element)| node(element, &format!("{path}[{index}]"), compiler))
                .collect(),
        ),
        Value::Object(fields) => Node::Map(map(fields, path, compiler)),
        Value::Null | Value::Bool(_) | Value::Number(_) => Node::Fixed(value.clone()),
    }
}

fn map(fields: &Map<String, Value>, path: &str, compiler: &mut Compiler<'_>) -> Vec<(Text, Node)> {
    let mut compile = |(key, value): (&String, &Value)| {
        let path = child(path, key);
        (compiler.text(key, &path), node(value, &path, compiler))
    };
    fields.iter().map(&mut compile).collect()
}

/// The path of a field: `spec.image`, `metadata.labels["a/b"]`.
fn child(path: &str, key: &str) -> String {
    let plain = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    match (path, plain) {
        ("", true) => key.to_owned(),
        (_, true) => format!("{path}.{key}"),
        (_, false) => format!("{path}[{key:?}]"),
    }
}

fn render(node: &Node, variables: &[(&str, Arc<Value>)], evaluator: &Evaluator) -> Result<Value, TemplateError> {
    match node {
        Node::Fixed(value) => Ok(value.clone()),
        Node::Text(text) => text.value(variables, evaluator),
        Node::List(elements) => {
            let elements = elements.iter().map(|element| render(element, variables, evaluator));
            Ok(Value::Array(elements.collect::<Result<_, _>>()?))
        }
        Node::Map(fields) => Ok(Value::Object(render_map(fields, variables, evaluator)?)),
    }
}

fn render_map(
    fields: &[(Text, Node)],
    variables: &[(&str, Arc<Value>)],
    evaluator: &Evaluator,
) -> Result<Map<String, Value>, TemplateError> {
    let mut map = Map::new();
    for (key, node) in fields {
        let name = key.key(variables, evaluator)?;
        let value = render(node, variables, evaluator)?;
        if map.contains_key(&name) {
            return Err(TemplateError::new(key.path(), format!("two keys become {name:?} in the same map")));
        }
        map.insert(name, value);
    }
    Ok(map)
}
