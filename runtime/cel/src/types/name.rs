//! `Name`: where in which variable's schema a type stands.

use std::{fmt, sync::Arc};

/// Where a [`Struct`](super::Struct) stands. It shares the names around it: a deep schema with long names does not repeat them.
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
