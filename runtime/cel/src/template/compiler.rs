//! What a template is compiled by, text by text.

use std::fmt::Display;

use serde_json::{Map, Value};

use super::{
    Template, TemplateLimits,
    node::Node,
    text::{Piece, Text, shown},
};
use crate::{
    expression::{self, Evaluator, ExpressionError, Program},
    flaws::Flaws,
};

/// Compiles what one template is made of, and gathers all that is wrong with it: [`Compiler::finish`] has both.
#[derive(Debug)]
pub struct Compiler<'a> {
    variables: &'a [&'a str],
    evaluator: &'a Evaluator,
    limits: TemplateLimits,
    expressions: usize,
    flaws: Flaws,
}

impl<'a> Compiler<'a> {
    /// `variables` are the names that expressions may use.
    pub fn new(variables: &'a [&'a str], limits: TemplateLimits, evaluator: &'a Evaluator) -> Self {
        Self { variables, evaluator, limits, expressions: 0, flaws: Flaws::default() }
    }

    /// Adds what its owner finds wrong with it, at this place.
    pub fn flaw(&mut self, path: &str, what: impl Display) {
        self.flaws.push(format!("{path}: {what}"));
    }

    /// The template, if nothing is wrong; all that is wrong otherwise, each led by its place.
    pub fn finish(self, root: Node) -> Result<Template, Flaws> {
        if self.flaws.is_empty() { Ok(Template::new(root, self.limits.bytes)) } else { Err(self.flaws) }
    }

    /// Compiles any JSON that stands at this place.
    pub fn node(&mut self, value: &Value, path: &str) -> Node {
        match value {
            Value::String(text) => Node::Text(self.text(text, path)),
            Value::Array(elements) => Node::List(
                elements
                    .iter()
                    .enumerate()
                    .map(|(index, element)| self.node(element, &format!("{path}[{index}]")))
                    .collect(),
            ),
            Value::Object(fields) => self.map(fields, path),
            Value::Null | Value::Bool(_) | Value::Number(_) => Node::Fixed(value.clone()),
        }
    }

    /// The same for a map; at the top the place is the empty text.
    pub fn map(&mut self, fields: &Map<String, Value>, path: &str) -> Node {
        let compile = |(key, value): (&String, &Value)| {
            let path = child(path, key);
            (self.text(key, &path), self.node(value, &path))
        };
        Node::Map(fields.iter().map(compile).collect())
    }

    /// Takes a text apart. What is wrong with it is added to the flaws.
    pub fn text(&mut self, text: &str, path: &str) -> Text {
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
                        self.flaw(path, format!("the expression that begins at character {at} has no end: {why}"));
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
        let most = self.limits.expressions;
        if self.expressions > most {
            if self.expressions - most == 1 {
                self.flaw(path, format!("a template has at most {most} expressions, and this is one more"));
            }
            return None;
        }
        match self.evaluator.compile(source) {
            Ok(program) => {
                let unknown = unknown_names(&program, self.variables);
                for what in &unknown {
                    self.flaw(path, what);
                }
                unknown.is_empty().then_some(program)
            }
            Err(ExpressionError::Empty) => {
                self.flaw(path, "an expression is empty; write $${ for a literal ${");
                None
            }
            Err(error) => {
                self.flaws.push_error(path, &error);
                None
            }
        }
    }
}

/// What is wrong with the names that a program takes from outside.
pub fn unknown_names(program: &Program, known: &[&str]) -> Vec<String> {
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

/// The path of a field: `spec.image`, `metadata.labels["a/b"]`.
pub fn child(path: &str, key: &str) -> String {
    let plain = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    match (path, plain) {
        ("", true) => key.to_owned(),
        (_, true) => format!("{path}.{key}"),
        (_, false) => format!("{path}[{key:?}]"),
    }
}
