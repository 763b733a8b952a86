//! Quantities (`8Gi`, `250m`) as values of expressions, as Kubernetes has them.
//!
//! More than there: `quantity` takes numbers too, for fields that are a number or a text, and quantities have an order,
//! so that `quantity(a) >= quantity('8Gi')` works.
//! See <https://kubernetes.io/docs/reference/using-api/cel/#kubernetes-quantity-library>.
#![expect(clippy::needless_pass_by_value, reason = "the signature that the interpreter calls")]

use std::{any::Any, cmp::Ordering};

use cel_interpreter::{
    DeclarationError, Env, ExecutionError,
    common::{
        traits::Comparer,
        types::{CelBool, CelDouble, CelInt, CelString, CelUInt, DYN_TYPE, Type},
        value::{CowVal, StaticVal, Val},
    },
};

use super::{argument::Answer, meter};
use crate::quantity::Quantity;

const TYPE: Type = Type::new_unspecified_type("kubernetes.Quantity");
static TYPE_OF: Type = TYPE;

/// Steps for parsing one: some hundred digits at the most.
const PARSED: u64 = 8;

pub(super) fn declare(env: &mut Env) -> Result<(), DeclarationError> {
    env.add_overload("quantity", "quantity", vec![DYN_TYPE], quantity)?;
    env.add_overload("isQuantity", "is_quantity", vec![DYN_TYPE], is_quantity)?;
    let mut member = |name, id, args, op| env.add_member_overload(name, id, TYPE, args, op);
    member("isGreaterThan", "quantity_is_greater_than", vec![TYPE], is_greater_than)?;
    member("isLessThan", "quantity_is_less_than", vec![TYPE], is_less_than)?;
    member("compareTo", "quantity_compare_to", vec![TYPE], compare_to)?;
    member("isInteger", "quantity_is_integer", vec![], is_integer)?;
    member("asInteger", "quantity_as_integer", vec![], as_integer)?;
    member("asApproximateFloat", "quantity_as_approximate_float", vec![], as_approximate_float)
}

#[derive(Debug, Clone, PartialEq)]
struct QuantityValue(Quantity);

impl StaticVal for QuantityValue {}

impl Val for QuantityValue {
    fn get_type(&self) -> &Type {
        &TYPE_OF
    }

    fn cel_type() -> &'static Type {
        &TYPE_OF
    }

    fn as_comparer(&self) -> Option<&dyn Comparer> {
        Some(self)
    }

    fn equals(&self, other: &dyn Val) -> bool {
        other.downcast_ref::<Self>().is_some_and(|other| self == other)
    }

    fn clone_as_boxed<'v>(&self) -> Box<dyn Val + 'v>
    where
        Self: 'v,
    {
        Box::new(self.clone())
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

impl Comparer for QuantityValue {
    fn compare(&self, other: &dyn Val) -> Result<Ordering, ExecutionError> {
        let other = other.downcast_ref::<Self>().ok_or_else(|| ExecutionError::UnexpectedType {
            got: other.get_type().name().to_owned(),
            want: TYPE.name().to_owned(),
        })?;
        Ok(self.0.cmp(&other.0))
    }
}

/// What is no quantity, with the reason.
fn parse(value: &dyn Val) -> Result<Quantity, String> {
    let number = |number: String| number.parse().map_err(|error| format!("{number} {error}"));
    if let Some(text) = value.downcast_ref::<CelString>() {
        let shown = || text.inner().chars().take(40).collect::<String>();
        text.inner().parse().map_err(|error| format!("{:?} {error}", shown()))
    } else if let Some(value) = value.downcast_ref::<CelInt>() {
        Ok(Quantity::from(*value.inner()))
    } else if let Some(value) = value.downcast_ref::<CelUInt>() {
        number(value.inner().to_string())
    } else if let Some(value) = value.downcast_ref::<CelDouble>() {
        number(value.inner().to_string())
    } else {
        Err(format!("a {} is no quantity", value.get_type().name()))
    }
}

fn parsed(args: &[CowVal<'_, '_>]) -> Result<Result<Quantity, String>, ExecutionError> {
    meter::charge(PARSED)?;
    args.first().map(|value| parse(value.as_ref())).ok_or_else(ExecutionError::missing_argument_or_target)
}

fn quantity<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Answer<'b, 'v> {
    let quantity = parsed(&args)?.map_err(|what| ExecutionError::function_error("quantity", what))?;
    Ok(CowVal::owned(QuantityValue(quantity)))
}

fn is_quantity<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Answer<'b, 'v> {
    Ok(CowVal::owned(CelBool::from(parsed(&args)?.is_ok())))
}

fn own<'a>(args: &'a [CowVal<'_, '_>]) -> Result<&'a Quantity, ExecutionError> {
    let value = args.first().and_then(|value| value.downcast_ref::<QuantityValue>());
    value.map(|value| &value.0).ok_or_else(ExecutionError::missing_argument_or_target)
}

fn compared(args: &[CowVal<'_, '_>]) -> Result<Ordering, ExecutionError> {
    match args {
        [own, other] => own.as_comparer().ok_or_else(ExecutionError::missing_argument_or_target)?.compare(&**other),
        _ => Err(ExecutionError::missing_argument_or_target()),
    }
}

fn is_greater_than<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Answer<'b, 'v> {
    Ok(CowVal::owned(CelBool::from(compared(&args)?.is_gt())))
}

fn is_less_than<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Answer<'b, 'v> {
    Ok(CowVal::owned(CelBool::from(compared(&args)?.is_lt())))
}

fn compare_to<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Answer<'b, 'v> {
    Ok(CowVal::owned(CelInt::from(compared(&args)? as i64)))
}

/// Whether it is a whole number that an `int` holds.
fn is_integer<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Answer<'b, 'v> {
    Ok(CowVal::owned(CelBool::from(own(&args)?.to_string().parse::<i64>().is_ok())))
}

fn as_integer<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Answer<'b, 'v> {
    let text = own(&args)?.to_string();
    let number = text.parse::<i64>();
    let number = number
        .map_err(|_| ExecutionError::function_error("asInteger", format!("{text:.40} is no whole number of 64 bits")));
    Ok(CowVal::owned(CelInt::from(number?)))
}

fn as_approximate_float<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Answer<'b, 'v> {
    let number = own(&args)?.to_string().parse::<f64>();
    Ok(CowVal::owned(CelDouble::from(number.unwrap_or(f64::NAN))))
}
