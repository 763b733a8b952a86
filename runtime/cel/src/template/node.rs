//! A value of a template.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{TemplateError, text::Text};
use crate::expression::Evaluator;

/// JSON whose texts and keys may have `${…}` in them, compiled.
#[derive(Debug, Clone)]
pub enum Node {
    /// No text and no expression in it.
    Fixed(Value),
    /// A text.
    Text(Text),
    /// A list.
    List(Vec<Node>),
    /// A map. Its keys may be computed as well.
    Map(Vec<(Text, Node)>),
}

impl Node {
    /// The value, with these values for the variables. It may be as large as its expressions make it:
    /// [`super::Template::render`] has a bound.
    pub fn render(&self, variables: &[(&str, Arc<Value>)], evaluator: &Evaluator) -> Result<Value, TemplateError> {
        match self {
            Self::Fixed(value) => Ok(value.clone()),
            Self::Text(text) => text.value(variables, evaluator),
            Self::List(elements) => {
                let elements = elements.iter().map(|element| element.render(variables, evaluator));
                Ok(Value::Array(elements.collect::<Result<_, _>>()?))
            }
            Self::Map(fields) => Ok(Value::Object(map(fields, variables, evaluator)?)),
        }
    }
}

fn map(
    fields: &[(Text, Node)],
    variables: &[(&str, Arc<Value>)],
    evaluator: &Evaluator,
) -> Result<Map<String, Value>, TemplateError> {
    let mut map = Map::new();
    for (key, node) in fields {
        let name = key.key(variables, evaluator)?;
        let value = node.render(variables, evaluator)?;
        if map.contains_key(&name) {
            return Err(TemplateError::new(key.path(), format!("two keys become {name:?} in the same map")));
        }
        map.insert(name, value);
    }
    Ok(map)
}
