//! The parts of moments and durations. A moment's are those in UTC, or in the zone that is given.

use super::{
    argument,
    entry::{Entry, Style},
};
use crate::graph::{
    failure::{Answer, Failure},
    go::timestamp::Part,
    value::Value,
};

pub(super) const FUNCTIONS: &[Entry] = &[
    ("getDate", Style::Method, &[0, 1], |args| part(args, &Part::Date)),
    ("getDayOfMonth", Style::Method, &[0, 1], |args| part(args, &Part::DayOfMonth)),
    ("getDayOfWeek", Style::Method, &[0, 1], |args| part(args, &Part::DayOfWeek)),
    ("getDayOfYear", Style::Method, &[0, 1], |args| part(args, &Part::DayOfYear)),
    ("getFullYear", Style::Method, &[0, 1], |args| part(args, &Part::FullYear)),
    ("getHours", Style::Method, &[0, 1], |args| of_either(args, 3_600_000_000_000, &Part::Hours)),
    ("getMilliseconds", Style::Method, &[0, 1], |args| of_either(args, 1_000_000, &Part::Milliseconds)),
    ("getMinutes", Style::Method, &[0, 1], |args| of_either(args, 60_000_000_000, &Part::Minutes)),
    ("getMonth", Style::Method, &[0, 1], |args| part(args, &Part::Month)),
    ("getSeconds", Style::Method, &[0, 1], |args| of_either(args, 1_000_000_000, &Part::Seconds)),
];

fn part<'v>(args: &[Value<'v>], part: &Part) -> Answer<Value<'v>> {
    let zone = if args.len() > 1 { argument::text(args, 1)? } else { "" };
    argument::timestamp(args, 0)?.part(part, zone).map(Value::Int).map_err(Failure::Wrong)
}

/// All of a duration in this unit, so many nanoseconds; or a part of a moment.
fn of_either<'v>(args: &[Value<'v>], unit: i64, of: &Part) -> Answer<Value<'v>> {
    match args {
        [Value::Duration(nanos)] => Ok(Value::Int(nanos / unit)),
        args => part(args, of),
    }
}
