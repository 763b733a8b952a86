//! Reading JSON lists element by element: what a list of a stranger holds is looked at and dropped, never gathered.

use std::{borrow::Cow, fmt, marker::PhantomData};

use serde::de::{Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Hands each element of a list to a function. `null` is an empty list.
pub(crate) struct Each<T, F> {
    take: F,
    of: PhantomData<T>,
}

impl<T, F> Each<T, F> {
    pub(crate) fn new(take: F) -> Self {
        Self { take, of: PhantomData }
    }
}

impl<'de, T: Deserialize<'de>, F: FnMut(T)> DeserializeSeed<'de> for Each<T, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, T: Deserialize<'de>, F: FnMut(T)> Visitor<'de> for Each<T, F> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        while let Some(element) = list.next_element()? {
            (self.take)(element);
        }
        Ok(())
    }
}

/// Hands each field of an object to a function, which says whether it goes on.
struct Fields<T, F> {
    take: F,
    of: PhantomData<T>,
}

/// Reads an object field by field; see [`Fields`].
pub(crate) fn fields<'de, T: Deserialize<'de>>(
    json: &'de [u8],
    take: impl FnMut(Cow<'de, str>, T) -> bool,
) -> Result<(), serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    fields_of(&mut deserializer, take)?;
    deserializer.end()
}

/// The same where the object lies within what is read.
pub(crate) fn fields_of<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
    take: impl FnMut(Cow<'de, str>, T) -> bool,
) -> Result<(), D::Error> {
    Fields { take, of: PhantomData }.deserialize(deserializer)
}

impl<'de, T: Deserialize<'de>, F: FnMut(Cow<'de, str>, T) -> bool> DeserializeSeed<'de> for Fields<T, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, T: Deserialize<'de>, F: FnMut(Cow<'de, str>, T) -> bool> Visitor<'de> for Fields<T, F> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut fields: A) -> Result<(), A::Error> {
        while let Some(Text(name)) = fields.next_key()? {
            if !(self.take)(name, fields.next_value()?) {
                return Err(serde::de::Error::custom("it has too many fields"));
            }
        }
        Ok(())
    }
}

/// A list within an object.
struct Within<T, B, F> {
    list: &'static str,
    beside: &'static str,
    take: F,
    of: PhantomData<(T, B)>,
}

/// Reads such an object: hands each element of the field `list` to a function, and yields the field `beside` it.
pub(crate) fn within<'de, T: Deserialize<'de>, B: Deserialize<'de>>(
    json: &'de [u8],
    list: &'static str,
    beside: &'static str,
    take: impl FnMut(T),
) -> Result<Option<B>, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    let beside = deserializer.deserialize_map(Within { list, beside, take, of: PhantomData })?;
    deserializer.end()?;
    Ok(beside)
}

impl<'de, T: Deserialize<'de>, B: Deserialize<'de>, F: FnMut(T)> Visitor<'de> for Within<T, B, F> {
    type Value = Option<B>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "an object with a list {}", self.list)
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut fields: A) -> Result<Option<B>, A::Error> {
        let mut beside = None;
        while let Some(Text(name)) = fields.next_key()? {
            if name == self.list {
                fields.next_value_seed(Each::new(&mut self.take))?;
            } else if name == self.beside {
                beside = Some(fields.next_value()?);
            } else {
                fields.next_value::<IgnoredAny>()?;
            }
        }
        Ok(beside)
    }
}

/// A text, such as a field's name, borrowed where it holds no escapes.
#[derive(serde::Deserialize)]
#[serde(transparent)]
pub(crate) struct Text<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_come_one_by_one() {
        let mut seen = Vec::new();
        let json = br#"{"kind":["x"],"items":[1,2],"version":7}"#;
        let beside: Option<u8> = within(json, "items", "version", |item: u8| seen.push(item)).unwrap();
        assert_eq!((beside, seen), (Some(7), vec![1, 2]));
        let read = |json: &'static [u8]| within::<u8, u8>(json, "items", "version", |_| {});
        assert_eq!(read(br#"{"items":null}"#).unwrap(), None);
        assert!(read(br#"{"items":[1}"#).is_err() && read(b"{} {}").is_err());
    }

    #[test]
    fn fields_end_where_they_are_too_many() {
        let mut count = 0;
        let taken = fields(br#"{"a":1,"b":2,"c":3}"#, |_, _: u8| {
            count += 1;
            count < 2
        });
        assert!(taken.is_err());
        assert_eq!(count, 2);
    }
}
