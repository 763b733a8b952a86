//! Fields, keys and elements: `a.b`, `a[b]`, `a.?b`, `a[?b]`, `has(a.b)`.
//!
//! What is not there, or is looked for in a number, a text or null, is missing: it may come. A list that is asked for
//! a field by name is wrong.

use super::{
    failure::{Answer, Failure},
    go::number,
    macros::CONDITION_KEYS,
    provenance::Provenance,
    value::{List, Map, Value},
};

/// What was found, or where it was looked for.
enum Found<'v> {
    Value(Value<'v>),
    Nothing(Option<&'v Provenance>),
}

/// `a.b`, `a[b]`. Behind an optional value it is optional itself. `root` is the variable that the expression begins with,
/// and `place` how it writes what is asked for.
pub(super) fn get<'v>(
    of: &Value<'v>,
    key: &Value<'v>,
    root: impl FnOnce() -> Option<&'v Provenance>,
    place: impl FnOnce() -> String,
) -> Answer<Value<'v>> {
    match of {
        Value::Optional(None) => Ok(Value::Optional(None)),
        Value::Optional(Some(inner)) => get_optional(inner, key),
        of => match find(of, key)? {
            Found::Value(value) => Ok(value),
            Found::Nothing(origin) => Err(missing(origin.or_else(root), key, place)),
        },
    }
}

/// `a.?b`, `a[?b]`.
pub(super) fn get_optional<'v>(of: &Value<'v>, key: &Value<'v>) -> Answer<Value<'v>> {
    match of {
        Value::Optional(None) => Ok(Value::Optional(None)),
        Value::Optional(Some(inner)) => get_optional(inner, key),
        of => Ok(match find(of, key)? {
            Found::Value(value) => Value::some(value),
            Found::Nothing(_) => Value::Optional(None),
        }),
    }
}

/// `has(a.b)`.
pub(super) fn has<'v>(of: &Value<'v>, key: &Value<'v>) -> Answer<bool> {
    match of {
        Value::Optional(None) => Ok(false),
        Value::Optional(Some(inner)) => has(inner, key),
        Value::Map(map) => Ok(map.contains(key)),
        of => Ok(matches!(find(of, key)?, Found::Value(_))),
    }
}

fn find<'v>(of: &Value<'v>, key: &Value<'v>) -> Answer<Found<'v>> {
    let found = match of {
        Value::Map(map) => {
            if !matches!(key, Value::Bool(_) | Value::Int(_) | Value::UInt(_) | Value::Double(_) | Value::Text(_)) {
                return Err(Failure::Wrong(format!("unsupported key type '{}' in map", key.type_name())));
            }
            map.get(key).transpose()?
        }
        Value::List(list) => index(key)?.and_then(|index| list.get(index)).transpose()?,
        Value::Condition(condition) => {
            let Value::Text(key) = key else { return Err(Failure::wrong("a condition has fields only")) };
            let at = CONDITION_KEYS.iter().position(|name| *name == &**key);
            let text = at.and_then(|at| condition.get(at));
            let text = text.ok_or_else(|| Failure::Wrong(format!("a condition has no field {:?}", shown(key))))?;
            Some(Value::text(text.as_str()))
        }
        Value::Foreign(_) => return Err(Failure::Wrong(format!("a {} has no fields", of.type_name()))),
        _ => None,
    };
    Ok(found.map_or_else(|| Found::Nothing(origin(of)), Found::Value))
}

fn origin<'v>(of: &Value<'v>) -> Option<&'v Provenance> {
    match of {
        Value::Map(Map::Given(given)) => Some(given.origin),
        Value::List(List::Given(given)) => Some(given.origin),
        _ => None,
    }
}

/// The place in a list, which may be behind its end; none before its beginning.
fn index(key: &Value<'_>) -> Answer<Option<usize>> {
    match key {
        Value::Int(index) => Ok(usize::try_from(*index).ok()),
        Value::UInt(index) => Ok(usize::try_from(*index).ok()),
        Value::Double(index) => match number::whole(*index) {
            Some(index) => Ok(usize::try_from(index).ok()),
            None => Err(Failure::Wrong(format!("unsupported index value {index} in list"))),
        },
        other => Err(Failure::Wrong(format!("unsupported index type '{}' in list", other.type_name()))),
    }
}

fn shown(text: &str) -> String {
    text.chars().take(80).collect()
}

fn missing(origin: Option<&Provenance>, key: &Value<'_>, place: impl FnOnce() -> String) -> Failure {
    if let Some(origin) = origin
        && origin.whole
    {
        let (place, name) = (place(), origin.name.as_str());
        // Within a loop the place begins with the loop's variable.
        let of = if place.starts_with(name) { String::new() } else { format!(" (of {name})") };
        return Failure::Unset(format!("{}{of} is not set; give it a default or use .?", shown(&place)));
    }
    Failure::Missing(match key {
        Value::Text(key) => format!("no such key: {}", shown(key)),
        Value::Int(index) => format!("index out of bounds: {index}"),
        Value::UInt(index) => format!("index out of bounds: {index}"),
        _ => "no such key".to_owned(),
    })
}
