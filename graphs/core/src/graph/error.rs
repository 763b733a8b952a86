//! `GraphError`: why an RGD makes no graph.

use std::fmt;

use broker_api::Gvk;
use runtime_cel::expression::ExpressionError;

use super::kinds::api_version;
use crate::naming::NamingError;

/// Longest message, in characters.
const LONGEST: usize = 2048;

/// A kind that a resource needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingKind {
    /// The resource.
    pub resource: String,
    /// The kind.
    pub kind: Gvk,
    /// Whether it is not known what is served, rather than that this is not.
    pub unknown: bool,
}

/// Why an RGD makes no graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GraphError {
    /// What is wrong, where, and what to do. It stays wrong until the RGD is edited.
    Invalid(String),
    /// Kinds are missing. Compile it again when one of them appears.
    KindsMissing(Vec<MissingKind>),
    /// The machine was too busy to tell. Compile it again in a moment.
    Busy(String),
}

impl GraphError {
    pub(super) fn invalid(what: impl fmt::Display) -> Self {
        let what = what.to_string();
        Self::Invalid(match what.char_indices().nth(LONGEST) {
            None => what,
            Some((end, _)) => format!("{}…", what.get(..end).unwrap_or_default()),
        })
    }

    /// What is wrong with an expression at this place.
    pub(super) fn expression(place: &str, error: &ExpressionError) -> Self {
        if error.is_transient() {
            Self::Busy(format!("{place}: {error}"))
        } else {
            Self::invalid(format_args!("{place}: {error}"))
        }
    }

    /// The kinds that it waits for.
    pub fn missing_kinds(&self) -> &[MissingKind] {
        match self {
            Self::KindsMissing(missing) => missing,
            _ => &[],
        }
    }
}

impl From<NamingError> for GraphError {
    fn from(error: NamingError) -> Self {
        Self::invalid(error)
    }
}

impl fmt::Display for GraphError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(what) | Self::Busy(what) => f.write_str(what),
            Self::KindsMissing(missing) => {
                for (index, MissingKind { resource, kind, unknown }) in missing.iter().enumerate() {
                    f.write_str(if index > 0 { "; " } else { "" })?;
                    let why = if *unknown { "is not known yet" } else { "is not served" };
                    let (version, kind) = (api_version(kind), &kind.kind);
                    write!(
                        f,
                        "failed to get schema for resource {resource}: schema not found: {kind} of {version} {why}"
                    )?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for GraphError {}
