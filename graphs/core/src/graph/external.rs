//! External references: the name or the selector by which objects are found that are only read.

use std::sync::LazyLock;

use broker_api::graphs::{ExternalRef, Selector};
use serde_json::{Map, Value, json};

use super::{
    draft::{Draft, Wanted},
    error::GraphError,
    expression::{Compiler, Text},
    kinds::ServedKind,
    object::check_namespace,
    path::Step,
    resource::Role,
    schema::Field,
    template::Reader,
    tree::Tree,
};

/// What may be written of an external reference.
static METADATA: LazyLock<Value> = LazyLock::new(|| {
    let text = json!({"type": "string"});
    let texts = json!({"type": "array", "items": text});
    json!({"type": "object", "properties": {
        "name": text,
        "namespace": text,
        "selector": {"type": "object", "properties": {
            "matchLabels": {"type": "object", "additionalProperties": text},
            "matchExpressions": {"type": "array", "items": {"type": "object", "properties": {
                "key": text,
                "operator": text,
                "values": texts,
            }}},
        }},
    }})
});

/// An external reference as JSON, to be read as templates are.
pub(super) struct Reference {
    metadata: Value,
    /// The one expression that the selector is.
    selector: Option<String>,
    pub(super) role: Role,
}

impl Reference {
    pub(super) fn of(id: &str, reference: &ExternalRef) -> Result<Self, GraphError> {
        let invalid = |what: &str| GraphError::invalid(format_args!("resource {id:?}: externalRef: {what}"));
        let of = &reference.metadata;
        let (mut metadata, mut selector) = (Map::new(), None);
        if let Some(namespace) = &of.namespace {
            metadata.insert("namespace".to_owned(), namespace.as_str().into());
        }
        let role = match (&of.name, &of.selector) {
            (Some(name), None) if name.is_empty() => return Err(invalid("name is empty")),
            (Some(name), None) => {
                metadata.insert("name".to_owned(), name.as_str().into());
                Role::External
            }
            (None, Some(labels)) => {
                match labels {
                    Selector::Expression(text) => selector = Some(text.clone()),
                    Selector::Labels(labels) => {
                        let labels = serde_json::to_value(labels).map_err(|error| invalid(&error.to_string()))?;
                        metadata.insert("selector".to_owned(), labels);
                    }
                }
                Role::Selected
            }
            _ => return Err(invalid("exactly one of name or selector must be provided")),
        };
        Ok(Self { metadata: Value::Object(metadata), selector, role })
    }

    /// Reads it, for objects of this kind.
    pub(super) fn read(
        &self,
        id: &str,
        written: &ExternalRef,
        kind: &ServedKind,
        cluster_instance: bool,
        compiler: &mut Compiler<'_>,
    ) -> Result<(Tree, Vec<Draft>), GraphError> {
        let must_be_stated = cluster_instance && self.role == Role::External;
        check_namespace(id, self.metadata.get("namespace"), kind, must_be_stated)?;
        let mut reader = Reader::new(compiler, id);
        let mut fields = match reader.at(Step::Key("metadata"), &self.metadata, Field::of(&METADATA))? {
            Tree::Object(fields) => fields,
            Tree::Fixed(Value::Object(fields)) => {
                fields.into_iter().map(|(name, value)| (name, Tree::Fixed(value))).collect()
            }
            _ => Vec::new(),
        };
        if let Some(text) = &self.selector {
            let place = || format!("resource {id:?} at path \"metadata.selector\"");
            let Text::Standalone(program) = reader.compiler.text(text, place)? else {
                return Err(GraphError::invalid(format_args!("{}: expected object type, got string", place())));
            };
            reader.path.0.extend([Step::Key("metadata"), Step::Key("selector")]);
            let tree = reader.computed(program, text, Wanted::Selector, false);
            fields.push(("selector".to_owned(), tree));
        }
        let expressions = reader.expressions;
        if let Some(draft) = expressions.iter().find(|draft| draft.program.omits()) {
            return Err(GraphError::invalid(format_args!(
                "resource {id:?} at path {:?}: omit() can only be used in resource template expressions",
                draft.path
            )));
        }
        let tree = Tree::Object(vec![
            ("apiVersion".to_owned(), Tree::Fixed(written.api_version.as_str().into())),
            ("kind".to_owned(), Tree::Fixed(written.kind.as_str().into())),
            ("metadata".to_owned(), Tree::Object(fields)),
        ]);
        Ok((tree, expressions))
    }
}
