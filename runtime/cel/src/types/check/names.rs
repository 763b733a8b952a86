//! What names stand for: variables of loops, variables from outside, types; and functions with a dot in their names.

use cel_interpreter::{
    common::ast::{CallExpr, Expr},
    parser::Expression,
};

use super::{Checker, TypeError};
use crate::types::{
    cel_type::{Native, Type},
    functions,
    signature::Overload,
};

/// Longest name that is looked for among types and functions with dots in their names, in parts.
const PARTS: usize = 3;

impl Checker<'_> {
    /// The type of what a name stands for. With a dot before it, it is from outside, whatever loops call so.
    pub(super) fn name(&mut self, name: &str) -> Result<Type, TypeError> {
        let plain = name.trim_start_matches('.');
        let local = if plain == name { self.local(name) } else { None };
        let found = local.or_else(|| self.variables.get(plain)).cloned();
        found.or_else(|| named_type(plain).map(Type::of)).ok_or_else(|| TypeError::undeclared(name))
    }

    fn local(&self, name: &str) -> Option<&Type> {
        self.locals.iter().rev().find(|(local, _)| *local == name).map(|(_, found)| found)
    }

    /// The type that `google.protobuf.Timestamp` and the like name.
    pub(super) fn type_name(&self, of: &Expression) -> Option<Type> {
        let parts = qualified(of, PARTS)?;
        let root = *parts.first()?;
        // A variable's field comes first: the types' names are not reserved.
        if self.local(root).is_some() || self.variables.get(root).is_some() {
            return None;
        }
        named_type(&parts.join("."))
    }

    /// The function that `json.marshal(x)` calls: one with a dot in its name, and no method, whatever else is called `json`.
    pub(super) fn namespaced(call: &CallExpr) -> Option<(String, &'static [Overload])> {
        let mut parts = qualified(call.target.as_deref()?, PARTS)?;
        parts.push(&call.func_name);
        let name = parts.join(".");
        let overloads = functions::find(name.trim_start_matches('.'))?;
        Some((name, overloads))
    }
}

/// `a.b.c`, where an expression is no more than names, so many at the most.
fn qualified(of: &Expression, most: usize) -> Option<Vec<&str>> {
    let mut parts = Vec::new();
    let mut at = of;
    while parts.len() < most {
        match &at.expr {
            Expr::Ident(name) => {
                parts.push(name.as_str());
                parts.reverse();
                return Some(parts);
            }
            Expr::Select(select) if !select.test => {
                parts.push(&select.field);
                at = &select.operand;
            }
            _ => return None,
        }
    }
    None
}

/// Types that expressions know by name. kro declares these and then does not find them when it evaluates. (`type` itself
/// and `dyn` it does not know at all.)
fn named_type(name: &str) -> Option<Type> {
    Some(match name {
        "bool" => Type::Bool,
        "bytes" => Type::Bytes,
        "double" => Type::Double,
        "int" => Type::Int,
        "uint" => Type::Uint,
        "string" => Type::String,
        "null_type" => Type::Null,
        "list" => Type::list(Type::Dyn),
        "map" => Type::map(Type::Dyn, Type::Dyn),
        "optional_type" => Type::optional(Type::Dyn),
        "google.protobuf.Timestamp" => Type::Timestamp,
        "google.protobuf.Duration" => Type::Duration,
        other => Type::Native(Native::ALL.iter().copied().find(|native| native.name() == other)?),
    })
}
