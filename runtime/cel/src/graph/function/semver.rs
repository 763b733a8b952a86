//! Semantic versions, read strictly.

use semver::Version;

use super::{
    argument,
    entry::{Entry, Style},
};
use crate::graph::{
    failure::{Answer, Failure},
    value::{Foreign, Value},
};

pub(super) const FUNCTIONS: &[Entry] = &[
    ("isSemver", Style::Global, &[1], |args| Ok(Value::Bool(Version::parse(argument::text(args, 0)?).is_ok()))),
    ("major", Style::Method, &[0], |args| number(own(args, 0)?.major)),
    ("minor", Style::Method, &[0], |args| number(own(args, 0)?.minor)),
    ("patch", Style::Method, &[0], |args| number(own(args, 0)?.patch)),
    ("semver", Style::Global, &[1], semver),
];

fn semver<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    let version = Version::parse(argument::text(args, 0)?);
    version.map(|version| Value::foreign(Foreign::Semver(version))).map_err(|error| Failure::Wrong(error.to_string()))
}

fn number<'v>(number: u64) -> Answer<Value<'v>> {
    i64::try_from(number).map(Value::Int).map_err(|_| Failure::wrong("integer overflow"))
}

pub(super) fn own<'a>(args: &'a [Value<'_>], index: usize) -> Answer<&'a Version> {
    if let Value::Foreign(value) = argument::value(args, index)?
        && let Foreign::Semver(version) = value.as_ref()
    {
        return Ok(version);
    }
    Err(Failure::Misfit)
}
