//! One text of a template: fixed pieces, and expressions in `${…}`.

use std::sync::Arc;

use serde_json::Value;

use super::TemplateError;
use crate::expression::{Evaluator, Program};

/// A key or a value that is a text, taken apart.
#[derive(Debug, Clone)]
pub struct Text {
    pub(super) path: String,
    pub(super) pieces: Vec<Piece>,
}

/// A part of a text.
#[derive(Debug, Clone)]
pub(super) enum Piece {
    Fixed(String),
    Computed(Program),
}

impl Text {
    /// Its place in the template.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// As a value: of the expression's type when it is one expression and nothing else.
    pub fn value(&self, variables: &[(&str, Arc<Value>)], evaluator: &Evaluator) -> Result<Value, TemplateError> {
        if let [Piece::Computed(program)] = self.pieces.as_slice() {
            return self.evaluate(program, variables, evaluator);
        }
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Fixed(fixed) => text.push_str(fixed),
                Piece::Computed(program) => match self.evaluate(program, variables, evaluator)? {
                    Value::String(part) => text.push_str(&part),
                    part @ (Value::Number(_) | Value::Bool(_)) => text.push_str(&part.to_string()),
                    other => {
                        let what = format!(
                            "is {}, which cannot stand within a text: {:?}",
                            kind_of(&other),
                            shown(program.source())
                        );
                        return Err(TemplateError::new(&self.path, what));
                    }
                },
            }
        }
        Ok(Value::String(text))
    }

    /// As a key of a map: a text, or an error.
    pub fn key(&self, variables: &[(&str, Arc<Value>)], evaluator: &Evaluator) -> Result<String, TemplateError> {
        match self.value(variables, evaluator)? {
            Value::String(key) => Ok(key),
            other => Err(TemplateError::new(
                &self.path,
                format!("the key is {}, not a text; use string(…)", kind_of(&other)),
            )),
        }
    }

    fn evaluate(
        &self,
        program: &Program,
        variables: &[(&str, Arc<Value>)],
        evaluator: &Evaluator,
    ) -> Result<Value, TemplateError> {
        evaluator.evaluate(program, variables).map_err(|error| TemplateError::failed(&self.path, &error))
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    }
}

/// The beginning of an expression, for people.
pub(super) fn shown(source: &str) -> String {
    source.chars().take(120).collect()
}
