//! `Finding`: something that is not as it should be, where, and what to do about it.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use crate::cluster::Trouble;

/// How bad it is. The worst goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Severity {
    /// Something does not work.
    Error,
    /// Something will not work, or may be meant.
    Warning,
    /// A person has asked for it.
    Info,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
        })
    }
}

/// Something that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Finding {
    /// How bad it is.
    pub(crate) severity: Severity,
    /// Which check has found it, such as `signing-key`.
    pub(crate) check: &'static str,
    /// Where: a cluster, such as `provider#theseus`, and mostly an object in it.
    #[serde(rename = "where")]
    pub(crate) place: String,
    /// What.
    pub(crate) what: String,
    /// What to do about it.
    pub(crate) remedy: String,
}

/// What people are told of findings of one check that are too many to be told one by one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct More {
    /// Which check.
    pub(crate) check: &'static str,
    /// What, behind how many there are: `objects are not served`.
    pub(crate) what: &'static str,
    /// How to see the others.
    pub(crate) remedy: &'static str,
}

impl Finding {
    fn new(
        severity: Severity,
        check: &'static str,
        place: &(impl fmt::Display + ?Sized),
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { severity, check, place: place.to_string(), what: what.into(), remedy: remedy.into() }
    }

    /// Something does not work.
    pub(crate) fn error(
        check: &'static str,
        place: &(impl fmt::Display + ?Sized),
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self::new(Severity::Error, check, place, what, remedy)
    }

    /// Something will not work, or may be meant.
    pub(crate) fn warning(
        check: &'static str,
        place: &(impl fmt::Display + ?Sized),
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self::new(Severity::Warning, check, place, what, remedy)
    }

    /// A person has asked for it.
    pub(crate) fn info(
        check: &'static str,
        place: &(impl fmt::Display + ?Sized),
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self::new(Severity::Info, check, place, what, remedy)
    }

    /// It could not be looked at. `needs`: the rights that it takes.
    pub(crate) fn unchecked(
        check: &'static str,
        place: &(impl fmt::Display + ?Sized),
        why: &Trouble,
        needs: &str,
    ) -> Self {
        let remedy = match why {
            Trouble::Forbidden(_) => format!("it needs {needs}: grant that to the credentials by which it is asked"),
            Trouble::NotServed(_) | Trouble::Other(_) => {
                "see whether the API server is well, and look again".to_owned()
            }
        };
        Self::warning(check, place, format!("cannot be checked: {why}"), remedy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_right_is_missing_for_is_a_finding() {
        let denied = Finding::unchecked("lease", "hub", &Trouble::Forbidden("no".into()), "get of leases");
        assert_eq!((denied.severity, &*denied.what), (Severity::Warning, "cannot be checked: no"));
        assert!(denied.remedy.starts_with("it needs get of leases"), "{denied:?}");
        assert!(Severity::Error < Severity::Warning && Severity::Warning < Severity::Info);
        assert_eq!(format!("{:<8}|", Severity::Error), "error   |");
    }
}
