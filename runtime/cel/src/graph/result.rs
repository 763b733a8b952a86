//! Values as JSON, as graphs write them into objects.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Map as Fields, Number, Value as Json};

use super::{
    failure::{Answer, Failure, charge},
    go::{duration, number},
    macros::CONDITION_KEYS,
    value::{Key, Map, Value},
};
use crate::expression::{json::length, meter};

/// The one field of the mark that stands where `omit()` was: `{"$omit": true}`.
pub const OMIT: &str = "$omit";

/// Whether this is the mark of `omit()`.
pub fn is_omitted(json: &Json) -> bool {
    json.as_object().is_some_and(|fields| fields.len() == 1 && fields.get(OMIT) == Some(&Json::Bool(true)))
}

/// The same without what `omit()` leaves out, on every level; `None` when that is all.
pub fn without_omitted(json: Json) -> Option<Json> {
    match json {
        json if is_omitted(&json) => None,
        Json::Array(elements) => Some(Json::Array(elements.into_iter().filter_map(without_omitted).collect())),
        Json::Object(fields) => {
            let fields = fields.into_iter();
            Some(Json::Object(fields.filter_map(|(name, value)| Some((name, without_omitted(value)?))).collect()))
        }
        other => Some(other),
    }
}

/// The result of an expression: bytes are refused, marks stand for `omit()`.
pub(super) fn of(value: &Value<'_>) -> Answer<Json> {
    Writer { left: meter::values().json, strict: true }.value(value, 0)
}

/// What `json.marshal` writes: bytes are base64, and any `uint` will do.
pub(super) fn for_marshal(value: &Value<'_>) -> Answer<Json> {
    Writer { left: meter::values().text, strict: false }.value(value, 0)
}

struct Writer {
    /// Bytes that may still be made.
    left: usize,
    /// For an object, not for a text.
    strict: bool,
}

impl Writer {
    fn value(&mut self, value: &Value<'_>, depth: usize) -> Answer<Json> {
        Self::deep(depth)?;
        match value {
            Value::Null | Value::Optional(None) => self.scalar(Json::Null),
            Value::Bool(value) => self.scalar(Json::Bool(*value)),
            Value::Int(number) => self.scalar(Json::from(*number)),
            Value::UInt(number) if self.strict && i64::try_from(*number).is_err() => Err(Failure::Wrong(format!(
                "a uint of {number} is more than an integer field holds; convert it explicitly, e.g. string(…)"
            ))),
            Value::UInt(number) => self.scalar(Json::from(*number)),
            Value::Double(number) => {
                let json =
                    double(*number).ok_or_else(|| Failure::Wrong(format!("JSON cannot hold the number {number}")))?;
                self.scalar(Json::Number(json))
            }
            Value::Text(text) => self.text(text),
            Value::Bytes(bytes) if !self.strict => {
                self.take(bytes.len().div_ceil(3) * 4)?;
                Ok(Json::String(STANDARD.encode(bytes)))
            }
            Value::Timestamp(moment) if moment.is_zero() => self.scalar(Json::Null),
            Value::Timestamp(moment) => self.text(&moment.format_seconds()),
            Value::Duration(nanos) => self.text(&duration::format(*nanos)),
            Value::Optional(Some(value)) => self.value(value, depth),
            Value::List(list) => {
                self.take(2 + list.len())?;
                let elements = list.iter().map(|element| self.value(&element?, depth + 1));
                Ok(Json::Array(elements.collect::<Answer<_>>()?))
            }
            // As it was given, not as its schema has it: a date stays what it was.
            Value::Map(Map::Given(given)) => self.fields(given.json, depth),
            Value::Map(Map::Made(entries)) => {
                self.take(2)?;
                let mut fields = Fields::new();
                for (key, value) in entries.iter() {
                    let Key::Text(name) = key else {
                        let what = key.value().type_name();
                        return Err(Failure::Wrong(format!("a map key must be a string, not a {what}")));
                    };
                    self.name(name)?;
                    fields.insert((**name).to_owned(), self.value(value, depth + 1)?);
                }
                Ok(Json::Object(fields))
            }
            Value::Condition(condition) => {
                let mut fields = Fields::new();
                for (name, text) in CONDITION_KEYS.into_iter().zip(condition.iter()) {
                    fields.insert(name.to_owned(), self.text(text)?);
                }
                Ok(Json::Object(fields))
            }
            Value::Omit if self.strict => {
                self.take(16)?;
                Ok(Json::Object([(OMIT.to_owned(), Json::Bool(true))].into_iter().collect()))
            }
            Value::Omit => {
                self.take(2)?;
                Ok(Json::Object(Fields::new()))
            }
            Value::Bytes(_) => Err(Failure::wrong(
                "bytes cannot be written into an object; encode them explicitly, e.g. base64.encode(…)",
            )),
            Value::Type(_) | Value::Foreign(_) => {
                Err(Failure::Wrong(format!("a {} has no form in JSON", value.type_name())))
            }
        }
    }

    /// A piece of a variable, copied.
    fn json(&mut self, json: &Json, depth: usize) -> Answer<Json> {
        Self::deep(depth)?;
        match json {
            Json::String(text) => self.text(text),
            Json::Array(elements) => {
                self.take(2 + elements.len())?;
                let elements = elements.iter().map(|element| self.json(element, depth + 1));
                Ok(Json::Array(elements.collect::<Answer<_>>()?))
            }
            Json::Object(fields) => self.fields(fields, depth),
            scalar => self.scalar(scalar.clone()),
        }
    }

    fn fields(&mut self, fields: &Fields<String, Json>, depth: usize) -> Answer<Json> {
        self.take(2)?;
        let mut copied = Fields::new();
        for (name, json) in fields {
            self.name(name)?;
            copied.insert(name.clone(), self.json(json, depth + 1)?);
        }
        Ok(Json::Object(copied))
    }

    /// Counts a field's name. The mark of `omit()` must not come from data.
    fn name(&mut self, name: &str) -> Answer<()> {
        if self.strict && name == OMIT {
            return Err(Failure::Wrong(format!("a map must not have the key {OMIT:?}: it is the mark of omit()")));
        }
        self.take(2 + length(name))
    }

    fn text(&mut self, text: &str) -> Answer<Json> {
        self.take(length(text))?;
        Ok(Json::String(text.to_owned()))
    }

    /// Null, a truth or a number.
    fn scalar(&mut self, json: Json) -> Answer<Json> {
        self.take(json.to_string().len())?;
        Ok(json)
    }

    fn deep(depth: usize) -> Answer<()> {
        let most = meter::values().depth;
        if depth > most {
            return Err(Failure::bound(|| format!("its result is nested more than {most} levels deep")));
        }
        Ok(())
    }

    /// Counts so many bytes, and the steps for them.
    fn take(&mut self, bytes: usize) -> Answer<()> {
        let Some(left) = self.left.checked_sub(bytes) else {
            return Err(Failure::bound(|| {
                let most = if self.strict { meter::values().json } else { meter::values().text };
                format!("its result has more than {most} bytes of JSON")
            }));
        };
        self.left = left;
        charge(1 + meter::steps_of(bytes))
    }
}

/// Whole numbers without a point, as far as integers go.
fn double(number: f64) -> Option<Number> {
    number::whole(number).map(Number::from).or_else(|| Number::from_f64(number))
}
