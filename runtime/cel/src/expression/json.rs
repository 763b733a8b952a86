//! Results of expressions as JSON, within bounds.

use base64::{Engine, engine::general_purpose::STANDARD};
use cel_interpreter::{
    Env,
    common::{
        types::{
            CelBool, CelBytes, CelDouble, CelInt, CelList, CelMap, CelMapKey, CelNull, CelOptional, CelString, CelUInt,
            Kind,
        },
        value::{CowVal, Val},
    },
};
use serde_json::{Map, Number, Value};

use super::{limits::Values, meter};

/// The value as JSON. The error says what the value, or a part of it, is; that one is too large is for the meter to say.
pub(super) fn of(value: &dyn Val, env: &Env) -> Result<Value, String> {
    let Values { json: most, depth, .. } = meter::values();
    Writer { env, most, left: most, depth }.value(value, 0)
}

struct Writer<'e> {
    env: &'e Env,
    /// Bytes in all.
    most: usize,
    /// Bytes that may still be made.
    left: usize,
    /// Lists and maps within each other.
    depth: usize,
}

impl Writer<'_> {
    fn value(&mut self, value: &dyn Val, depth: usize) -> Result<Value, String> {
        if depth > self.depth {
            return Err(format!("nested more than {} levels deep", self.depth));
        }
        if value.downcast_ref::<CelNull>().is_some() {
            self.take(4)?;
            Ok(Value::Null)
        } else if let Some(value) = value.downcast_ref::<CelBool>() {
            self.take(5)?;
            Ok(Value::Bool(*value.inner()))
        } else if let Some(value) = value.downcast_ref::<CelInt>() {
            self.number(Number::from(*value.inner()))
        } else if let Some(value) = value.downcast_ref::<CelUInt>() {
            self.number(Number::from(*value.inner()))
        } else if let Some(value) = value.downcast_ref::<CelDouble>() {
            let value = *value.inner();
            self.number(Number::from_f64(value).ok_or_else(|| format!("the number {value}"))?)
        } else if let Some(value) = value.downcast_ref::<CelString>() {
            self.text(value.inner())
        } else if let Some(value) = value.downcast_ref::<CelBytes>() {
            self.take(value.inner().len().div_ceil(3) * 4 + 2)?;
            Ok(Value::String(STANDARD.encode(value.inner())))
        } else if let Some(list) = value.downcast_ref::<CelList>() {
            self.list(list, depth)
        } else if let Some(map) = value.downcast_ref::<CelMap>() {
            self.map(map, depth)
        } else if matches!(value.get_type().kind(), Kind::Timestamp | Kind::Duration) {
            self.moment(value)
        } else if value.downcast_ref::<CelOptional>().is_some() {
            Err("an optional value (end it with .orValue(…))".to_owned())
        } else {
            Err(format!("a {}", value.get_type().name()))
        }
    }

    /// Counts so many bytes, and the steps for them.
    fn take(&mut self, bytes: usize) -> Result<(), String> {
        let Some(left) = self.left.checked_sub(bytes) else {
            meter::exceed(|| format!("its result has more than {} bytes of JSON", self.most));
            return Err("too large".to_owned());
        };
        self.left = left;
        if meter::spend(1 + meter::steps_of(bytes)) { Ok(()) } else { Err("too large".to_owned()) }
    }

    fn number(&mut self, number: Number) -> Result<Value, String> {
        self.take(number.to_string().len())?;
        Ok(Value::Number(number))
    }

    fn text(&mut self, text: &str) -> Result<Value, String> {
        self.take(length(text))?;
        Ok(Value::String(text.to_owned()))
    }

    fn list(&mut self, list: &CelList<'_>, depth: usize) -> Result<Value, String> {
        self.take(2 + list.inner().len())?;
        let elements = list.inner().iter().map(|element| self.value(element.as_ref(), depth + 1));
        Ok(Value::Array(elements.collect::<Result<_, _>>()?))
    }

    fn map(&mut self, map: &CelMap<'_>, depth: usize) -> Result<Value, String> {
        self.take(2 + 2 * map.inner().len())?;
        let mut fields = Map::new();
        for (key, value) in map.inner() {
            let CelMapKey::String(key) = key else {
                return Err(format!("a map with a key that is a {}", key.inner().get_type().name()));
            };
            self.take(length(key.inner()))?;
            let value = self.value(value.as_ref(), depth + 1)?;
            fields.insert(key.inner().to_owned(), value);
        }
        Ok(Value::Object(fields))
    }

    /// In the words that `string()` has for it.
    fn moment(&mut self, value: &dyn Val) -> Result<Value, String> {
        let args = vec![CowVal::Borrowed(value)];
        let text = self.env.find_overload("string", &args).and_then(|string| string(args).ok());
        let text = text.as_ref().and_then(|text| text.downcast_ref::<CelString>());
        match text {
            Some(text) => self.text(text.inner()),
            None => Err(format!("a {}", value.get_type().name())),
        }
    }
}

/// Bytes of a text in JSON.
pub(crate) fn length(text: &str) -> usize {
    let bytes = text.bytes().map(|byte| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 8 | 12 => 2,
        0..32 => 6,
        _ => 1,
    });
    bytes.sum::<usize>() + 2
}
