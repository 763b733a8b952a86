//! The functions that `rewrite` puts into an expression.

use cel_interpreter::{
    DeclarationError, Env, ExecutionError,
    common::{
        types::{CelBool, CelBytes, CelString, DYN_TYPE, STRING_TYPE},
        value::CowVal,
    },
};

use super::{
    measure::copied,
    meter::{in_time, refused, too_long, values},
    patterns::{self, Unusable},
};
use crate::pattern::MAX_TEXT;

/// Counts a turn of a loop, and what it makes.
pub(super) const TURN: &str = "@turn";

/// Counts a list or map that was written out.
pub(super) const MADE: &str = "@made";

/// Counts what `+` made, and refuses a text that it made too long.
pub(super) const JOINED: &str = "@joined";

/// Stands for `matches`, with bounds.
pub(super) const MATCHES: &str = "@matches";

pub(super) fn declare(env: &mut Env) -> Result<(), DeclarationError> {
    env.add_overload(TURN, "turn", vec![DYN_TYPE], turn)?;
    env.add_overload(MADE, "made", vec![DYN_TYPE], made)?;
    env.add_overload(JOINED, "joined", vec![DYN_TYPE], joined)?;
    env.add_overload(MATCHES, "matches", vec![STRING_TYPE, STRING_TYPE], matches)?;
    env.add_member_overload(MATCHES, "string_matches", STRING_TYPE, vec![STRING_TYPE], matches)
}

fn turn<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    in_time()?;
    made(args)
}

fn joined<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let text = |value: &CowVal<'b, 'v>| value.downcast_ref::<CelString>().map_or(0, |text| text.inner().len());
    let bytes = |value: &CowVal<'b, 'v>| value.downcast_ref::<CelBytes>().map_or(0, |bytes| bytes.inner().len());
    let length = args.first().map_or(0, |value| text(value).max(bytes(value)));
    if length > values().text {
        return Err(too_long(length));
    }
    made(args)
}

fn made<'b, 'v>(mut args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let value = args.pop().ok_or_else(ExecutionError::missing_argument_or_target)?;
    copied(&*value)?;
    Ok(value)
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
    match patterns::with(pattern, text, |pattern| pattern.is_match(text)) {
        Ok(is_match) => Ok(CowVal::owned(CelBool::from(is_match))),
        Err(Unusable::Stopped) => Err(refused()),
        Err(Unusable::Wrong(what)) => Err(error(format!("the pattern {what}"))),
    }
}
