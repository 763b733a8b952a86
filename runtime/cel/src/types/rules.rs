//! What a type must be where there is no field: in conditions, loops, and the conditions that authors write.

use std::fmt;

use super::cel_type::{Native, Type};

/// An expression of this type is not allowed there. Its text goes on behind the expression:
/// `must return a list, got "string": …`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotAllowed {
    /// `includeWhen`, `readyWhen`.
    Condition(Type),
    /// `forEach`.
    Elements(Type),
    /// `status.conditions`.
    AuthoredConditions(Type),
}

impl fmt::Display for NotAllowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Condition(got) => write!(f, "must return bool or optional_type(bool), but returns \"{got}\""),
            Self::Elements(got) => write!(f, "must return a list, got \"{got}\": type \"{got}\" is not a list type"),
            Self::AuthoredConditions(got) => {
                write!(f, "must return runtime.newCondition(...) or a list of them, got \"{got}\"")
            }
        }
    }
}

impl std::error::Error for NotAllowed {}

/// `includeWhen` and `readyWhen` are true or false, or nothing; dyn is not known to be.
pub fn condition(returned: &Type) -> Result<(), NotAllowed> {
    let inner = if let Type::Optional(inner) = returned { inner } else { returned };
    if *inner == Type::Bool { Ok(()) } else { Err(NotAllowed::Condition(returned.clone())) }
}

/// What `forEach` goes over, element by element: a list, which is neither dyn nor optional. Returns the iterator's type.
pub fn elements(returned: &Type) -> Result<Type, NotAllowed> {
    match returned {
        Type::List(element) => Ok((**element).clone()),
        other => Err(NotAllowed::Elements(other.clone())),
    }
}

/// An element of `status.conditions`: a condition or a list of them.
pub fn authored_conditions(returned: &Type) -> Result<(), NotAllowed> {
    let one = if let Type::List(element) = returned { element } else { returned };
    let is_condition = *one == Type::Native(Native::Condition);
    if is_condition { Ok(()) } else { Err(NotAllowed::AuthoredConditions(returned.clone())) }
}
