//! Templates of stage objects: JSON with CEL in `${…}`, of which a Migration must know what is made.
//!
//! What a template is made of is known before anything runs: `apiVersion`, `kind` and the names of the fields at the top
//! and in `metadata` are fixed. All else is [`runtime_cel::template`]'s.

use std::sync::Arc;

use runtime_cel::{
    expression::Evaluator,
    flaws::Flaws,
    template::{self, Compiler, TemplateError, TemplateLimits, child},
};
use runtime_effect::kind::Kind;
use serde_json::{Map, Value};

/// How large a template may be, and the object that it makes.
pub const LIMITS: TemplateLimits = TemplateLimits { expressions: 64, bytes: 256 * 1024 };

/// A template, its expressions compiled.
#[derive(Debug, Clone)]
pub struct Template {
    kind: Kind,
    namespace: Namespace,
    object: template::Template,
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

impl Template {
    /// Compiles a template. `variables` are the names that its expressions may use. The errors are all that is wrong
    /// with it, each led by its place in the template.
    pub fn compile(template: &Map<String, Value>, variables: &[&str], evaluator: &Evaluator) -> Result<Self, Flaws> {
        let mut compiler = Compiler::new(variables, LIMITS, evaluator);
        let kind = kind(template, &mut compiler);
        let object = compiler.map(template, "");
        let metadata = template.get("metadata");
        if !matches!(metadata, None | Some(Value::Object(_))) {
            compiler.flaw("metadata", "is not a map of fields; write its fields out");
        }
        let metadata = metadata.and_then(Value::as_object);
        for (place, map) in [("", Some(template)), ("metadata", metadata)] {
            for key in map.into_iter().flat_map(Map::keys).filter(|key| key.contains("${")) {
                compiler.flaw(&child(place, key), "names of fields are fixed text here, for the broker must know them");
            }
        }
        let namespace = namespace(metadata.and_then(|metadata| metadata.get("namespace")), &mut compiler);
        Ok(Self { kind, namespace, object: compiler.finish(object)? })
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
        self.object.render(variables, evaluator)
    }
}

/// The kind of the object; errors when it is not fixed text.
fn kind(template: &Map<String, Value>, compiler: &mut Compiler<'_>) -> Kind {
    let mut fixed = |field: &str, example: &str| match template.get(field) {
        Some(Value::String(text)) if text.contains("${") => {
            compiler.flaw(field, format!("is fixed text such as {example}, without expressions"));
            String::new()
        }
        Some(Value::String(text)) if !text.is_empty() => text.clone(),
        Some(_) => {
            compiler.flaw(field, format!("is not a text such as {example}"));
            String::new()
        }
        None => {
            compiler.flaw(field, format!("is missing; write one such as {example}"));
            String::new()
        }
    };
    let (api_version, kind) = (fixed("apiVersion", "batch/v1"), fixed("kind", "Job"));
    let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
    if !api_version.is_empty() && (version.is_empty() || version.contains('/') || api_version.starts_with('/')) {
        compiler.flaw("apiVersion", format!("{api_version:?} is neither a version nor group/version"));
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
            compiler.flaw("metadata.namespace", "is not a text");
            Namespace::Own
        }
    }
}
