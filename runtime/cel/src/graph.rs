//! CEL in the dialect of resource graphs: what cel-go, Kubernetes' libraries and kro's own make of an expression.
//!
//! An expression of a graph is parsed by the same parser as all others, with [`macros`] of its own, and evaluated by an
//! interpreter of its own over values that know their kind: bytes, moments, durations, quantities, optional values.

mod equal;
mod evaluator;
mod failure;
mod field;
mod fold;
mod function;
mod go;
mod interpret;
mod joined;
pub mod macros;
mod names;
mod network;
mod operator;
mod plain;
mod provenance;
mod quantity;
mod result;
mod scope;
mod text;
mod value;
mod value_type;

pub use evaluator::{Evaluator, Program, Variable};
pub use function::{Style, functions};
pub(crate) use interpret::Sums;
pub use result::{OMIT, is_omitted, without_omitted};
pub use text::{Part, TextError, TextTemplate};
pub use value_type::{StructType, ValueType};
