//! The conditions that the RGD's author makes.

use std::collections::BTreeSet;

use serde_json::Value;

use super::values::Values;
use crate::graph::{AuthoredCondition, Graph};

/// What an entry of `status.conditions` made.
#[derive(Debug, Clone, PartialEq)]
pub struct Authored {
    /// The types that it writes out.
    pub types: BTreeSet<String>,
    /// The conditions, or why there are none.
    pub made: Made,
}

/// Conditions, or why there are none.
#[derive(Debug, Clone, PartialEq)]
pub enum Made {
    /// Each `{type, status, reason, message}`.
    Conditions(Vec<Value>),
    /// Data is not there yet: what was written before stays.
    Pending,
    /// It fails; for people.
    Failed(String),
}

pub(super) fn all(graph: &Graph, values: &mut Values<'_>, built_in: &[Value]) -> Vec<Authored> {
    values.see_conditions(built_in);
    let all = graph.conditions.iter().map(|authored| {
        let AuthoredCondition { program, types } = authored;
        // Not what the same text gave before: it may read conditions.
        let made = match values.evaluated(program, &[], false) {
            Ok(value) => match value.as_ref() {
                Value::Array(all) => Made::Conditions(all.clone()),
                Value::Null => Made::Conditions(Vec::new()),
                one => Made::Conditions(vec![one.clone()]),
            },
            Err(error) if error.is_pending() => Made::Pending,
            Err(error) => Made::Failed(format!("status.conditions: {error}")),
        };
        Authored { types: types.clone(), made }
    });
    all.collect()
}
