//! Steps of one evaluation: counted by functions that `rewrite` puts into the expression, and by `view`.
//!
//! The interpreter passes nothing to a function but its arguments, so the count lies with the thread. Once it is spent
//! every counter fails, loops end at their next turn, and the evaluation is refused whatever its result was.

use std::{
    cell::{Cell, RefCell},
    time::Duration,
};

use cel_interpreter::ExecutionError;

use super::limits::{Limits, Values};
use crate::processor;

/// Steps after which the time is looked at again, which takes as long as some of them.
const UNTIMED: u64 = 64;

thread_local! {
    static LEFT: Cell<u64> = const { Cell::new(0) };
    /// Processor time of this thread.
    static DEADLINE: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    /// What was left when the time was looked at.
    static TIMED: Cell<u64> = const { Cell::new(0) };
    static LATE: Cell<bool> = const { Cell::new(false) };
    static EXCEEDED: RefCell<Option<String>> = const { RefCell::new(None) };
    static VALUES: Cell<Values> = const { Cell::new(Values::DEFAULT) };
}

/// What an evaluation met.
pub(crate) struct End {
    /// The bound that it exceeded.
    pub(crate) exceeded: Option<String>,
    /// Whether its time was up.
    pub(crate) late: bool,
    /// Steps that it took.
    pub(crate) steps: u64,
}

/// Begins an evaluation on this thread: so many steps, so much of its processor time, values as large as that.
pub(crate) fn start(limits: &Limits) {
    LEFT.set(limits.steps);
    TIMED.set(limits.steps);
    DEADLINE.set(processor::time().saturating_add(limits.evaluate));
    VALUES.set(limits.values);
    LATE.set(false);
    EXCEEDED.set(None);
}

/// How the evaluation that began with so many steps ended.
pub(crate) fn end(steps: u64) -> End {
    let late = LATE.get() || processor::time() >= DEADLINE.get();
    let exceeded = EXCEEDED.take();
    End { late: late && exceeded.is_none(), exceeded, steps: steps.saturating_sub(LEFT.get()) }
}

/// What the evaluation may read, make and keep.
pub(crate) fn values() -> Values {
    VALUES.get()
}

/// Notes a bound that was met; the first one is told.
pub(crate) fn exceed(what: impl FnOnce() -> String) {
    if LATE.get() {
        // How far it came by then is the machine's business: that must not become a verdict.
        return;
    }
    LEFT.set(0);
    TIMED.set(0);
    EXCEEDED.with_borrow_mut(|exceeded| {
        exceeded.get_or_insert_with(what);
    });
}

/// Takes so many steps; false when there are not as many left.
pub(crate) fn spend(steps: u64) -> bool {
    if let Some(left) = LEFT.get().checked_sub(steps) {
        LEFT.set(left);
        return true;
    }
    exceed(|| "it takes too many steps".to_owned());
    false
}

/// `spend`, for a function that ends when there are no steps left.
pub(crate) fn charge(steps: u64) -> Result<(), ExecutionError> {
    if spend(steps) { Ok(()) } else { Err(refused()) }
}

/// What a function answers once a bound was met; the bound itself is told by [`exceeded`].
pub(crate) fn refused() -> ExecutionError {
    ExecutionError::function_error("limit", "too costly")
}

/// Steps for so many bytes of text.
pub(crate) fn steps_of(bytes: usize) -> u64 {
    bytes as u64 / 64
}

/// Notes that a text of so many bytes would be made.
pub(crate) fn too_long(length: usize) -> ExecutionError {
    exceed(|| format!("it makes a text of {length} bytes, at most {} are allowed", values().text));
    refused()
}

/// Fails once the time is up, which is looked at now and then.
pub(crate) fn in_time() -> Result<(), ExecutionError> {
    if TIMED.get() - LEFT.get() >= UNTIMED {
        TIMED.set(LEFT.get());
        if processor::time() >= DEADLINE.get() {
            LATE.set(true);
            LEFT.set(0);
            TIMED.set(0);
        }
    }
    if LATE.get() { Err(refused()) } else { Ok(()) }
}
