//! `Failure`: why an expression has no value. What is missing is told apart from what is wrong by type, not by text.

use crate::expression::meter;

/// Why there is no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failure {
    /// A field, key, element or variable that is not there yet.
    Missing(String),
    /// It cannot be done with these values, now or later.
    Wrong(String),
    /// A field of a whole object that is not set, and will not be unless somebody sets it.
    Unset(String),
    /// A function does not take these arguments; whoever calls it says which.
    Misfit,
    /// A bound was met: nothing more is evaluated, and nothing may make up for it.
    Stopped,
}

pub(super) type Answer<T> = Result<T, Failure>;

impl Failure {
    pub(super) fn wrong(what: impl Into<String>) -> Self {
        Self::Wrong(what.into())
    }

    /// A bound that was met; it is told when the evaluation ends.
    pub(super) fn bound(what: impl FnOnce() -> String) -> Self {
        meter::exceed(what);
        Self::Stopped
    }
}

/// Takes so many steps.
pub(super) fn charge(steps: u64) -> Answer<()> {
    if meter::spend(steps) { Ok(()) } else { Err(Failure::Stopped) }
}

/// Takes the steps for reading, or making, a text of so many bytes.
pub(super) fn charge_text(bytes: usize) -> Answer<()> {
    charge(1 + meter::steps_of(bytes))
}

/// Refuses a text that would get too long, and takes the steps for it otherwise.
pub(super) fn charge_made(bytes: usize) -> Answer<()> {
    let most = meter::values().text;
    if bytes > most {
        return Err(Failure::bound(|| format!("it makes a text of {bytes} bytes, at most {most} are allowed")));
    }
    charge_text(bytes)
}

/// A turn of a loop: a step, and a look at the time.
pub(super) fn turn() -> Answer<()> {
    charge(1)?;
    meter::in_time().map_err(|_| Failure::Stopped)
}
