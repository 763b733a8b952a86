//! `AuthoredCondition`: a condition of the instance that the RGD's author makes.

use std::collections::BTreeSet;

use runtime_cel::{
    graph::Program,
    types::{self, Variables},
};
use serde_json::Value;

use super::{
    error::GraphError,
    expression::{Compiler, known, never_omits, shown, type_of},
};

/// Conditions of ours that an author may read of the instance.
const BUILT_IN: [&str; 4] = ["InstanceManaged", "GraphResolved", "ResourcesReady", "Ready"];

/// An entry of `status.conditions`.
#[derive(Debug, Clone)]
pub struct AuthoredCondition {
    /// A condition, or a list of them.
    pub program: Program,
    /// The types that it writes out; others are known only when it is evaluated.
    pub types: BTreeSet<String>,
}

/// Reads `status.conditions`.
pub(super) fn read(written: &Value, compiler: &mut Compiler<'_>) -> Result<Vec<AuthoredCondition>, GraphError> {
    let entries = match written {
        Value::Null => return Ok(Vec::new()),
        Value::Array(entries) => entries,
        other => return Err(wrong(format_args!("status.conditions must be a list, got {}", kind_of(other)))),
    };
    let mut all = BTreeSet::new();
    let mut read = Vec::with_capacity(entries.len());
    for (index, entry) in entries.iter().enumerate() {
        let place = || format!("status.conditions[{index}]");
        let Value::String(text) = entry else {
            return Err(wrong(format_args!("{} must be a CEL expression string, got {}", place(), kind_of(entry))));
        };
        let program = compiler.standalone(text, place)?;
        let types = check_texts(&program, &place())?;
        for name in &types {
            if !all.insert(name.clone()) {
                return Err(wrong(format_args!(
                    "condition type {:?} is declared by more than one conditions entry",
                    shown(name)
                )));
            }
        }
        read.push(AuthoredCondition { program, types });
    }
    Ok(read)
}

/// Checks what is written out in an expression. Returns the types of conditions.
fn check_texts(program: &Program, place: &str) -> Result<BTreeSet<String>, GraphError> {
    let mut types = BTreeSet::new();
    for (key, text) in program.conditions_written() {
        match key.as_str() {
            "type" if text.is_empty() => {
                return Err(wrong(format_args!("{place}: runtime.newCondition: type must not be empty")));
            }
            "type" => {
                types.insert(text.clone());
            }
            "status" if !matches!(text.as_str(), "True" | "False" | "Unknown") => {
                return Err(wrong(format_args!(
                    "{place}: runtime.newCondition: status must be one of True, False, Unknown (got {:?})",
                    shown(text)
                )));
            }
            _ => {}
        }
    }
    if let Some(name) = program.conditions_read().iter().find(|name| !BUILT_IN.contains(&name.as_str())) {
        return Err(wrong(format_args!(
            "{place}: runtime.condition(schema, {:?}): unknown condition type; only kro's built-in types ({}) can be \
             read from schema",
            shown(name),
            BUILT_IN.join(", ")
        )));
    }
    Ok(types)
}

/// Checks the names and the type of each.
pub(super) fn check(
    conditions: &mut [AuthoredCondition],
    is_name: impl Fn(&str) -> bool,
    variables: &Variables,
) -> Result<(), GraphError> {
    for AuthoredCondition { program, .. } in conditions {
        let source = shown(program.source());
        let place = || format!("status.conditions: {source:?}");
        never_omits(program, place)?;
        known(program, |name| name == super::RUNTIME || is_name(name), place)?;
        let returned = type_of(program, variables, || "status.conditions".to_owned())?;
        types::authored_conditions(&returned)
            .map_err(|not| wrong(format_args!("{}: condition expressions {not}", place())))?;
    }
    Ok(())
}

fn wrong(what: std::fmt::Arguments<'_>) -> GraphError {
    GraphError::invalid(format_args!("failed to build instance conditions: {what}"))
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "list",
        Value::Object(_) => "map",
    }
}
