//! Arguments of the functions that expressions call, and what they answer.

use cel_interpreter::{
    ExecutionError,
    common::{
        types::{CelInt, CelList, CelString},
        value::{CowVal, Val},
    },
};

use super::meter;

/// What a function answers.
pub(super) type Answer<'b, 'v> = Result<CowVal<'b, 'v>, ExecutionError>;

/// A text, counted as read: a function that makes no longer one of it has paid for that too.
pub(super) fn text<'a>(args: &'a [CowVal<'_, '_>], index: usize) -> Result<&'a str, ExecutionError> {
    let text = args.get(index).and_then(|arg| arg.downcast_ref::<CelString>()).map(CelString::inner);
    let text = text.ok_or_else(ExecutionError::missing_argument_or_target)?;
    meter::charge(1 + meter::steps_of(text.len()))?;
    Ok(text)
}

/// A whole number.
pub(super) fn number(args: &[CowVal<'_, '_>], index: usize) -> Result<i64, ExecutionError> {
    let number = args.get(index).and_then(|arg| arg.downcast_ref::<CelInt>()).map(|number| *number.inner());
    number.ok_or_else(ExecutionError::missing_argument_or_target)
}

/// A number of characters or parts; `None` when it is negative.
pub(super) fn count(args: &[CowVal<'_, '_>], index: usize) -> Result<Option<usize>, ExecutionError> {
    number(args, index).map(|number| usize::try_from(number).ok())
}

/// The elements of a list, counted as read.
pub(super) fn list<'a, 'v>(
    args: &'a [CowVal<'_, 'v>],
    index: usize,
) -> Result<&'a [Box<dyn Val + 'v>], ExecutionError> {
    let list = args.get(index).and_then(|arg| arg.downcast_ref::<CelList<'v>>());
    let elements = list.ok_or_else(ExecutionError::missing_argument_or_target)?.inner();
    meter::charge(1 + elements.len() as u64)?;
    Ok(elements)
}

/// A number of things, or -1 where there is none.
pub(super) fn position<'b, 'v>(position: Option<usize>) -> CowVal<'b, 'v> {
    CowVal::owned(CelInt::from(position.and_then(|position| i64::try_from(position).ok()).unwrap_or(-1)))
}
