//! CEL in the dialect of resource graphs: what cel-go, Kubernetes' libraries and kro's own make of an expression.

pub mod macros;
