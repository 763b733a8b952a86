//! `StatusTree`: the fields of an instance's status, and the schema that their expressions give.

use broker_api::graphs::FreeObject;
use runtime_cel::{
    graph::Program,
    types::{self, Schemas, Type, Variables},
};
use serde_json::{Map, Value, json};

use super::{
    SCHEMA,
    error::GraphError,
    expression::{Compiler, Text, known, never_omits, shown, type_of},
    path::{Path, Step},
};
use crate::canonical;

/// Levels of a status.
const MAX_DEPTH: usize = 32;

/// Fields of which no more than this many are told.
const TOLD: usize = 10;

/// A piece of a status.
#[derive(Debug, Clone)]
pub enum StatusTree {
    /// An object.
    Object(Vec<(String, StatusTree)>),
    /// A list.
    List(Vec<StatusTree>),
    /// A value.
    Field(StatusField),
}

/// A value of a status.
#[derive(Debug, Clone)]
pub struct StatusField {
    /// Its place, such as `endpoints[0].host`.
    pub path: String,
    /// Its expression; a text with several is one.
    pub program: Program,
    text: bool,
}

/// Reads `schema.status` without its conditions.
pub(super) fn read(status: &FreeObject, compiler: &mut Compiler<'_>) -> Result<StatusTree, GraphError> {
    if !canonical::fields_are_within(status, MAX_DEPTH) {
        return Err(wrong(format_args!("the status is nested more than {MAX_DEPTH} levels deep")));
    }
    let mut reader = Reader { compiler, path: Path::default(), plain: Vec::new() };
    let mut fields = Vec::new();
    for (name, value) in status {
        // Both are ours.
        if name != "state" && name != "conditions" {
            fields.push((name.clone(), reader.at(Step::Key(name), value)?));
        }
    }
    if !reader.plain.is_empty() {
        let more = reader.plain.len().saturating_sub(TOLD);
        reader.plain.truncate(TOLD);
        let told = reader.plain.join(" ");
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        return Err(wrong(format_args!("status fields without expressions are not supported: [{told}]{more}")));
    }
    Ok(StatusTree::Object(fields))
}

struct Reader<'c, 'e, 'a> {
    compiler: &'c mut Compiler<'e>,
    path: Path<'a>,
    plain: Vec<String>,
}

impl<'a> Reader<'_, '_, 'a> {
    fn at(&mut self, step: Step<'a>, value: &'a Value) -> Result<StatusTree, GraphError> {
        self.path.0.push(step);
        let read = self.value(value);
        self.path.0.pop();
        read
    }

    fn value(&mut self, value: &'a Value) -> Result<StatusTree, GraphError> {
        match value {
            Value::Object(fields) => {
                let read =
                    |(name, value): (&'a String, _)| self.at(Step::Key(name), value).map(|tree| (name.clone(), tree));
                Ok(StatusTree::Object(fields.iter().map(read).collect::<Result<_, _>>()?))
            }
            Value::Array(elements) => {
                let read = |(index, element)| self.at(Step::Index(index), element);
                Ok(StatusTree::List(elements.iter().enumerate().map(read).collect::<Result<_, _>>()?))
            }
            Value::String(text) => {
                let path = &self.path;
                match self.compiler.text(text, || format!("status.{path}"))? {
                    Text::Plain => Ok(self.nothing()),
                    Text::Standalone(program) => Ok(self.field(program, false)),
                    Text::Mixed(program) => Ok(self.field(program, true)),
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(self.nothing()),
        }
    }

    fn nothing(&mut self) -> StatusTree {
        self.plain.push(self.path.to_string());
        StatusTree::List(Vec::new())
    }

    fn field(&self, program: Program, text: bool) -> StatusTree {
        StatusTree::Field(StatusField { path: self.path.to_string(), program, text })
    }
}

impl StatusTree {
    /// Checks the names and types of all fields. Returns the schema, `None` where there is no field.
    pub(super) fn check(
        &mut self,
        is_name: &dyn Fn(&str) -> bool,
        variables: &Variables,
    ) -> Result<Option<Value>, GraphError> {
        self.check_with(is_name, variables, &mut Schemas::default())
    }

    fn check_with(
        &mut self,
        is_name: &dyn Fn(&str) -> bool,
        variables: &Variables,
        schemas: &mut Schemas,
    ) -> Result<Option<Value>, GraphError> {
        match self {
            Self::Object(fields) => {
                let mut properties = Map::new();
                for (name, field) in fields {
                    if let Some(schema) = field.check_with(is_name, variables, schemas)? {
                        properties.insert(name.clone(), schema);
                    }
                }
                Ok((!properties.is_empty()).then(|| json!({"type": "object", "properties": properties})))
            }
            Self::List(elements) => {
                let mut last = None;
                for element in elements {
                    last = element.check_with(is_name, variables, schemas)?.or(last);
                }
                Ok(last.map(|items| json!({"type": "array", "items": items})))
            }
            Self::Field(field) => field.check(is_name, variables, schemas).map(Some),
        }
    }
}

impl StatusField {
    fn check(
        &mut self,
        is_name: &dyn Fn(&str) -> bool,
        variables: &Variables,
        schemas: &mut Schemas,
    ) -> Result<Value, GraphError> {
        let Self { path, program, text } = self;
        let source = shown(program.source());
        let place = || format!("failed to build instance status schema: status field {path:?} expression {source:?}");
        never_omits(program, place)?;
        known(program, is_name, place)?;
        if program.variables().is_empty() {
            return Err(GraphError::invalid(format_args!(
                "instance status field must refer to a resource or {SCHEMA}: status.{path}"
            )));
        }
        let returned = type_of(program, variables, || format!("status field {path:?}"))?;
        if *text {
            types::fits(&returned, &Type::String).map_err(|misfit| wrong(format_args!("{path:?}: {misfit}")))?;
            return Ok(json!({"type": "string"}));
        }
        Ok(schemas.of(&returned))
    }
}

fn wrong(what: std::fmt::Arguments<'_>) -> GraphError {
    GraphError::invalid(format_args!("failed to build instance status schema: {what}"))
}
