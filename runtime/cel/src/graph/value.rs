//! `Value`: what an expression is about. Small to copy: texts, lists and maps are shared or borrowed.

use std::{collections::BTreeMap, net::IpAddr, ops::Deref, rc::Rc};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value as Json;

use super::{
    failure::{Answer, Failure, charge, charge_text},
    go::{duration, number, timestamp::Timestamp, url::Url},
    network::Cidr,
    provenance::Provenance,
    quantity::Quantity,
    value_type::{ValueType, unescaped},
};

/// A value of CEL.
#[derive(Debug, Clone)]
pub(super) enum Value<'v> {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Double(f64),
    Text(Text<'v>),
    Bytes(Rc<[u8]>),
    Timestamp(Timestamp),
    /// In nanoseconds.
    Duration(i64),
    List(List<'v>),
    Map(Map<'v>),
    Optional(Option<Rc<Value<'v>>>),
    /// The type of a value, by its name.
    Type(&'static str),
    Foreign(Rc<Foreign>),
    /// A condition of an object: type, status, reason, message.
    Condition(Rc<[String; 4]>),
    /// Leaves out the field, or element, that it is the value of.
    Omit,
}

/// Values that Kubernetes adds to CEL.
#[derive(Debug)]
pub(super) enum Foreign {
    Url(Url),
    Ip(IpAddr),
    Cidr(Cidr),
    Quantity(Quantity),
    Semver(semver::Version),
}

/// A text, borrowed from the expression or a variable, or made.
#[derive(Debug, Clone)]
pub(super) enum Text<'v> {
    Given(&'v str),
    Made(Rc<str>),
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Given(text) => text,
            Self::Made(text) => text,
        }
    }
}

/// A piece of a variable, as what it is seen, and the variable.
#[derive(Debug)]
pub(super) struct Given<'v, T> {
    pub(super) json: &'v T,
    pub(super) of: &'v ValueType,
    pub(super) origin: &'v Provenance,
}

impl<T> Clone for Given<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Given<'_, T> {}

#[derive(Debug, Clone)]
pub(super) enum List<'v> {
    Made(Rc<Vec<Value<'v>>>),
    Given(Given<'v, Vec<Json>>),
}

#[derive(Debug, Clone)]
pub(super) enum Map<'v> {
    Made(Rc<BTreeMap<Key<'v>, Value<'v>>>),
    Given(Given<'v, serde_json::Map<String, Json>>),
}

/// A key of a map.
#[derive(Debug, Clone)]
pub(super) enum Key<'v> {
    Bool(bool),
    Int(i64),
    UInt(u64),
    Text(Text<'v>),
}

impl Key<'_> {
    fn sorted(&self) -> (u8, i128, &str) {
        match self {
            Self::Bool(key) => (0, i128::from(*key), ""),
            Self::Int(key) => (1, i128::from(*key), ""),
            Self::UInt(key) => (2, i128::from(*key), ""),
            Self::Text(key) => (3, 0, key),
        }
    }
}

impl PartialEq for Key<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.sorted() == other.sorted()
    }
}

impl Eq for Key<'_> {}

impl PartialOrd for Key<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key<'_> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.sorted().cmp(&other.sorted())
    }
}

impl<'v> Key<'v> {
    /// The key that a value is, as it is written in a map.
    pub(super) fn of(value: &Value<'v>) -> Option<Self> {
        match value {
            Value::Bool(key) => Some(Self::Bool(*key)),
            Value::Int(key) => Some(Self::Int(*key)),
            Value::UInt(key) => Some(Self::UInt(*key)),
            Value::Text(key) => Some(Self::Text(key.clone())),
            _ => None,
        }
    }

    /// [`Key::of`], or why it is none.
    pub(super) fn try_of(value: &Value<'v>) -> Answer<Self> {
        Self::of(value).ok_or_else(|| Failure::Wrong(format!("unsupported key type '{}' in map", value.type_name())))
    }

    pub(super) fn value(&self) -> Value<'v> {
        match self {
            Self::Bool(key) => Value::Bool(*key),
            Self::Int(key) => Value::Int(*key),
            Self::UInt(key) => Value::UInt(*key),
            Self::Text(key) => Value::Text(key.clone()),
        }
    }
}

impl<'v> Value<'v> {
    /// The value of a piece of a variable: nothing is copied, and lists and objects are opened only where the expression
    /// looks into them.
    pub(super) fn given(json: &'v Json, of: &'v ValueType, origin: &'v Provenance) -> Answer<Self> {
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

    pub(super) fn text(text: impl Into<Rc<str>>) -> Self {
        Self::Text(Text::Made(text.into()))
    }

    pub(super) fn bytes(bytes: impl Into<Rc<[u8]>>) -> Self {
        Self::Bytes(bytes.into())
    }

    pub(super) fn list(elements: Vec<Value<'v>>) -> Self {
        Self::List(List::Made(Rc::new(elements)))
    }

    pub(super) fn map(entries: BTreeMap<Key<'v>, Value<'v>>) -> Self {
        Self::Map(Map::Made(Rc::new(entries)))
    }

    pub(super) fn some(value: Value<'v>) -> Self {
        Self::Optional(Some(Rc::new(value)))
    }

    pub(super) fn foreign(value: Foreign) -> Self {
        Self::Foreign(Rc::new(value))
    }

    /// The name of its type.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::UInt(_) => "uint",
            Self::Double(_) => "double",
            Self::Text(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::Timestamp(_) => "google.protobuf.Timestamp",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Optional(_) => "optional_type",
            Self::Type(_) => "type",
            Self::Foreign(value) => match value.as_ref() {
                Foreign::Url(_) => "kubernetes.URL",
                Foreign::Ip(_) => "net.IP",
                Foreign::Cidr(_) => "net.CIDR",
                Foreign::Quantity(_) => "kubernetes.Quantity",
                Foreign::Semver(_) => "kubernetes.Semver",
            },
            Self::Condition(_) => "kro.run.Condition",
            Self::Omit => "kro.omit",
        }
    }
}

/// The names of types that an expression may use as values.
pub(super) const TYPES: [&str; 19] = [
    "bool",
    "bytes",
    "double",
    "dyn",
    "google.protobuf.Duration",
    "google.protobuf.Timestamp",
    "int",
    "kubernetes.Quantity",
    "kubernetes.Semver",
    "kubernetes.URL",
    "list",
    "map",
    "net.CIDR",
    "net.IP",
    "null_type",
    "optional_type",
    "string",
    "type",
    "uint",
];

impl<'v> List<'v> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Made(elements) => elements.len(),
            Self::Given(given) => given.json.len(),
        }
    }

    pub(super) fn get(&self, index: usize) -> Option<Answer<Value<'v>>> {
        match self {
            Self::Made(elements) => elements.get(index).cloned().map(Ok),
            Self::Given(given) => {
                let json = given.json.get(index)?;
                Some(Value::given(json, given.of.item(), given.origin))
            }
        }
    }

    /// The elements, each counted.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = Answer<Value<'v>>> {
        (0..self.len()).map(|index| {
            charge(1)?;
            self.get(index).unwrap_or(Err(Failure::Stopped))
        })
    }

    /// All elements, counted.
    pub(super) fn to_vec(&self) -> Answer<Vec<Value<'v>>> {
        match self {
            Self::Made(elements) => {
                charge(elements.len() as u64)?;
                Ok(elements.as_ref().clone())
            }
            Self::Given(_) => self.iter().collect(),
        }
    }
}

impl<'v> Map<'v> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Made(entries) => entries.len(),
            Self::Given(given) => given.json.len(),
        }
    }

    /// The value at this key, if there is one. Numbers are the same key when they are the same number.
    pub(super) fn get(&self, key: &Value<'v>) -> Option<Answer<Value<'v>>> {
        match self {
            Self::Made(entries) => {
                let found = same_keys(key).into_iter().flatten().find_map(|key| entries.get(&key));
                found.cloned().map(Ok)
            }
            Self::Given(given) => {
                let Value::Text(key) = key else { return None };
                let name = given.name_of(key)?;
                let json = given.json.get(name.as_ref())?;
                Some(Value::given(json, given.of.field(&name), given.origin))
            }
        }
    }

    /// Whether there is such a key; its value is not looked at.
    pub(super) fn contains(&self, key: &Value<'v>) -> bool {
        match (self, key) {
            (Self::Made(entries), key) => same_keys(key).into_iter().flatten().any(|key| entries.contains_key(&key)),
            (Self::Given(given), Value::Text(key)) => given.name_of(key).is_some(),
            (Self::Given(_), _) => false,
        }
    }

    /// The keys, in order.
    pub(super) fn keys(&self) -> Vec<Key<'v>> {
        match self {
            Self::Made(entries) => entries.keys().cloned().collect(),
            Self::Given(given) => given.json.keys().map(|key| Key::Text(Text::Given(key))).collect(),
        }
    }

    /// All entries, counted.
    pub(super) fn to_entries(&self) -> Answer<BTreeMap<Key<'v>, Value<'v>>> {
        charge(self.len() as u64)?;
        match self {
            Self::Made(entries) => Ok(entries.as_ref().clone()),
            Self::Given(given) => {
                let entries = given.json.iter().map(|(name, json)| {
                    let value = Value::given(json, given.of.field(name), given.origin)?;
                    Ok((Key::Text(Text::Given(name)), value))
                });
                entries.collect()
            }
        }
    }
}

impl Given<'_, serde_json::Map<String, Json>> {
    /// The field's name in JSON, when it is there. Fields of objects may be written escaped.
    fn name_of<'k>(&self, key: &'k str) -> Option<std::borrow::Cow<'k, str>> {
        if matches!(self.of, ValueType::Struct(_)) && key.contains("__") {
            let name = unescaped(key);
            if self.json.contains_key(&name) {
                return Some(name.into());
            }
        }
        self.json.contains_key(key).then_some(key.into())
    }
}

/// The keys that a value may be found under: the same number may be one of the other kind.
fn same_keys<'k>(key: &Value<'k>) -> [Option<Key<'k>>; 2] {
    let (first, second) = match key {
        Value::Int(key) => (Some(Key::Int(*key)), u64::try_from(*key).ok().map(Key::UInt)),
        Value::UInt(key) => (Some(Key::UInt(*key)), i64::try_from(*key).ok().map(Key::Int)),
        Value::Double(key) => {
            let key = number::whole(*key);
            (key.map(Key::Int), key.and_then(|key| u64::try_from(key).ok()).map(Key::UInt))
        }
        other => (Key::of(other), None),
    };
    [first, second]
}

fn of_text<'v>(text: &'v str, of: &ValueType, origin: &Provenance) -> Answer<Value<'v>> {
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
