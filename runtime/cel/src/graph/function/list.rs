//! Functions over lists.

use std::{cmp::Ordering, collections::HashMap};

use super::{
    argument,
    entry::{Entry, Style},
};
use crate::graph::{
    equal::{self, compare, equal},
    failure::{Answer, Failure, charge},
    operator,
    value::{List, Value},
    value_type::ValueType,
};

pub(super) const FUNCTIONS: &[Entry] = &[
    ("@sortByAssociatedKeys", Style::Method, &[1], sort_by_keys),
    ("distinct", Style::Method, &[0], distinct),
    ("first", Style::Method, &[0], first),
    ("flatten", Style::Method, &[0, 1], flatten),
    ("isSorted", Style::Method, &[0], is_sorted),
    ("last", Style::Method, &[0], last),
    ("lists.insertAtIndex", Style::Global, &[3], insert_at),
    ("lists.range", Style::Global, &[1], range),
    ("lists.removeAtIndex", Style::Global, &[2], remove_at),
    ("lists.setAtIndex", Style::Global, &[3], set_at),
    ("max", Style::Method, &[0], max),
    ("min", Style::Method, &[0], min),
    ("slice", Style::Method, &[2], slice),
    ("sort", Style::Method, &[0], sort),
    ("sum", Style::Method, &[0], sum),
];

fn first<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    let element = argument::list(args, 0)?.get(0).transpose()?;
    Ok(element.map_or(Value::Optional(None), Value::some))
}

fn last<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    let list = argument::list(args, 0)?;
    let element = list.len().checked_sub(1).and_then(|at| list.get(at)).transpose()?;
    Ok(element.map_or(Value::Optional(None), Value::some))
}

fn slice<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    let (list, start, end) = (argument::list(args, 0)?, argument::int(args, 1)?, argument::int(args, 2)?);
    let wrong = |what: String| Failure::Wrong(format!("cannot slice({start}, {end}), {what}"));
    let (Ok(from), Ok(to)) = (usize::try_from(start), usize::try_from(end)) else {
        return Err(wrong("negative indexes not supported".to_owned()));
    };
    if from > to {
        return Err(wrong("start index must be less than or equal to end index".to_owned()));
    }
    if to > list.len() {
        return Err(wrong(format!("list is length {}", list.len())));
    }
    charge((to - from) as u64)?;
    Ok(Value::list((from..to).filter_map(|at| list.get(at)).collect::<Answer<_>>()?))
}

/// Lists within the list are opened, so many levels of them.
fn flatten<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    let levels = argument::optional_int(args, 1)?.unwrap_or(1);
    let levels = usize::try_from(levels).map_err(|_| Failure::wrong("level must be non-negative"))?;
    let mut elements = Vec::new();
    flattened(argument::list(args, 0)?, levels, 0, &mut elements)?;
    Ok(Value::list(elements))
}

fn flattened<'v>(list: &List<'v>, levels: usize, depth: usize, out: &mut Vec<Value<'v>>) -> Answer<()> {
    equal::not_too_deep(depth)?;
    for element in list.iter() {
        match element? {
            Value::List(inner) if levels > depth => flattened(&inner, levels, depth + 1, out)?,
            other => out.push(other),
        }
    }
    Ok(())
}

fn sort<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    let elements = argument::list(args, 0)?.to_vec()?;
    sorted(elements.clone(), &elements)
}

fn sort_by_keys<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    sorted(argument::list(args, 0)?.to_vec()?, &argument::list(args, 1)?.to_vec()?)
}

/// The elements in the order of their keys, which are all of one type that has an order.
fn sorted<'v>(elements: Vec<Value<'v>>, keys: &[Value<'v>]) -> Answer<Value<'v>> {
    if elements.len() != keys.len() {
        return Err(Failure::wrong("a list is sorted by as many keys as it has elements"));
    }
    let Some(first) = keys.first() else { return Ok(Value::list(elements)) };
    if !is_comparable(first) {
        return Err(Failure::wrong("list elements must be comparable"));
    }
    if keys.iter().any(|key| key.type_name() != first.type_name()) {
        return Err(Failure::wrong("list elements must have the same type"));
    }
    // So many comparisons, each of which counts for itself what it reads.
    charge(elements.len() as u64 * u64::from(elements.len().ilog2() + 1))?;
    let mut failure = None;
    let mut pairs: Vec<(Value<'v>, &Value<'v>)> = elements.into_iter().zip(keys).collect();
    pairs.sort_by(|(_, a), (_, b)| match (a, b) {
        // An order of all numbers, so that the sort has one; they have no better.
        (Value::Double(a), Value::Double(b)) if a.is_nan() || b.is_nan() => a.is_nan().cmp(&b.is_nan()),
        (a, b) => compare(a, b).unwrap_or_else(|stopped| {
            failure.get_or_insert(stopped);
            Ordering::Equal
        }),
    });
    match failure {
        Some(failure) => Err(failure),
        None => Ok(Value::list(pairs.into_iter().map(|(element, _)| element).collect())),
    }
}

fn is_comparable(value: &Value<'_>) -> bool {
    matches!(
        value,
        Value::Int(_)
            | Value::UInt(_)
            | Value::Double(_)
            | Value::Bool(_)
            | Value::Duration(_)
            | Value::Timestamp(_)
            | Value::Text(_)
            | Value::Bytes(_)
    )
}

/// The first of each kind of equal elements.
fn distinct<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    let mut elements: Vec<Value<'v>> = Vec::new();
    let mut places: HashMap<u64, Vec<usize>> = HashMap::new();
    for element in argument::list(args, 0)?.iter() {
        let element = element?;
        let alike = places.entry(equal::hash(&element)?).or_default();
        let mut known = false;
        for at in alike.iter() {
            known = known || elements.get(*at).map_or(Ok(false), |other| equal(other, &element))?;
        }
        if !known {
            alike.push(elements.len());
            elements.push(element);
        }
    }
    Ok(Value::list(elements))
}

fn range<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    let size = argument::int(args, 0)?;
    let count = u64::try_from(size).map_err(|_| Failure::Wrong(format!("size must be non-negative, got {size}")))?;
    charge(count)?;
    Ok(Value::list((0..size).map(Value::Int).collect()))
}

fn is_sorted<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    let mut before: Option<Value<'v>> = None;
    for element in argument::list(args, 0)?.iter() {
        let element = element?;
        if let Some(before) = &before
            && compare(before, &element)?.is_gt()
        {
            return Ok(Value::Bool(false));
        }
        before = Some(element);
    }
    Ok(Value::Bool(true))
}

/// Of numbers or durations. When there are none, 0 of their kind, as far as the list says it: what an expression made is a list
/// of values, and an empty one is of none. What the checker says of it comes first.
fn sum<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    let mut sum: Option<Value<'v>> = None;
    let list = argument::list(args, 0)?;
    for element in list.iter() {
        let element = element?;
        if !matches!(element, Value::Int(_) | Value::UInt(_) | Value::Double(_) | Value::Duration(_)) {
            return Err(Failure::Misfit);
        }
        sum = Some(match sum {
            Some(sum) => operator::add(&sum, &element)?,
            None => element,
        });
    }
    Ok(sum.unwrap_or_else(|| match list {
        List::Given(given) if *given.of.item() == ValueType::Double => Value::Double(0.0),
        List::Given(given) if *given.of.item() == ValueType::Duration => Value::Duration(0),
        _ => Value::Int(0),
    }))
}

fn min<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    best(args, Ordering::Less)
}

fn max<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    best(args, Ordering::Greater)
}

fn best<'v>(args: &[Value<'v>], wanted: Ordering) -> Answer<Value<'v>> {
    let mut best: Option<Value<'v>> = None;
    for element in argument::list(args, 0)?.iter() {
        let element = element?;
        // One alone must be of a kind that has an order, too.
        if compare(&element, best.as_ref().unwrap_or(&element))? == wanted || best.is_none() {
            best = Some(element);
        }
    }
    best.ok_or_else(|| Failure::wrong("called on empty list"))
}

pub(super) fn index_of<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    let sought = argument::value(args, 1)?;
    for (at, element) in argument::list(args, 0)?.iter().enumerate() {
        if equal(&element?, sought)? {
            return Ok(argument::found(Some(at)));
        }
    }
    Ok(argument::found(None))
}

pub(super) fn last_index_of<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    let (list, sought) = (argument::list(args, 0)?, argument::value(args, 1)?);
    for (before, element) in list.iter().rev().enumerate() {
        if equal(&element?, sought)? {
            return Ok(argument::found(Some(list.len() - 1 - before)));
        }
    }
    Ok(argument::found(None))
}

/// The list, and the place in it, which is below this much behind its last.
fn place<'v>(args: &[Value<'v>], behind: usize) -> Answer<(Vec<Value<'v>>, usize)> {
    let elements = argument::list(args, 0)?.to_vec()?;
    let (index, end) = (argument::int(args, 1)?, elements.len() + behind);
    let at = usize::try_from(index).ok().filter(|at| *at < end);
    let at = at.ok_or_else(|| {
        Failure::Wrong(format!("index {index} out of bounds, the list has {} elements", elements.len()))
    })?;
    Ok((elements, at))
}

fn set_at<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    let (mut elements, at) = place(args, 0)?;
    if let Some(element) = elements.get_mut(at) {
        *element = argument::value(args, 2)?.clone();
    }
    Ok(Value::list(elements))
}

fn insert_at<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    let (mut elements, at) = place(args, 1)?;
    elements.insert(at, argument::value(args, 2)?.clone());
    Ok(Value::list(elements))
}

fn remove_at<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    let (mut elements, at) = place(args, 0)?;
    elements.remove(at);
    Ok(Value::list(elements))
}
