//! What the checker says, compared with what kro says; and what kro was not asked.

mod vectors;

mod hostile;

mod checking;

mod depth;

mod shapes;

use cel_interpreter::{Env, parser::Expression};
use runtime_cel::{
    graph::macros,
    types::{Scope, Type, Variables, check, object},
};
use serde_json::Value;

/// An expression as the parser has it, with macros expanded; or why there is none.
fn parsed(source: &str) -> Result<Expression, String> {
    thread_local!(static ENV: Env = macros::environment());
    let parser = ENV.with(Env::parser).enable_ident_escape_syntax(true);
    parser.parse(source).map_err(|errors| format!("parser: {errors}"))
}

/// The type of an expression over these variables, as text; or what is wrong with it.
fn type_of(source: &str, variables: &Variables) -> Result<Type, String> {
    check(&parsed(source)?, variables).map_err(|error| error.to_string())
}

/// A variable `o` of this schema.
fn with_object(schema: &Value) -> Variables {
    Variables::new().with("o", object("o", schema, Scope::Namespaced))
}
