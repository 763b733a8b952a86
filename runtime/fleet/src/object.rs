//! One object as the index holds it: identity parsed, the rest as compressed JSON without `managedFields`.
//!
//! A parsed tree of a 3 KB object takes ten times its size, the raw bytes 3 KB, compressed ones a half or less. They
//! are unpacked, in a microsecond or two, and parsed only when a decision looks at them.

pub(crate) mod error;

use std::{borrow::Cow, collections::BTreeMap};

pub use runtime_effect::object_key::ObjectKey;
use runtime_effect::version::Version;
use serde::{
    Deserialize, Serialize,
    de::{DeserializeOwned, DeserializeSeed as _},
};
use serde_json::{Value, value::RawValue};

pub use self::error::ObjectError;
use crate::{
    conventions::Conventions,
    each::Each,
    outline::{self, Fields, Outline},
    shape::{Excess, Shape},
};

/// An object at one resource version.
#[expect(
    clippy::struct_excessive_bools,
    reason = "there are hundreds of thousands of them: each says its one thing in a byte"
)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// `metadata.uid`.
    pub uid: Box<str>,
    /// `metadata.resourceVersion`; larger is newer within one API server and kind.
    pub resource_version: u64,
    /// `metadata.generation`, which grows with the spec; 0 for an object without one.
    pub generation: u64,
    /// Whether `metadata.deletionTimestamp` is set.
    pub deleting: bool,
    /// Whether it has finalizers.
    pub has_finalizers: bool,
    /// Whether [`Conventions::manager`] is among those who applied it (`metadata.managedFields`).
    pub applied_by_us: bool,
    /// What it has too much of. Of such an object only metadata is held, and of its status what is small.
    pub excess: Option<Excess>,
    /// Whether `status.conditions` is held as it is; it may be too much where there is [`Object::excess`].
    pub holds_conditions: bool,
    /// What its parsed tree takes in memory, in bytes, at the most about 200 MiB; held or not.
    pub weight: u32,
    conventions: &'static Conventions,
    body: Box<[u8]>,
}

#[derive(Deserialize)]
struct Manager<'a> {
    #[serde(borrow, default)]
    manager: Cow<'a, str>,
    #[serde(borrow, default)]
    operation: Cow<'a, str>,
}

fn applied_by(manager: &str, managed_fields: Option<&RawValue>) -> bool {
    // Most entries are long, and other people's.
    let Some(managed_fields) = managed_fields.filter(|fields| fields.get().contains(manager)) else {
        return false;
    };
    let mut found = false;
    let each = Each::new(|entry: Manager<'_>| found |= entry.manager == manager && entry.operation == "Apply");
    let read = each.deserialize(&mut serde_json::Deserializer::from_str(managed_fields.get()));
    found && read.is_ok()
}

/// Labels and annotations of an object.
#[derive(Debug, Default, Deserialize)]
pub struct Marks {
    /// `metadata.labels`.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// `metadata.annotations`.
    #[serde(default)]
    pub annotations: BTreeMap<String, String>,
}

/// An entry of `metadata.ownerReferences`. What it does not say is empty.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Owner {
    /// `v1`, or `group/version`.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Name; it is in the object's namespace.
    pub name: String,
    /// uid.
    pub uid: String,
}

impl Owner {
    /// As the whole object has it, whatever a server sent: one that is odd does not hide the others.
    fn of(entry: &Value) -> Self {
        let text = |field: &str| entry[field].as_str().unwrap_or_default().to_owned();
        Self { api_version: text("apiVersion"), kind: text("kind"), name: text("name"), uid: text("uid") }
    }
}

/// A field of what is held of an object.
#[derive(Serialize)]
#[serde(untagged)]
enum Part<'a> {
    Sent(&'a RawValue),
    Picked(&'a Fields<'a>),
    Added(&'a str),
}

impl Object {
    /// Which version of which object it is.
    pub fn version(&self) -> Version<'_> {
        Version { uid: &self.uid, resource_version: self.resource_version }
    }

    /// Reads an object as the API server sent it. `type_meta` is put in where the server left it out, as it does in lists.
    pub fn parse(
        raw: &[u8],
        type_meta: Option<(&str, &str)>,
        conventions: &'static Conventions,
    ) -> Result<(ObjectKey, Self), ObjectError> {
        Self::take_in(Outline::read(std::str::from_utf8(raw)?)?, type_meta, conventions)
    }

    /// What is held of an object that was looked through; see [`Object::parse`].
    pub(crate) fn take_in(
        mut outline: Outline<'_>,
        type_meta: Option<(&str, &str)>,
        conventions: &'static Conventions,
    ) -> Result<(ObjectKey, Self), ObjectError> {
        let applied_by_us = applied_by(conventions.manager, outline.metadata.remove(outline::MANAGED));
        let mut parts: BTreeMap<&str, Part<'_>> =
            outline.fields.iter().map(|(name, value)| (name, Part::Sent(value))).collect();
        parts.insert("metadata", Part::Picked(&outline.metadata));
        if let Some(status) = &outline.status {
            parts.insert("status", Part::Picked(status));
        }
        if let Some((api_version, kind)) = type_meta.filter(|_| !parts.contains_key("kind")) {
            parts.insert("apiVersion", Part::Added(api_version));
            parts.insert("kind", Part::Added(kind));
        }
        // What is left out of an object that is too much may be all of it.
        let most = if outline.excess.is_some() { 0 } else { outline.shape.bytes + 128 };
        let mut body = Vec::with_capacity(most);
        serde_json::to_writer(&mut body, &parts)?;
        let shape = if outline.excess.is_some() { Shape::of(&body) } else { outline.shape };
        if outline.excess.is_some() && shape.excess().is_some() {
            return Err(ObjectError::Metadata);
        }
        let object = Self {
            uid: outline.uid()?,
            resource_version: outline.version,
            generation: outline.generation(),
            deleting: outline.is_deleting(),
            has_finalizers: outline.has_finalizers()?,
            applied_by_us,
            excess: outline.excess,
            holds_conditions: outline.holds_conditions,
            weight: u32::try_from(shape.tree()).unwrap_or(u32::MAX),
            conventions,
            // Copied: a buffer that is cut down to its text may stay as large as it was made, twice the text.
            body: lz4_flex::block::compress_prepend_size_with_dict(&body, conventions.words).as_slice().into(),
        };
        Ok((outline.key, object))
    }

    /// Drops everything but identity and version, for objects that no decision reads.
    pub fn forget_body(&mut self) {
        self.body = Box::default();
    }

    /// The same without its body.
    #[must_use]
    pub fn bare(&self) -> Self {
        Self { uid: self.uid.clone(), body: Box::default(), ..*self }
    }

    /// Whether this was the object's last version: it was being deleted, and nothing held it any more.
    pub fn is_gone(&self) -> bool {
        self.deleting && !self.has_finalizers
    }

    /// Whether the body is held. `value` of a forgotten body is an error.
    pub fn has_body(&self) -> bool {
        !self.body.is_empty()
    }

    /// Size of the body in bytes, as it is held.
    pub fn size(&self) -> usize {
        self.body.len()
    }

    fn unpacked(&self) -> Result<String, ObjectError> {
        // What we packed ourselves can be unpacked; an empty body was forgotten.
        let body = lz4_flex::block::decompress_size_prepended_with_dict(&self.body, self.conventions.words);
        Ok(String::from_utf8(body.map_err(|_| ObjectError::Forgotten)?).map_err(|error| error.utf8_error())?)
    }

    /// The whole object without `managedFields`. An error where it nests deeper than the parser allows (128), or was forgotten.
    pub fn value(&self) -> Result<Value, ObjectError> {
        self.read()
    }

    /// What a type asks of the object; the rest is passed over. Errors as of [`Object::value`], and where it is not of this type.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, ObjectError> {
        Ok(serde_json::from_str(&self.unpacked()?)?)
    }

    /// Whether it asks for something else than another version of it: whether anything but `metadata` and `status` differs. So it
    /// is, too, where that cannot be told, for a body is not held.
    pub fn asks_otherwise(&self, other: &Self) -> bool {
        fn asked(text: &str) -> Option<BTreeMap<Cow<'_, str>, &RawValue>> {
            let mut asked: BTreeMap<_, _> = serde_json::from_str(text).ok()?;
            asked.retain(|field: &Cow<'_, str>, _| !matches!(&**field, "metadata" | "status"));
            Some(asked)
        }
        let (Ok(one), Ok(two)) = (self.unpacked(), other.unpacked()) else { return true };
        let (Some(one), Some(two)) = (asked(&one), asked(&two)) else { return true };
        // API servers write the same in the same way.
        let (one, two) = (one.iter(), two.iter());
        one.map(|(field, text)| (field, text.get())).ne(two.map(|(field, text)| (field, text.get())))
    }

    /// Labels and annotations, without parsing the rest into a tree. Empty where they cannot be read.
    pub fn marks(&self) -> Marks {
        self.metadata().unwrap_or_default()
    }

    /// Its owners, in the same way.
    pub fn owners(&self) -> Vec<Owner> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Owned {
            owner_references: Option<Vec<Value>>,
        }
        let entries = self.metadata::<Owned>().and_then(|owned| owned.owner_references).unwrap_or_default();
        entries.iter().map(Owner::of).collect()
    }

    fn metadata<T: DeserializeOwned>(&self) -> Option<T> {
        #[derive(Deserialize)]
        struct Outer<T> {
            metadata: T,
        }
        Some(self.read::<Outer<T>>().ok()?.metadata)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conventions::PLAIN;

    const RAW: &str = r#"{"metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"7","labels":{"l":"1"},
        "annotations":{"k\"q":"v"},"managedFields":[{"manager":"m"}]},"spec":{"x":1}}"#;

    #[test]
    fn keeps_all_but_managed_fields() {
        let (key, object) = Object::parse(RAW.as_bytes(), Some(("v1", "ConfigMap")), &PLAIN).unwrap();
        assert_eq!(key, ObjectKey::new("n", "a"));
        assert_eq!((&*object.uid, object.resource_version, object.deleting), ("u", 7, false));
        let value = object.value().unwrap();
        assert_eq!(value["kind"], "ConfigMap");
        assert_eq!(value["spec"]["x"], 1);
        assert!(value["metadata"].get("managedFields").is_none());
        assert_eq!(object.marks().annotations["k\"q"], "v");
    }

    #[test]
    fn a_body_is_held_smaller_than_it_is_and_comes_back_the_same() {
        let raw = RAW.replace("\"x\":1", &format!("\"x\":\"{}\"", "lorem ipsum ".repeat(200)));
        let (_, mut object) = Object::parse(raw.as_bytes(), None, &PLAIN).unwrap();
        assert!(object.size() < raw.len() / 2, "{} of {}", object.size(), raw.len());
        assert_eq!(object.value().unwrap()["spec"]["x"], "lorem ipsum ".repeat(200));
        object.forget_body();
        assert!(matches!(object.value(), Err(ObjectError::Forgotten)));
        assert!(object.marks().labels.is_empty());
    }

    #[test]
    fn it_asks_otherwise_where_more_than_its_marks_and_its_status_differ() {
        let object = |version: u64, rest: &str| {
            let raw = format!(r#"{{"metadata":{{"name":"a","uid":"u","resourceVersion":"{version}"}},{rest}}}"#);
            Object::parse(raw.as_bytes(), None, &PLAIN).unwrap().1
        };
        let one = object(7, r#""spec":{"x":1},"status":{"y":2}"#);
        assert!(!object(8, r#""spec":{"x":1},"status":{"y":3}"#).asks_otherwise(&one));
        for other in
            [r#""spec":{"x":2}"#, r#""spec":{"x":1,"z":3}"#, r#""spec":{"x":1},"data":{}"#, r#""data":{"x":1}"#]
        {
            assert!(object(8, other).asks_otherwise(&one), "{other}");
        }
        assert!(one.asks_otherwise(&one.bare()) && one.bare().asks_otherwise(&one), "nobody can tell");
    }

    #[test]
    fn numbers_are_read_as_they_are_written() {
        for number in ["99.99999999999999", "1.5555555e+45", "1.7976931348623157e+308", "5e-324", "9007199254740993"] {
            let raw = format!(r#"{{"metadata":{{"name":"a","uid":"u","resourceVersion":"7"}},"spec":{number}}}"#);
            let (_, object) = Object::parse(raw.as_bytes(), None, &PLAIN).unwrap();
            assert_eq!(object.value().unwrap()["spec"].to_string(), number);
        }
    }

    #[test]
    fn its_owners_are_read_without_the_rest() {
        let owners = |raw: &str| {
            let raw = format!(r#"{{"metadata":{{"name":"a","resourceVersion":"7"{raw}}},"spec":{{"x":1}}}}"#);
            Object::parse(raw.as_bytes(), None, &PLAIN).unwrap().1.owners()
        };
        let two = owners(r#","ownerReferences":[{"apiVersion":"g/v1","kind":"K","name":"k","uid":"u"},{"uid":"v"}]"#);
        let one = Owner { api_version: "g/v1".into(), kind: "K".into(), name: "k".into(), uid: "u".into() };
        assert_eq!(two, [one, Owner { uid: "v".into(), ..Owner::default() }]);
        assert!(owners("").is_empty() && owners(r#","ownerReferences":null"#).is_empty());
        let odd = owners(r#","ownerReferences":[{"name":"J","name":"k","uid":"u"},{"uid":7},{"uid":"v"}]"#);
        assert_eq!(odd.iter().map(|owner| &*owner.uid).collect::<Vec<_>>(), ["u", "", "v"]);
        assert_eq!(odd[0].name, "k");
    }

    fn with(spec: &str, status: &str) -> Object {
        let metadata = r#"{"name":"a","resourceVersion":"1","finalizers":["theirs"],"annotations":{"a":"b"}}"#;
        let raw = format!(r#"{{"kind":"K","metadata":{metadata},"spec":{spec},"status":{status}}}"#);
        Object::parse(raw.as_bytes(), None, &PLAIN).unwrap().1
    }

    fn nested(depth: usize) -> String {
        format!("{}{}", "[".repeat(depth), "]".repeat(depth))
    }

    #[test]
    fn of_what_is_too_much_metadata_and_a_small_status_are_held() {
        let beads = format!("[{}]", vec![r#"{"":0}"#; 180_000].join(","));
        for (spec, excess) in [(nested(100_000), Excess::Depth), (nested(127), Excess::Depth), (beads, Excess::Values)]
        {
            let object = with(&spec, r#"{"phase":"Up","conditions":[]}"#);
            assert_eq!(object.excess, Some(excess));
            assert!(object.holds_conditions && object.has_finalizers);
            assert!(object.size() < 1000 && object.weight < 10_000);
            let value = object.value().unwrap();
            assert_eq!(value["metadata"]["finalizers"][0], "theirs");
            assert_eq!((&value["status"]["phase"], value.get("spec")), (&serde_json::json!("Up"), None));
            assert_eq!(object.marks().annotations["a"], "b");
        }
        let object = with(&nested(126), "{}");
        assert!(object.excess.is_none() && object.value().is_ok());
        let object = with("{}", &format!(r#"{{"phase":"Up","conditions":{}}}"#, nested(200)));
        assert!(object.excess.is_some() && !object.holds_conditions);
        assert_eq!(object.value().unwrap()["status"], serde_json::json!({"phase": "Up"}));
    }

    #[test]
    fn field_managers_do_not_count() {
        let deep = format!(r#"[{{"manager":"us","operation":"Apply","fieldsV1":{}}}]"#, nested(500));
        let raw =
            format!(r#"{{"metadata":{{"name":"a","resourceVersion":"1","managedFields":{deep}}},"spec":{{"x":1}}}}"#);
        let (_, object) = Object::parse(raw.as_bytes(), None, &PLAIN).unwrap();
        assert!(object.excess.is_none() && object.applied_by_us);
        assert_eq!(object.value().unwrap()["spec"]["x"], 1);
    }

    #[test]
    fn metadata_that_is_too_much_is_an_error() {
        let raw = format!(r#"{{"metadata":{{"name":"a","resourceVersion":"1","labels":{}}}}}"#, nested(300));
        assert!(matches!(Object::parse(raw.as_bytes(), None, &PLAIN), Err(ObjectError::Metadata)));
    }

    #[test]
    fn what_is_no_text_is_an_error() {
        let mut raw = RAW.as_bytes().to_vec();
        let at = raw.iter().position(|byte| *byte == b'v').unwrap();
        raw[at] = 0xff;
        assert!(matches!(Object::parse(&raw, None, &PLAIN), Err(ObjectError::Text(_))));
    }

    #[test]
    fn a_version_that_is_no_number_is_an_error() {
        let raw = RAW.replace("\"7\"", "\"seven\"");
        assert!(matches!(Object::parse(raw.as_bytes(), None, &PLAIN), Err(ObjectError::Version(_))));
    }
}
