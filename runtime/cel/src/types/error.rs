//! `TypeError`: why an expression has no type.

use std::fmt;

use super::{budget::Overrun, cel_type::Type, shown::InMessage};

/// Longest message, in bytes.
const LONGEST: usize = 2048;

/// Why an expression has no type: what is wrong with it, in cel-go's words, of which people look for fragments.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TypeError(String);

impl TypeError {
    pub(super) fn new(what: impl Into<String>) -> Self {
        let mut what = what.into();
        if what.len() > LONGEST {
            let end = (0..LONGEST).rev().find(|at| what.is_char_boundary(*at)).unwrap_or_default();
            what.truncate(end);
            what.push('…');
        }
        Self(what)
    }

    pub(super) fn undeclared(name: &str) -> Self {
        Self::new(format!("undeclared reference to '{name}' (in container '')"))
    }

    pub(super) fn undefined_field(name: &str) -> Self {
        Self::new(format!("undefined field '{name}'"))
    }

    pub(super) fn no_overload(name: &str, method: bool, arguments: &[Type]) -> Self {
        Self::new(match (method, arguments.split_first()) {
            (true, Some((target, rest))) => {
                format!("found no matching overload for '{name}' applied to '{}.({})'", InMessage(target), Listed(rest))
            }
            _ => format!("found no matching overload for '{name}' applied to '({})'", Listed(arguments)),
        })
    }

    pub(super) fn mismatch(expected: &Type, found: &Type) -> Self {
        Self::new(format!("expected type '{}' but found '{}'", InMessage(expected), InMessage(found)))
    }

    pub(super) fn no_selection(of: &Type) -> Self {
        Self::new(format!("type '{}' does not support field selection", InMessage(of)))
    }

    pub(super) fn no_range(of: &Type) -> Self {
        Self::new(format!(
            "expression of type '{}' cannot be range of a comprehension (must be list, map, or dynamic)",
            InMessage(of)
        ))
    }

    pub(super) fn too_deep() -> Self {
        Self::new("the expression is nested too deeply: split it")
    }
}

impl From<Overrun> for TypeError {
    fn from(_: Overrun) -> Self {
        Self::new("the types of the expression are too large, or too deep: split it, or put dyn() around a part")
    }
}

struct Listed<'a>(&'a [Type]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, shown) in self.0.iter().enumerate() {
            f.write_str(if index > 0 { ", " } else { "" })?;
            write!(f, "{}", InMessage(shown))?;
        }
        Ok(())
    }
}
