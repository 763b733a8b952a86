//! Functions over lists that CEL does not have by itself, as Kubernetes has them.
//!
//! See <https://kubernetes.io/docs/reference/using-api/cel/#kubernetes-list-library>.
#![expect(clippy::needless_pass_by_value, reason = "the signature that the interpreter calls")]

use std::cmp::Ordering;

use cel_interpreter::{
    DeclarationError, Env, ExecutionError,
    common::{
        types::{CelBool, CelInt, DYN_TYPE, Kind, LIST_TYPE},
        value::{CowVal, Val},
    },
};

use super::{
    argument::{self, Answer},
    measure::copied,
};

pub(super) fn declare(env: &mut Env) -> Result<(), DeclarationError> {
    let mut member = |name, id, args, op| env.add_member_overload(name, id, LIST_TYPE, args, op);
    member("sum", "list_sum", vec![], sum)?;
    member("min", "list_min", vec![], min)?;
    member("max", "list_max", vec![], max)?;
    member("isSorted", "list_is_sorted", vec![], is_sorted)?;
    member("indexOf", "list_index_of", vec![DYN_TYPE], index_of)?;
    member("lastIndexOf", "list_last_index_of", vec![DYN_TYPE], last_index_of)
}

fn misfit(function: &str, value: &dyn Val) -> ExecutionError {
    ExecutionError::function_error(function, format!("does not take a {}", value.get_type().name()))
}

/// Of numbers or durations; 0 when there are none.
fn sum<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Answer<'b, 'v> {
    let mut sum: Option<Box<dyn Val + 'v>> = None;
    for element in argument::list(&args, 0)? {
        // Texts and lists add as well, but would grow.
        if !matches!(element.get_type().kind(), Kind::Int | Kind::UInt | Kind::Double | Kind::Duration) {
            return Err(misfit("sum", element.as_ref()));
        }
        sum = Some(match &sum {
            None => element.clone_as_boxed(),
            Some(sum) => {
                let adder = sum.as_adder().ok_or_else(|| misfit("sum", sum.as_ref()))?;
                adder.add(element.as_ref())?.into_owned()
            }
        });
    }
    Ok(sum.map_or_else(|| CowVal::owned(CelInt::from(0)), CowVal::Owned))
}

fn compare(function: &str, a: &dyn Val, b: &dyn Val) -> Result<Ordering, ExecutionError> {
    a.as_comparer().ok_or_else(|| misfit(function, a))?.compare(b)
}

fn min<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Answer<'b, 'v> {
    best("min", Ordering::Less, &args)
}

fn max<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Answer<'b, 'v> {
    best("max", Ordering::Greater, &args)
}

fn best<'b, 'v>(function: &str, wanted: Ordering, args: &[CowVal<'b, 'v>]) -> Answer<'b, 'v> {
    let mut elements = argument::list(args, 0)?.iter();
    let mut best = elements.next().ok_or_else(|| ExecutionError::function_error(function, "the list is empty"))?;
    // One alone must be of a kind that has an order, too.
    compare(function, best.as_ref(), best.as_ref())?;
    for element in elements {
        if compare(function, element.as_ref(), best.as_ref())? == wanted {
            best = element;
        }
    }
    // The copy may be a long text.
    copied(best.as_ref())?;
    Ok(CowVal::Owned(best.clone_as_boxed()))
}

fn is_sorted<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Answer<'b, 'v> {
    for pair in argument::list(&args, 0)?.windows(2) {
        if compare("isSorted", pair[0].as_ref(), pair[1].as_ref())? == Ordering::Greater {
            return Ok(CowVal::owned(CelBool::from(false)));
        }
    }
    Ok(CowVal::owned(CelBool::from(true)))
}

fn index_of<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Answer<'b, 'v> {
    let sought = args.get(1).ok_or_else(ExecutionError::missing_argument_or_target)?;
    let found = argument::list(&args, 0)?.iter().position(|element| element.equals(sought.as_ref()));
    Ok(argument::position(found))
}

fn last_index_of<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Answer<'b, 'v> {
    let sought = args.get(1).ok_or_else(ExecutionError::missing_argument_or_target)?;
    let found = argument::list(&args, 0)?.iter().rposition(|element| element.equals(sought.as_ref()));
    Ok(argument::position(found))
}
