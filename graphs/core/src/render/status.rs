//! The fields of an instance's status. All of them are soft: one is there as long as its sources are.

use serde_json::{Map, Value};

use super::values::Values;
use crate::graph::StatusTree;

/// Errors of which no more than this many are told.
const TOLD: usize = 10;

/// The fields that are there, and why others are not that fail.
pub(super) fn of(tree: &StatusTree, values: &mut Values<'_>) -> (Map<String, Value>, Vec<String>) {
    let mut errors = Vec::new();
    let status = match value(tree, values, &mut errors) {
        Some(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    (status, errors)
}

fn value(tree: &StatusTree, values: &mut Values<'_>, errors: &mut Vec<String>) -> Option<Value> {
    match tree {
        StatusTree::Object(fields) => {
            let mut there = Map::new();
            for (name, field) in fields {
                if let Some(value) = value(field, values, errors) {
                    there.insert(name.clone(), value);
                }
            }
            (!there.is_empty()).then_some(Value::Object(there))
        }
        StatusTree::List(elements) => {
            let mut there: Vec<Option<Value>> = elements.iter().map(|element| value(element, values, errors)).collect();
            // One that is to come keeps its place before others, and has none behind them.
            while there.last().is_some_and(Option::is_none) {
                there.pop();
            }
            let there: Vec<Value> = there.into_iter().map(Option::unwrap_or_default).collect();
            (!there.is_empty()).then_some(Value::Array(there))
        }
        StatusTree::Field(field) => match values.softly(&field.program) {
            Ok(value) => Some(value.as_ref().clone()),
            Err(error) => {
                if !error.is_pending() && errors.len() < TOLD {
                    errors.push(format!("status.{}: {error}", field.path));
                }
                None
            }
        },
    }
}
