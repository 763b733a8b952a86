//! `Type`: what a value of an expression can be; with the two kinds of types that have names: objects, and what functions make.

use std::{collections::BTreeMap, fmt, sync::Arc};

use super::{escape, name::Name};

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

    /// Whether it is dyn, or holds what is; of an object's fields nothing is said.
    pub(super) fn is_open(&self) -> bool {
        match self {
            Self::Dyn => true,
            Self::List(inner) | Self::Optional(inner) | Self::Type(inner) => inner.is_open(),
            Self::Map(entry) => entry.0.is_open() || entry.1.is_open(),
            _ => false,
        }
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

/// An object with fields that are known by name. Two are the same if they have the same name: where in which variable's
/// schema they stand.
#[derive(Clone)]
pub struct Struct(Arc<Definition>);

struct Definition {
    name: Name,
    /// By their names in JSON.
    fields: BTreeMap<String, Field>,
    open: bool,
}

/// A field of a [`Struct`].
#[derive(Debug, Clone)]
pub struct Field {
    /// What it holds.
    pub value: Type,
    /// Whether it must be written: no default stands in for it.
    pub required: bool,
}

impl Struct {
    pub(super) fn new(name: Name, fields: BTreeMap<String, Field>, open: bool) -> Self {
        Self(Arc::new(Definition { name, fields, open }))
    }

    /// Where it stands: `__type_deploy.spec.template.spec.containers.@idx`.
    pub fn name(&self) -> &Name {
        &self.0.name
    }

    /// Its fields by their names in JSON, sorted.
    pub fn fields(&self) -> &BTreeMap<String, Field> {
        &self.0.fields
    }

    /// Whether it may hold fields that are not named.
    pub fn is_open(&self) -> bool {
        self.0.open
    }

    /// What an expression finds in a field that it writes so: escaped as Kubernetes has it, or a plain reserved word.
    pub(super) fn select(&self, written: &str) -> Option<Type> {
        let named = |name: &str| self.0.fields.get(name).map(|field| field.value.clone());
        let found = match escape::unescape(written) {
            Some(name) if escape::is_visible(&name) => named(&name),
            None if escape::is_reserved(written) => named(written),
            _ => None,
        };
        found.or_else(|| self.0.open.then_some(Type::Dyn))
    }
}

impl PartialEq for Struct {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.name == other.0.name
    }
}

impl Eq for Struct {}

impl fmt::Debug for Struct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0.name, f)
    }
}

/// A value that only functions make and take; none of these has a form in JSON but a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Native {
    /// `url("https://…")`
    Url,
    /// `quantity("1Gi")`
    Quantity,
    /// `semver("1.2.3")`
    Semver,
    /// `ip("10.0.0.1")`
    Ip,
    /// `cidr("10.0.0.0/8")`
    Cidr,
    /// The variable `runtime`.
    Runtime,
    /// `runtime.newCondition({…})`
    Condition,
}

/// The fields of a [`Native::Condition`], all of them texts.
pub(super) const CONDITION_FIELDS: &[&str] = &["type", "status", "reason", "message"];

impl Native {
    /// All of them.
    pub(super) const ALL: &[Self] =
        &[Self::Url, Self::Quantity, Self::Semver, Self::Ip, Self::Cidr, Self::Runtime, Self::Condition];

    /// How expressions and messages name the type.
    pub fn name(self) -> &'static str {
        match self {
            Self::Url => "kubernetes.URL",
            Self::Quantity => "kubernetes.Quantity",
            Self::Semver => "kubernetes.Semver",
            Self::Ip => "net.IP",
            Self::Cidr => "net.CIDR",
            Self::Runtime => "kro.run.Runtime",
            Self::Condition => "kro.run.Condition",
        }
    }

    /// Whether CEL takes it for an object, the fields of which may be asked for; else it is opaque.
    pub(super) fn is_object(self) -> bool {
        !matches!(self, Self::Ip | Self::Cidr)
    }

    /// The type of a field; none of them has any but a condition.
    pub(super) fn field(self, name: &str) -> Option<Type> {
        (self == Self::Condition && CONDITION_FIELDS.contains(&name)).then_some(Type::String)
    }
}
