//! Templates: JSON whose texts have CEL in `${…}`.
//!
//! Expressions may stand in values and in keys, at any depth. A value that is one expression and nothing else has the
//! expression's type; around others they become text. `$${` is a literal `${`. Which fields must be fixed text, and what
//! the names mean, is for whoever compiles one to say: he adds what he finds to the [`Compiler`]'s flaws.

mod compiler;
mod error;
mod node;
mod text;

use std::sync::Arc;

use serde_json::Value;

use crate::expression::Evaluator;

pub use compiler::{Compiler, child, unknown_names};
pub use error::TemplateError;
pub use node::Node;
pub use text::Text;

/// How large a template may be, and what comes out of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TemplateLimits {
    /// Expressions in all.
    pub expressions: usize,
    /// Bytes of JSON that come out of it. It is made before it is measured: each expression makes at most as much as the
    /// evaluator's limits say.
    pub bytes: usize,
}

/// A template, its expressions compiled.
#[derive(Debug, Clone)]
pub struct Template {
    root: Node,
    /// Most bytes of JSON that come out of it.
    most: usize,
}

impl Template {
    fn new(root: Node, most: usize) -> Self {
        Self { root, most }
    }

    /// The object, with these values for the variables.
    pub fn render(&self, variables: &[(&str, Arc<Value>)], evaluator: &Evaluator) -> Result<Value, TemplateError> {
        let object = self.root.render(variables, evaluator)?;
        let (length, most) = (object.to_string().len(), self.most);
        if length > most {
            let what = format!("has {length} bytes of JSON; at most {most} are allowed");
            return Err(TemplateError::new("the object", what));
        }
        Ok(object)
    }
}
