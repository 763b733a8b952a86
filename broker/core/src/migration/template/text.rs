//! One text of a template: fixed pieces, and expressions in `${…}`.

use std::sync::Arc;

use runtime_cel::expression::{self, Evaluator, ExpressionError, Program};
use serde_json::Value;

use super::{MAX_EXPRESSIONS, TemplateError};
use crate::migration::flaws::Flaws;

/// A key or a value that is a text, taken apart.
#[derive(Debug, Clone)]
pub(super) struct Text {
    path: String,
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone)]
enum Piece {
    Fixed(String),
    Computed(Program),
}

impl Text {
    /// Its place in the template.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// As a value: of the expression's type when it is one expression and nothing else.
    pub(super) fn value(
        &self,
        variables: &[(&str, Arc<Value>)],
        evaluator: &Evaluator,
    ) -> Result<Value, TemplateError> {
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

    /// As a key.
    pub(super) fn key(&self, variables: &[(&str, Arc<Value>)], evaluator: &Evaluator) -> Result<String, TemplateError> {
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

/// Compiles the texts of one template, and gathers what is wrong with them.
pub(super) struct Compiler<'a> {
    variables: &'a [&'a str],
    evaluator: &'a Evaluator,
    expressions: usize,
    errors: Flaws,
}

impl<'a> Compiler<'a> {
    pub(super) fn new(variables: &'a [&'a str], evaluator: &'a Evaluator) -> Self {
        Self { variables, evaluator, expressions: 0, errors: Flaws::default() }
    }

    pub(super) fn into_errors(self) -> Flaws {
        self.errors
    }

    pub(super) fn error(&mut self, path: &str, what: impl std::fmt::Display) {
        self.errors.push(format!("{path}: {what}"));
    }

    /// Takes a text apart. What is wrong with it is added to the errors.
    pub(super) fn text(&mut self, text: &str, path: &str) -> Text {
        let mut pieces = Vec::new();
        let mut fixed = String::new();
        let mut position = 0;
        while let Some(found) = text[position..].find('$') {
            fixed.push_str(&text[position..position + found]);
            position += found;
            let rest = &text[position..];
            if rest.starts_with("$${") {
                fixed.push_str("${");
                position += 3;
            } else if let Some(inside) = rest.strip_prefix("${") {
                let length = match expression::closing_brace(inside) {
                    Ok(length) => length,
                    Err(why) => {
                        let at = text[..position].chars().count() + 1;
                        self.error(path, format!("the expression that begins at character {at} has no end: {why}"));
                        break;
                    }
                };
                if !fixed.is_empty() {
                    pieces.push(Piece::Fixed(std::mem::take(&mut fixed)));
                }
                pieces.extend(self.expression(&inside[..length], path).map(Piece::Computed));
                position += 2 + length + 1;
            } else {
                fixed.push('$');
                position += 1;
            }
        }
        fixed.push_str(&text[position..]);
        if !fixed.is_empty() {
            pieces.push(Piece::Fixed(fixed));
        }
        Text { path: path.to_owned(), pieces }
    }

    fn expression(&mut self, source: &str, path: &str) -> Option<Program> {
        self.expressions += 1;
        // One more is refused, and none after it is looked at: that is what the bound is for.
        if self.expressions > MAX_EXPRESSIONS {
            if self.expressions == MAX_EXPRESSIONS + 1 {
                self.error(path, format!("a template has at most {MAX_EXPRESSIONS} expressions, and this is one more"));
            }
            return None;
        }
        match self.evaluator.compile(source) {
            Ok(program) => {
                let unknown = unknown_names(&program, self.variables);
                for what in &unknown {
                    self.error(path, what);
                }
                unknown.is_empty().then_some(program)
            }
            Err(ExpressionError::Empty) => {
                self.error(path, "an expression is empty; write $${ for a literal ${");
                None
            }
            Err(error) => {
                self.errors.push_error(path, &error);
                None
            }
        }
    }
}

/// What is wrong with the names that a program takes from outside.
pub(in crate::migration) fn unknown_names(program: &Program, known: &[&str]) -> Vec<String> {
    let unknown = program.variables().iter().filter(|name| !known.contains(&name.as_str()));
    unknown
        .map(|name| {
            let place = program.place_of(name);
            format!(
                "{place}: unknown name {name:?}; known here: {}, in {:?}",
                known.join(", "),
                shown(program.source())
            )
        })
        .collect()
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
fn shown(source: &str) -> String {
    source.chars().take(120).collect()
}
