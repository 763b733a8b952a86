//! What names stand for: the variables of loops and of `bind`, inner ones first, then those that were handed in.

use std::{cell::OnceCell, sync::Arc};

use cel_interpreter::parser::Expression;
use serde_json::Value as Json;

use super::{
    failure::{Answer, Failure},
    provenance::Provenance,
    value::Value,
    value_type::ValueType,
};

/// A variable that was handed in.
pub(super) struct Bound {
    pub(super) origin: Provenance,
    pub(super) json: Arc<Json>,
    pub(super) of: ValueType,
}

impl Bound {
    fn value(&self) -> Answer<Value<'_>> {
        Value::given(&self.json, &self.of, &self.origin)
    }
}

/// The names around an expression.
pub(super) type Names<'f, 'v> = Option<&'f Frame<'f, 'v>>;

/// Whoever can tell the value of an expression, given the names around it.
pub(super) trait Evaluate<'v> {
    fn value(&self, expression: &'v Expression, names: Names<'_, 'v>) -> Answer<Value<'v>>;
}

/// One name and what is around it.
pub(super) struct Frame<'f, 'v> {
    pub(super) outer: Option<&'f Frame<'f, 'v>>,
    pub(super) name: &'v str,
    pub(super) content: Content<'v>,
}

pub(super) enum Content<'v> {
    /// Or why there is none, which counts only where it is asked for.
    Ready(Answer<Value<'v>>),
    /// Evaluated when it is first asked for.
    Later(&'v Expression, OnceCell<Answer<Value<'v>>>),
}

impl<'f, 'v> Frame<'f, 'v> {
    pub(super) fn ready(outer: Option<&'f Frame<'f, 'v>>, name: &'v str, value: Answer<Value<'v>>) -> Self {
        Self { outer, name, content: Content::Ready(value) }
    }

    pub(super) fn later(outer: Option<&'f Frame<'f, 'v>>, name: &'v str, value: &'v Expression) -> Self {
        Self { outer, name, content: Content::Later(value, OnceCell::new()) }
    }

    /// The frame of this name.
    pub(super) fn find(&self, name: &str) -> Option<&Frame<'f, 'v>> {
        let mut frame = self;
        while frame.name != name {
            frame = frame.outer?;
        }
        Some(frame)
    }

    pub(super) fn value(&self, evaluate: &impl Evaluate<'v>) -> Answer<Value<'v>> {
        match &self.content {
            Content::Ready(value) => value.clone(),
            Content::Later(expression, value) => value.get_or_init(|| evaluate.value(expression, self.outer)).clone(),
        }
    }
}

/// The variable of this name that was handed in.
pub(super) fn variable<'v>(variables: &'v [Bound], name: &str) -> Option<&'v Bound> {
    variables.iter().find(|bound| bound.origin.name == name)
}

/// Its value; one that was not handed in is not there yet.
pub(super) fn value_of<'v>(variables: &'v [Bound], name: &str) -> Answer<Value<'v>> {
    match variable(variables, name) {
        Some(bound) => bound.value(),
        None => Err(Failure::Missing(format!("there is no {name:?} yet"))),
    }
}
