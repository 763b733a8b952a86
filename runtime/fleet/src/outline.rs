//! `Outline`: what an API server sent of one object, read once: who it is, and where in the text its fields are.

use std::{borrow::Cow, collections::BTreeMap, fmt};

use runtime_effect::object_key::ObjectKey;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{Error as _, IgnoredAny, MapAccess, Visitor},
};
use serde_json::value::RawValue;

use crate::{
    each::{self, Text},
    object::error::ObjectError,
    shape::{Excess, LITTLE, Shape},
};

/// Fields by name, each as text. Of two of the same name the last counts.
#[derive(Debug, Default, Serialize)]
#[serde(transparent)]
pub(crate) struct Fields<'a>(BTreeMap<Cow<'a, str>, &'a RawValue>);

impl<'a> Fields<'a> {
    pub(crate) fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0.get(name).copied()
    }

    pub(crate) fn remove(&mut self, name: &str) -> Option<&'a RawValue> {
        self.0.remove(name)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(name, value)| (&**name, *value))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut fields = BTreeMap::new();
        each::fields_of(deserializer, |name, value| {
            fields.insert(name, value);
            true
        })?;
        Ok(Self(fields))
    }
}

/// An object's fields: all of them, or what is held of one that is too much.
#[derive(Debug, Default)]
struct Parts<'a> {
    /// All but `metadata` and, of an object that is too much, `status`.
    fields: Fields<'a>,
    metadata: Fields<'a>,
    /// The fields of the status that are small, of an object that is too much.
    status: Option<Fields<'a>>,
    /// Whether `status.conditions` is held, if there is one.
    holds_conditions: bool,
}

/// An object's text, looked through.
#[derive(Debug)]
pub(crate) struct Outline<'a> {
    /// Namespace and name.
    pub(crate) key: ObjectKey,
    /// `metadata.resourceVersion`.
    pub(crate) version: u64,
    /// What it has too much of.
    pub(crate) excess: Option<Excess>,
    /// The measure of its text but for field managers' entries, or a bound of that; see [`Shape::bound`].
    pub(crate) shape: Shape,
    /// Its fields but for `metadata`; of an object that is too much only `apiVersion` and `kind`.
    pub(crate) fields: Fields<'a>,
    /// The fields of its metadata; of an object that is too much those that Kubernetes knows.
    pub(crate) metadata: Fields<'a>,
    /// The fields of its status that are small, if it is too much.
    pub(crate) status: Option<Fields<'a>>,
    /// Whether `status.conditions` is among those fields, if there is one.
    pub(crate) holds_conditions: bool,
}

/// An object and its metadata, without their fields.
const FRAME: Shape = Shape { depth: 2, values: 2, objects: 2, bytes: 0 };

/// What is held of the status of an object that is too much: bytes, values and levels of each field.
const SMALL: Shape = Shape { depth: 60, values: 20_000, objects: usize::MAX, bytes: 256 << 10 };

/// Field managers' entries are not held and do not count; they nest deeper than the object itself.
pub(crate) const MANAGED: &str = "managedFields";

/// The fields of `metadata` (meta/v1, ObjectMeta).
const METADATA: [&str; 15] = [
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "labels",
    MANAGED,
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];

fn each_field<'a>(json: &'a str, mut take: impl FnMut(Cow<'a, str>, &'a RawValue)) -> Result<(), serde_json::Error> {
    each::fields(json.as_bytes(), |name, value| {
        take(name, value);
        true
    })
}

impl<'de: 'a, 'a> Deserialize<'de> for Parts<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Whole;

        impl<'de> Visitor<'de> for Whole {
            type Value = Parts<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Parts<'de>, A::Error> {
                let mut parts = Parts { holds_conditions: true, ..Parts::default() };
                while let Some(Text(name)) = map.next_key()? {
                    if name == "metadata" {
                        parts.metadata = map.next_value()?;
                    } else {
                        parts.fields.0.insert(name, map.next_value()?);
                    }
                }
                Ok(parts)
            }
        }
        deserializer.deserialize_map(Whole)
    }
}

impl<'a> Parts<'a> {
    /// The measure of all that is held of an object of so many bytes, or a bound of that where it is little.
    fn shape(&self, bytes: usize) -> Shape {
        let bound = self.sum(bytes, Shape::bound);
        // Each field's bound may be a little too much; of many fields that is not little any more.
        if bound.excess().is_none() && bound.tree() < LITTLE { bound } else { self.sum(bytes, Shape::of) }
    }

    fn sum(&self, bytes: usize, of: impl Fn(&[u8]) -> Shape) -> Shape {
        let mut shape = Shape { bytes, ..FRAME };
        for (_, value) in self.fields.iter() {
            shape.add(of(value.get().as_bytes()), 1);
        }
        for (name, value) in self.metadata.iter() {
            if name == MANAGED {
                shape.bytes = shape.bytes.saturating_sub(value.get().len());
            } else {
                shape.add(of(value.get().as_bytes()), 2);
            }
        }
        shape
    }

    /// Measures an object that may be too much, and picks what is held of it if it is.
    fn measured(raw: &'a str) -> Result<(Shape, Self), ObjectError> {
        let mut parts = Self { holds_conditions: true, ..Self::default() };
        let mut shape = Shape { bytes: raw.len(), ..FRAME };
        let (mut metadata, mut status) = (None, None);
        each_field(raw, |name, value| match &*name {
            "metadata" => metadata = Some(value),
            "status" => status = Some(value),
            _ => {
                shape.add(Shape::of(value.get().as_bytes()), 1);
                if matches!(&*name, "apiVersion" | "kind") {
                    parts.fields.0.insert(name, value);
                }
            }
        })?;
        if let Some(metadata) = metadata {
            each_field(metadata.get(), |name, value| {
                if name != MANAGED {
                    shape.add(Shape::of(value.get().as_bytes()), 2);
                }
                if METADATA.contains(&&*name) {
                    parts.metadata.0.insert(name, value);
                }
            })?;
        }
        let mut small = Fields::default();
        if let Some(status) = status {
            shape.add(Shape::of(status.get().as_bytes()), 1);
            let mut room = SMALL.values;
            // A status that is no object is nothing that anybody reads.
            let _ = each_field(status.get(), |name, value| {
                let shape = Shape::of(value.get().as_bytes());
                if shape.depth <= SMALL.depth && shape.values <= room && shape.bytes <= SMALL.bytes {
                    room -= shape.values;
                    small.0.insert(name, value);
                } else if name == "conditions" {
                    parts.holds_conditions = false;
                }
            });
        }
        parts.status = Some(small);
        Ok((shape, parts))
    }
}

impl<'a> Outline<'a> {
    /// Looks through an object as an API server sent it.
    pub(crate) fn read(raw: &'a str) -> Result<Self, ObjectError> {
        // However many fields a short text has, they are few.
        let long = raw.len() > LITTLE && Shape::bound(raw.as_bytes()).excess().is_some();
        let whole = || serde_json::from_str::<Parts<'_>>(raw);
        let little = if long { None } else { Some(whole()?) };
        let little = little.map(|parts| (parts.shape(raw.len()), parts)).filter(|(shape, _)| shape.excess().is_none());
        let (shape, parts) = if let Some(little) = little {
            little
        } else {
            let (shape, few) = Parts::measured(raw)?;
            (shape, if shape.excess().is_some() { few } else { whole()? })
        };
        let excess = shape.excess();
        let Parts { fields, metadata, status, holds_conditions } = parts;
        let text =
            |name| metadata.get(name).map(|raw| serde_json::from_str(raw.get()).map(|Text(text)| text)).transpose();
        let name: Cow<'_, str> = text("name")?.ok_or_else(|| serde_json::Error::missing_field("name"))?;
        let namespace = text("namespace")?.unwrap_or_default();
        let key = ObjectKey::new(&*namespace, &*name);
        let version = text("resourceVersion")?.unwrap_or_default();
        let version = version.parse().map_err(|_| ObjectError::Version(version.into_owned()))?;
        Ok(Self { key, version, excess, shape, fields, metadata, status, holds_conditions })
    }

    /// `metadata.uid`, or empty.
    pub(crate) fn uid(&self) -> Result<Box<str>, ObjectError> {
        let uid = self.metadata.get("uid").map(|raw| serde_json::from_str(raw.get())).transpose()?;
        Ok(uid.unwrap_or_default())
    }

    /// `metadata.generation`, 0 where there is none.
    pub(crate) fn generation(&self) -> u64 {
        self.metadata.get("generation").and_then(|raw| raw.get().parse().ok()).unwrap_or_default()
    }

    /// Whether `metadata.deletionTimestamp` is set.
    pub(crate) fn is_deleting(&self) -> bool {
        self.metadata.get("deletionTimestamp").is_some_and(|raw| raw.get() != "null")
    }

    /// Whether `metadata.finalizers` names any.
    pub(crate) fn has_finalizers(&self) -> Result<bool, ObjectError> {
        let Some(raw) = self.metadata.get("finalizers") else { return Ok(false) };
        let finalizers: Option<Vec<IgnoredAny>> = serde_json::from_str(raw.get())?;
        Ok(finalizers.is_some_and(|finalizers| !finalizers.is_empty()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_who_it_is() {
        let raw = r#"{"kind":"K","metadata":{"name":"a\u0062","namespace":"n","resourceVersion":"7","deletionTimestamp":null,
            "finalizers":[]},"spec":{}}"#;
        let outline = Outline::read(raw).unwrap();
        assert_eq!((outline.key, outline.version), (ObjectKey::new("n", "ab"), 7));
        let names: Vec<_> = outline.fields.iter().map(|(name, _)| name.to_owned()).collect();
        assert_eq!(names, ["kind", "spec"]);
        let with = |fields: &str| format!(r#"{{"metadata":{{"name":"a","resourceVersion":"1"{fields}}}}}"#);
        for (fields, deleting, finalizers) in [
            ("", false, false),
            (r#","deletionTimestamp":null,"finalizers":null"#, false, false),
            (r#","deletionTimestamp":"2026-01-01T00:00:00Z","finalizers":[]"#, true, false),
            (r#","finalizers":["theirs"]"#, false, true),
        ] {
            let raw = with(fields);
            let outline = Outline::read(&raw).unwrap();
            assert_eq!((outline.is_deleting(), outline.has_finalizers().unwrap()), (deleting, finalizers), "{fields}");
        }
        assert!(Outline::read(&with(r#","finalizers":7"#)).unwrap().has_finalizers().is_err());
    }

    #[test]
    fn of_two_fields_of_one_name_the_last_counts() {
        let raw = r#"{"metadata":{"name":"a","name":"b","resourceVersion":"1"},"spec":1,"spec":2}"#;
        let outline = Outline::read(raw).unwrap();
        assert_eq!((&*outline.key.name, outline.fields.get("spec").unwrap().get()), ("b", "2"));
    }

    #[test]
    fn many_fields_are_measured_exactly() {
        let spec = |number| format!(r#""f{number}":"{}""#, "{".repeat(97));
        let fields: Vec<String> = (0..2000).map(spec).collect();
        let raw = format!(r#"{{"metadata":{{"name":"a","resourceVersion":"1"}},{}}}"#, fields.join(","));
        let outline = Outline::read(&raw).unwrap();
        // The object, its metadata with two fields, and two thousand texts.
        assert_eq!((outline.shape.objects, outline.shape.values), (2, 2004));
        let raw = r#"{"metadata":{"name":"a","resourceVersion":"1","labels":{"x":"1"}},"spec":{"a":[1,2]}}"#;
        let (shape, whole) = (Outline::read(raw).unwrap().shape, Shape::of(raw.as_bytes()));
        assert_eq!((shape.objects, shape.depth), (whole.objects, whole.depth));
        assert!(shape.values >= 9 && shape.tree() >= whole.tree() - 64, "{shape:?} {whole:?}");
    }

    #[test]
    fn long_and_deep_entries_of_field_managers_do_not_count() {
        let deep = format!("{}{}", "[".repeat(300), "]".repeat(300));
        let managed = vec![format!(r#"{{"fieldsV1":{deep}}}"#); 200].join(",");
        assert!(managed.len() > LITTLE);
        for managed in [managed, deep] {
            let metadata = format!(r#"{{"name":"a","resourceVersion":"1","managedFields":[{managed}]}}"#);
            let raw = format!(r#"{{"metadata":{metadata},"spec":{{"x":1}}}}"#);
            let outline = Outline::read(&raw).unwrap();
            assert!(outline.excess.is_none() && outline.fields.get("spec").is_some());
            assert!(outline.shape.depth <= 3 && outline.shape.objects == 3, "{:?}", outline.shape);
        }
    }

    #[test]
    fn what_is_no_object_is_an_error() {
        for raw in ["", "[]", "{}", r#"{"metadata":null}"#, r#"{"metadata":{"name":"a","resourceVersion":"1"}} {}"#] {
            assert!(matches!(Outline::read(raw), Err(ObjectError::Json(_))), "{raw}");
        }
        // A bookmark.
        let nameless = Outline::read(r#"{"metadata":{"resourceVersion":"1"}}"#).unwrap_err();
        assert!(nameless.to_string().contains("name"), "{nameless}");
        assert!(matches!(Outline::read(r#"{"metadata":{"name":"a"}}"#), Err(ObjectError::Version(_))));
    }
}
