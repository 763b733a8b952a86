//! Conditions that an author writes, and those that objects have; and `omit`.

use std::rc::Rc;

use super::{
    argument,
    entry::{Entry, Style},
};
use crate::graph::{
    failure::{Answer, Failure, charge_text},
    macros::CONDITION_KEYS,
    value::{Map, Text, Value},
};

pub(super) const FUNCTIONS: &[Entry] = &[
    ("omit", Style::Global, &[0], |_| Ok(Value::Omit)),
    ("runtime.condition", Style::Global, &[2], condition),
    ("runtime.newCondition", Style::Global, &[1], new_condition),
];

/// The text at this key, when it is one.
fn text_at<'v>(map: &Map<'v>, key: &'static str) -> Answer<Option<Value<'v>>> {
    map.get(&Value::Text(Text::Given(key))).transpose()
}

fn new_condition<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    let map = argument::map(args, 0)?;
    let mut parts: [String; 4] = Default::default();
    for (part, key) in parts.iter_mut().zip(CONDITION_KEYS) {
        match text_at(map, key)? {
            Some(Value::Text(text)) => {
                charge_text(text.len())?;
                *part = text.to_string();
            }
            None => {}
            Some(other) => return Err(Failure::Wrong(format!("{key} must be a string, got {}", other.type_name()))),
        }
    }
    let [name, status, ..] = &parts;
    if name.is_empty() {
        return Err(Failure::wrong("type must not be empty"));
    }
    if !matches!(status.as_str(), "True" | "False" | "Unknown") {
        return Err(Failure::Wrong(format!("status must be one of True, False, Unknown (got {status:.40?})")));
    }
    Ok(Value::Condition(Rc::new(parts)))
}

/// The condition of this type in an object's status, or an empty one.
fn condition<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    let (object, wanted) = (argument::map(args, 0)?, argument::text(args, 1)?);
    let mut found: [String; 4] = Default::default();
    if let Some(status) = text_at(object, "status")? {
        let Value::Map(status) = status else { return Err(Failure::wrong("the object's status must be an object")) };
        match text_at(&status, "conditions")? {
            None => {}
            Some(Value::List(conditions)) => {
                for condition in conditions.iter() {
                    let Value::Map(condition) = condition? else {
                        return Err(Failure::wrong("a condition must be an object"));
                    };
                    if matches!(text_at(&condition, "type")?, Some(Value::Text(name)) if &*name == wanted) {
                        for (part, key) in found.iter_mut().zip(CONDITION_KEYS) {
                            if let Some(Value::Text(text)) = text_at(&condition, key)? {
                                charge_text(text.len())?;
                                *part = text.to_string();
                            }
                        }
                        break;
                    }
                }
            }
            Some(_) => return Err(Failure::wrong("the object's status.conditions must be a list")),
        }
    }
    Ok(Value::Condition(Rc::new(found)))
}
