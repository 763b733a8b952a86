//! JSON as values: nothing is copied, and lists and objects are opened only where the expression looks into them.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value as Json;

use super::{
    failure::{Answer, Failure, charge_text},
    go::{duration, number, timestamp::Timestamp},
    value::{Given, List, Map, Text, Value},
    value_type::ValueType,
};

/// The variable that a value comes from.
#[derive(Debug, Clone)]
pub(super) struct Origin {
    pub(super) name: String,
    /// Nothing more will come: what is not there is an error.
    pub(super) whole: bool,
}

/// The value of a piece of a variable.
pub(super) fn of<'v>(json: &'v Json, of: &'v ValueType, origin: &'v Origin) -> Answer<Value<'v>> {
    let misfit = |what: &str| {
        Err(Failure::Wrong(format!("{:?} holds {}, where its schema has {what}", origin.name, kind_of(json))))
    };
    Ok(match (json, of) {
        (Json::Null, _) => Value::Null,
        (Json::Bool(value), ValueType::Bool | ValueType::Dyn) => Value::Bool(*value),
        (Json::Number(json), ValueType::Int | ValueType::Dyn | ValueType::Double) => {
            let double = json.as_f64().unwrap_or(f64::NAN);
            match (of, json.as_i64()) {
                (ValueType::Double, _) | (ValueType::Dyn, None) => Value::Double(double),
                (_, Some(int)) => Value::Int(int),
                (_, None) => match number::whole(double) {
                    Some(int) => Value::Int(int),
                    None => return misfit("a whole number of 64 bits"),
                },
            }
        }
        (Json::String(text), ValueType::Text | ValueType::Dyn) => Value::Text(Text::Given(text)),
        (Json::String(text), _) => return of_text(text, of, origin),
        (Json::Array(elements), ValueType::List(_) | ValueType::Dyn) => {
            Value::List(List::Given(Given { json: elements, of, origin }))
        }
        (Json::Object(fields), ValueType::Map(_) | ValueType::Struct(_) | ValueType::Dyn) => {
            Value::Map(Map::Given(Given { json: fields, of, origin }))
        }
        (_, ValueType::Bool) => return misfit("true or false"),
        (_, ValueType::Int | ValueType::Double) => return misfit("a number"),
        (_, ValueType::List(_)) => return misfit("a list"),
        (_, ValueType::Map(_) | ValueType::Struct(_)) => return misfit("an object"),
        (_, _) => return misfit("a text"),
    })
}

fn of_text<'v>(text: &'v str, of: &ValueType, origin: &Origin) -> Answer<Value<'v>> {
    charge_text(text.len())?;
    let (value, wanted) = match of {
        ValueType::Bytes => (STANDARD.decode(text).ok().map(Value::bytes), "base64"),
        ValueType::Date => (Timestamp::parse_day(text).map(Value::Timestamp), "a date such as 2026-01-31"),
        ValueType::Timestamp => {
            // The zone may be left out in Kubernetes' formats.
            let parsed = Timestamp::parse(text).or_else(|| Timestamp::parse(&format!("{text}Z")));
            (parsed.map(Value::Timestamp), "a moment such as 2026-01-31T12:00:00Z")
        }
        ValueType::Duration => (duration::parse(text).map(Value::Duration), "a duration such as 1h30m"),
        ValueType::Bool => (None, "true or false"),
        ValueType::Int | ValueType::Double => (None, "a number"),
        ValueType::List(_) => (None, "a list"),
        ValueType::Map(_) | ValueType::Struct(_) => (None, "an object"),
        ValueType::Text | ValueType::Dyn => (Some(Value::Text(Text::Given(text))), "a text"),
    };
    value.ok_or_else(|| {
        // Not the text itself: it may be a secret.
        Failure::Wrong(format!("{:?} holds a text, where its schema has {wanted}", origin.name))
    })
}

fn kind_of(json: &Json) -> &'static str {
    match json {
        Json::Null => "null",
        Json::Bool(_) => "true or false",
        Json::Number(_) => "a number",
        Json::String(_) => "a text",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
    }
}
