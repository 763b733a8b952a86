//! `Type`: what a value of an expression can be.

use std::sync::Arc;

use super::{native::Native, structure::Struct};

/// What a value of an expression can be. Cheap to clone: what is inside is shared.
///
/// Its text is cel-go's: `list(int)`, `map(string, dyn)`, `google.protobuf.Timestamp`, `__type_schema.spec`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Type {
    /// Anything: known only when it is evaluated.
    Dyn,
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool,
    /// A whole number of 64 bits.
    Int,
    /// One that is not negative.
    Uint,
    /// A number with a fraction.
    Double,
    /// A text.
    String,
    /// Bytes; base64 in JSON.
    Bytes,
    /// A moment.
    Timestamp,
    /// A length of time.
    Duration,
    /// A list of these.
    List(Arc<Type>),
    /// A map of these keys to these values.
    Map(Arc<(Type, Type)>),
    /// One of these or nothing.
    Optional(Arc<Type>),
    /// A type itself: `type(1)`, `int`.
    Type(Arc<Type>),
    /// An object with fields that are known by name.
    Struct(Struct),
    /// A value that functions make and take: `url("…")`.
    Native(Native),
    /// Whatever the arguments of a function make of it. Stands in signatures only: what [`super::check()`] returns has none.
    Param(u32),
}

impl Type {
    /// A list of these.
    pub fn list(element: Type) -> Self {
        Self::List(Arc::new(element))
    }

    /// A map of these keys to these values.
    pub fn map(key: Type, value: Type) -> Self {
        Self::Map(Arc::new((key, value)))
    }

    /// One of these or nothing.
    pub fn optional(value: Type) -> Self {
        Self::Optional(Arc::new(value))
    }

    /// This type as a value.
    pub fn of(instance: Type) -> Self {
        Self::Type(Arc::new(instance))
    }

    /// Without the optionals around it: what is there if something is.
    pub fn held(&self) -> &Type {
        let mut held = self;
        while let Self::Optional(inner) = held {
            held = inner;
        }
        held
    }
}
