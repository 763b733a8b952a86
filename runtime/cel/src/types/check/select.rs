//! Fields: `a.b`, `a.?b`.

use super::{Checker, TypeError};
use crate::types::cel_type::{Native, Type};

impl Checker<'_> {
    /// The type of a field of this. What is optional stays so to the end of the chain.
    pub(super) fn select(&mut self, operand: &Type, field: &str, optional: bool) -> Result<Type, TypeError> {
        let operand = self.unifier.resolve(operand)?;
        let (whole, wrapped) = match &operand {
            Type::Optional(inner) => (&**inner, true),
            other => (other, false),
        };
        let found = match whole {
            Type::Dyn => Type::Dyn,
            Type::Map(entry) => entry.1.clone(),
            Type::Struct(object) => object.select(field).ok_or_else(|| TypeError::undefined_field(field))?,
            Type::Native(native) if native.is_object() => of_native(*native, field)?,
            Type::Param(_) => {
                // Nothing more will be known of it.
                self.unifier.takes_one(&Type::Dyn, whole)?;
                Type::Dyn
            }
            other => return Err(TypeError::no_selection(&self.unifier.ground(other)?)),
        };
        Ok(if wrapped || optional { Type::optional(found) } else { found })
    }
}

fn of_native(native: Native, field: &str) -> Result<Type, TypeError> {
    native.field(field).ok_or_else(|| match native {
        Native::Condition => TypeError::undefined_field(field),
        other => TypeError::new(format!("unexpected failed resolution of '{}'", other.name())),
    })
}
