//! Steps of one evaluation: counted by functions that `rewrite` puts into the expression, and by `view`.
//!
//! The interpreter passes nothing to a function but its arguments, so the count lies with the thread. Once it is spent
//! every counter fails, loops end at their next turn, and the evaluation is refused whatever its result was.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    time::Instant,
};

use cel_interpreter::{
    DeclarationError, Env, ExecutionError,
    common::{
        types::{CelBool, CelBytes, CelList, CelMap, CelOptional, CelString, DYN_TYPE, STRING_TYPE},
        value::{CowVal, Val},
    },
};
use regex::Regex;

use crate::pattern;

use super::{list, quantity, text, view};

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

/// Compiled patterns kept by a thread.
const MAX_PATTERNS: usize = 64;

thread_local! {
    static LEFT: Cell<u64> = const { Cell::new(0) };
    static DEADLINE: Cell<Option<Instant>> = const { Cell::new(None) };
    static EXCEEDED: RefCell<Option<String>> = const { RefCell::new(None) };
    static PATTERNS: RefCell<HashMap<String, Regex>> = RefCell::new(HashMap::new());
}

/// Begins an evaluation on this thread.
pub(super) fn start(steps: u64, deadline: Instant) {
    LEFT.set(steps);
    DEADLINE.set(Some(deadline));
    EXCEEDED.set(None);
}

/// The bound that the evaluation met, once.
pub(super) fn exceeded() -> Option<String> {
    DEADLINE.set(None);
    EXCEEDED.take()
}

/// Notes a bound that was met; the first one is told.
pub(super) fn exceed(what: impl FnOnce() -> String) {
    LEFT.set(0);
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
    if DEADLINE.get().is_none_or(|deadline| Instant::now() >= deadline) {
        exceed(|| "it takes too long".to_owned());
    }
    made(args)
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
    if text.len() > pattern::MAX_TEXT {
        return Err(error(format!("a text of {} bytes is too long for a pattern", text.len())));
    }
    if !spend(1 + text.len() as u64 / 16) {
        return Err(error("too costly".to_owned()));
    }
    PATTERNS.with_borrow_mut(|patterns| {
        if let Some(regex) = patterns.get(pattern) {
            return Ok(CowVal::owned(CelBool::from(regex.is_match(text))));
        }
        if !spend(PATTERN) {
            return Err(error("too costly".to_owned()));
        }
        let regex = pattern::compile(pattern).map_err(|what| error(format!("the pattern {what}")))?;
        let matched = regex.is_match(text);
        if patterns.len() >= MAX_PATTERNS {
            patterns.clear();
        }
        patterns.insert(pattern.to_owned(), regex);
        Ok(CowVal::owned(CelBool::from(matched)))
    })
}
