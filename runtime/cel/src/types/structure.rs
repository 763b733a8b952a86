//! `Struct`: an object with fields that are known by name.

use std::{collections::BTreeMap, fmt, sync::Arc};

use super::{cel_type::Type, escape};

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

/// Where a [`Struct`] stands. It shares the names around it: a deep schema with long names does not repeat them.
#[derive(Clone)]
pub struct Name(Arc<Segment>);

struct Segment {
    parent: Option<Name>,
    text: String,
}

impl Name {
    pub(super) fn root(text: &str) -> Self {
        Self(Arc::new(Segment { parent: None, text: text.to_owned() }))
    }

    pub(super) fn child(&self, text: &str) -> Self {
        Self(Arc::new(Segment { parent: Some(self.clone()), text: text.to_owned() }))
    }

    /// From the last one to the root.
    fn segments(&self) -> impl Iterator<Item = &str> {
        std::iter::successors(Some(self), |name| name.0.parent.as_ref()).map(|name| name.0.text.as_str())
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.segments().eq(other.segments())
    }
}

impl Eq for Name {}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let segments: Vec<&str> = self.segments().collect();
        f.write_str("__type_")?;
        for (index, segment) in segments.iter().rev().enumerate() {
            if index > 0 {
                f.write_str(".")?;
            }
            f.write_str(segment)?;
        }
        Ok(())
    }
}
