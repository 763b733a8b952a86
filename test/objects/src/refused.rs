//! `Refused`: why a write does not go through.

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// There is one of that name.
    Exists,
    /// There is none.
    Gone,
    /// It is another one, or has changed.
    Conflict,
    /// Nobody answers.
    Unreachable,
    /// The kind is not served.
    NoKind,
    /// What is applied has fields that the kind has not.
    Untyped,
    /// Nothing is left of a map that is applied as `{}`.
    Emptied,
    /// A finalizer for what is being deleted.
    Late,
}
