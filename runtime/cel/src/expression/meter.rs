//! Steps of one evaluation: counted by functions that `rewrite` puts into the expression, and by `view`.
//!
//! The interpreter passes nothing to a function but its arguments, so the count lies with the thread. Once it is spent
//! every counter fails, loops end at their next turn, and the evaluation is refused whatever its result was.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    time::Duration,
};

use cel_interpreter::{
    DeclarationError, Env, ExecutionError,
    common::{
        types::{CelBool, CelBytes, CelList, CelMap, CelOptional, CelString, DYN_TYPE, STRING_TYPE},
        value::{CowVal, Val},
    },
};

use crate::pattern::{MAX_TEXT, Pattern};

use super::{list, processor, quantity, text, view};

/// Counts a turn of a loop, and what it makes.
pub(super) const TURN: &str = "@turn";

/// Counts a list or map that was written out.
pub(super) const MADE: &str = "@made";

/// Counts what `+` made, and refuses a text that it made too long.
pub(super) const JOINED: &str = "@joined";

/// Stands for `matches`, with bounds.
pub(super) const MATCHES: &str = "@matches";

/// Most elements of a list or map that is looped over.
pub(super) const MAX_LOOP: usize = 1000;

/// Longest text that `+` and the like may make, in bytes. Texts of the object may be longer.
pub(super) const MAX_MADE: usize = 8 * 1024;

/// Steps for compiling a pattern.
const PATTERN: u64 = 500;

/// What matching may cost for one step ([`Pattern::cost`]).
const MATCHED: u64 = 1 << 15;

/// Steps after which the time is looked at again, which takes as long as some of them.
const UNTIMED: u64 = 64;

/// Compiled patterns kept by a thread.
const MAX_PATTERNS: usize = 64;

thread_local! {
    static LEFT: Cell<u64> = const { Cell::new(0) };
    /// Processor time of this thread.
    static DEADLINE: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    /// What was left when the time was looked at.
    static TIMED: Cell<u64> = const { Cell::new(0) };
    static LATE: Cell<bool> = const { Cell::new(false) };
    static EXCEEDED: RefCell<Option<String>> = const { RefCell::new(None) };
    static PATTERNS: RefCell<HashMap<String, Pattern>> = RefCell::new(HashMap::new());
}

/// What an evaluation met.
pub(super) struct End {
    /// The bound that it exceeded.
    pub(super) exceeded: Option<String>,
    /// Whether its time was up.
    pub(super) late: bool,
    /// Steps that it took.
    pub(super) steps: u64,
}

/// Begins an evaluation on this thread: so many steps, and so much of its processor time.
pub(super) fn start(steps: u64, time: Duration) {
    LEFT.set(steps);
    TIMED.set(steps);
    DEADLINE.set(processor::time().saturating_add(time));
    LATE.set(false);
    EXCEEDED.set(None);
}

/// How the evaluation that began with so many steps ended.
pub(super) fn end(steps: u64) -> End {
    let late = LATE.get() || processor::time() >= DEADLINE.get();
    let exceeded = EXCEEDED.take();
    End { late: late && exceeded.is_none(), exceeded, steps: steps.saturating_sub(LEFT.get()) }
}

/// Notes a bound that was met; the first one is told.
pub(super) fn exceed(what: impl FnOnce() -> String) {
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
pub(super) fn spend(steps: u64) -> bool {
    if let Some(left) = LEFT.get().checked_sub(steps) {
        LEFT.set(left);
        return true;
    }
    exceed(|| "it takes too many steps".to_owned());
    false
}

/// `spend`, for a function that ends when there are no steps left.
pub(super) fn charge(steps: u64) -> Result<(), ExecutionError> {
    if spend(steps) { Ok(()) } else { Err(refused()) }
}

/// What a function answers once a bound was met; the bound itself is told by [`exceeded`].
fn refused() -> ExecutionError {
    ExecutionError::function_error("limit", "too costly")
}

/// Steps for so many bytes of text.
pub(super) fn steps_of(bytes: usize) -> u64 {
    bytes as u64 / 64
}

/// CEL's standard functions, those that people know from Kubernetes, and the counters.
pub(super) fn environment() -> Env {
    let mut env = Env::stdlib();
    let declared = declare(&mut env);
    debug_assert!(declared.is_ok(), "a name is declared already: {declared:?}");
    env
}

fn declare(env: &mut Env) -> Result<(), DeclarationError> {
    env.add_overload(TURN, "turn", vec![DYN_TYPE], turn)?;
    env.add_overload(MADE, "made", vec![DYN_TYPE], made)?;
    env.add_overload(JOINED, "joined", vec![DYN_TYPE], joined)?;
    env.add_overload(MATCHES, "matches", vec![STRING_TYPE, STRING_TYPE], matches)?;
    env.add_member_overload(MATCHES, "string_matches", STRING_TYPE, vec![STRING_TYPE], matches)?;
    text::declare(env)?;
    list::declare(env)?;
    quantity::declare(env)
}

fn turn<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    if TIMED.get() - LEFT.get() >= UNTIMED {
        TIMED.set(LEFT.get());
        if processor::time() >= DEADLINE.get() {
            LATE.set(true);
            LEFT.set(0);
            TIMED.set(0);
        }
    }
    if LATE.get() { Err(refused()) } else { made(args) }
}

fn joined<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let text = |value: &CowVal<'b, 'v>| value.downcast_ref::<CelString>().map_or(0, |text| text.inner().len());
    let bytes = |value: &CowVal<'b, 'v>| value.downcast_ref::<CelBytes>().map_or(0, |bytes| bytes.inner().len());
    let length = args.first().map_or(0, |value| text(value).max(bytes(value)));
    if length > MAX_MADE {
        return Err(too_long(length));
    }
    made(args)
}

/// Notes that a text of so many bytes would be made.
pub(super) fn too_long(length: usize) -> ExecutionError {
    exceed(|| format!("it makes a text of {length} bytes, at most {MAX_MADE} are allowed"));
    refused()
}

/// Counts a value that is made, or copied.
pub(super) fn copied(value: &dyn Val) -> Result<(), ExecutionError> {
    if measure(value) { Ok(()) } else { Err(refused()) }
}

fn made<'b, 'v>(mut args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let value = args.pop().ok_or_else(ExecutionError::missing_argument_or_target)?;
    copied(&*value)?;
    Ok(value)
}

/// Takes the steps for a value: one for itself, one for each part, one for each 64 bytes of text.
fn measure(value: &dyn Val) -> bool {
    if !spend(1) {
        return false;
    }
    if view::borrows(value) {
        // A view into the object: copying it copies a pointer.
        return true;
    }
    if let Some(text) = value.downcast_ref::<CelString>() {
        return measure_text(text.inner().len());
    }
    if let Some(bytes) = value.downcast_ref::<CelBytes>() {
        return measure_text(bytes.inner().len());
    }
    if let Some(list) = value.downcast_ref::<CelList>() {
        return list.inner().iter().all(|element| measure(element.as_ref()));
    }
    if let Some(map) = value.downcast_ref::<CelMap>() {
        return map.inner().values().all(|element| measure(element.as_ref()));
    }
    if let Some(optional) = value.downcast_ref::<CelOptional>() {
        return optional.option().is_none_or(measure);
    }
    true
}

fn measure_text(length: usize) -> bool {
    spend(steps_of(length))
}

#[expect(clippy::needless_pass_by_value, reason = "the signature that the interpreter calls")]
fn matches<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let error = |what: String| ExecutionError::function_error("matches", what);
    let text = |index: usize| args.get(index).and_then(|arg| arg.downcast_ref::<CelString>()).map(CelString::inner);
    let (Some(text), Some(pattern)) = (text(0), text(1)) else {
        return Err(ExecutionError::missing_argument_or_target());
    };
    if text.len() > MAX_TEXT {
        return Err(error(format!("a text of {} bytes is too long for a pattern", text.len())));
    }
    PATTERNS.with_borrow_mut(|patterns| {
        if !patterns.contains_key(pattern) {
            charge(PATTERN)?;
            let compiled = Pattern::compile(pattern).map_err(|what| error(format!("the pattern {what}")))?;
            if patterns.len() >= MAX_PATTERNS {
                patterns.clear();
            }
            patterns.insert(pattern.to_owned(), compiled);
        }
        let Some(pattern) = patterns.get(pattern) else { return Err(refused()) };
        charge(1 + pattern.cost(text) / MATCHED)?;
        Ok(CowVal::owned(CelBool::from(pattern.is_match(text))))
    })
}
