//! Templates: what is written out is compared with the schema of the kind, expressions are compiled.

use runtime_cel::types::{self, Type};
use serde_json::Value;

use super::{
    draft::{Draft, Wanted},
    error::GraphError,
    expression::{Compiler, Text, shown},
    path::{Path, Step},
    schema::Field,
    tree::Tree,
};

/// Goes through the template of one resource.
pub(super) struct Reader<'c, 'e, 'a> {
    pub(super) compiler: &'c mut Compiler<'e>,
    /// Id of the resource.
    pub(super) id: &'a str,
    pub(super) path: Path<'a>,
    pub(super) expressions: Vec<Draft>,
}

impl<'c, 'e, 'a> Reader<'c, 'e, 'a> {
    pub(super) fn new(compiler: &'c mut Compiler<'e>, id: &'a str) -> Self {
        Self { compiler, id, path: Path::default(), expressions: Vec::new() }
    }

    pub(super) fn wrong(&self, what: impl std::fmt::Display) -> GraphError {
        GraphError::invalid(format_args!("resource {:?}: {what}", self.id))
    }

    /// Reads what stands at a step within the current place.
    pub(super) fn at(&mut self, step: Step<'a>, value: &'a Value, field: Field<'_>) -> Result<Tree, GraphError> {
        self.path.0.push(step);
        let read = self.value(value, field);
        self.path.0.pop();
        read
    }

    fn value(&mut self, value: &'a Value, field: Field<'_>) -> Result<Tree, GraphError> {
        let kind = match value {
            Value::Null => return Ok(Tree::Fixed(Value::Null)),
            Value::String(text) => return self.text(value, text, field),
            Value::Array(_) => "array",
            Value::Object(_) => "object",
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.is_f64() => {
                let whole = number.as_f64().is_some_and(|number| number.fract() == 0.0);
                if whole { "integer" } else { "number" }
            }
            Value::Number(_) => "integer",
        };
        self.takes(kind, field)?;
        match value {
            Value::Array(elements) => {
                let read = |(index, element)| self.at(Step::Index(index), element, field.element());
                let trees: Vec<Tree> = elements.iter().enumerate().map(read).collect::<Result<_, _>>()?;
                let fixed = trees.iter().all(|tree| matches!(tree, Tree::Fixed(_)));
                Ok(if fixed { Tree::Fixed(value.clone()) } else { Tree::List(trees) })
            }
            Value::Object(fields) => {
                let mut trees = Vec::with_capacity(fields.len());
                for (name, inner) in fields {
                    let child = self.child(field, name)?;
                    trees.push((name.clone(), self.at(Step::Key(name), inner, child)?));
                }
                let fixed = trees.iter().all(|(_, tree)| matches!(tree, Tree::Fixed(_)));
                Ok(if fixed { Tree::Fixed(value.clone()) } else { Tree::Object(trees) })
            }
            scalar => Ok(Tree::Fixed(scalar.clone())),
        }
    }

    /// The field of this name.
    pub(super) fn child<'s>(&mut self, field: Field<'s>, name: &'a str) -> Result<Field<'s>, GraphError> {
        field.child(name).map_err(|()| {
            self.path.0.push(Step::Key(name));
            let path = self.path.to_string();
            self.path.0.pop();
            let name = shown(name);
            self.wrong(format_args!("error getting field schema for path {path}: schema not found for field {name}"))
        })
    }

    /// Whether the field takes values of this kind.
    fn takes(&self, kind: &str, field: Field<'_>) -> Result<(), GraphError> {
        let Some(wanted) = field.kinds() else { return Ok(()) };
        if wanted.contains(&kind) || kind == "integer" && wanted.contains(&"number") {
            return Ok(());
        }
        let (wanted, path) = (wanted.join(" or "), &self.path);
        Err(self.wrong(format_args!("expected {wanted} type for path {path}, got {kind}")))
    }

    fn text(&mut self, value: &Value, text: &str, field: Field<'_>) -> Result<Tree, GraphError> {
        let (id, path) = (self.id, &self.path);
        let read = self.compiler.text(text, || format!("resource {id:?} at path \"{path}\""))?;
        let (program, wanted) = match read {
            Text::Plain => {
                self.takes("string", field)?;
                return Ok(Tree::Fixed(value.clone()));
            }
            Text::Mixed(program) => {
                self.takes("string", field)?;
                let typed = field.schema.filter(|_| !field.checked);
                let known = typed.map(|schema| types::value(id, schema)).filter(|known| *known != Type::Dyn);
                (program, known.map_or(Wanted::Text, Wanted::Fitting))
            }
            Text::Standalone(program) => {
                let expected = field.schema.map_or(Type::Dyn, |schema| self.expected(schema));
                (program, Wanted::Fitting(expected))
            }
        };
        Ok(self.computed(program, text, wanted, field.is_nullable()))
    }

    fn expected(&self, schema: &Value) -> Type {
        types::value(&format!("{}.{}", self.id, self.path), schema)
    }

    /// An expression that stands at the current place.
    pub(super) fn computed(
        &mut self,
        program: runtime_cel::graph::Program,
        told: &str,
        wanted: Wanted,
        nullable: bool,
    ) -> Tree {
        let told = told.strip_prefix("${").and_then(|told| told.strip_suffix('}')).unwrap_or(told);
        let draft = Draft { path: self.path.to_string(), program, told: shown(told), wanted, nullable };
        self.expressions.push(draft);
        Tree::Computed(self.expressions.len() - 1)
    }
}
