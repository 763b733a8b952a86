//! What an expression gives, before it is ever evaluated: types, read from OpenAPI schemas, checked as cel-go checks them,
//! and compared with the field that the value is written to.
//!
//! ```text
//! schema ──schema──► Type ──Variables──► check(parsed expression) ──► Type ──fits──► Type of the field
//!                                                                       └──open_api──► schema of a status field
//! ```
//!
//! The interpreter has no types of its own: it looks at values. So all that is wrong with a name, a field or an argument would
//! come out only when an object exists, one expression at a time. kro tells it when the graph is made, and people rely on it.
//!
//! All of it comes from strangers (schemas of 1 MiB, expressions of 8 KiB), and types grow faster than the texts they come
//! from: `cel.bind(b, {a: a}, …)` doubles one at each turn. So whatever walks over types carries a `Budget`, and
//! nothing recurses deeper than that allows. 2 MiB of stack, a thread's default, are enough.

#[cfg(test)]
mod agreement;
mod budget;
mod cel_type;
mod check;
mod error;
mod escape;
mod fits;
mod functions;
mod name;
mod object_meta;
mod open_api;
mod rules;
mod schema;
mod shown;
mod signature;
mod unify;
mod variables;

pub use cel_type::{Field, Native, Struct, Type};
pub use check::{check, is_known, typed};
pub use error::TypeError;
pub use fits::{Misfit, fits};
pub use object_meta::OBJECT_META;
pub use open_api::{Schemas, open_api};
pub use rules::{NotAllowed, authored_conditions, condition, elements};
pub use schema::{Scope, collection, object, value};
pub use variables::Variables;
