//! `Place`: where in an object something is, as people are told.

use std::{borrow::Cow, fmt};

/// How much of a name, and of a path, is told, in characters.
pub(super) const NAME: usize = 64;
pub(super) const PATH: usize = 256;

pub(super) fn cut(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
    }
}

/// Where in an object, as a list from the leaf to the root: written out only where something is lost.
#[derive(Clone, Copy)]
pub(super) enum Place<'a> {
    Root,
    Field(&'a Place<'a>, &'a str),
    Element(&'a Place<'a>, usize),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Field(Self::Root, name) => f.write_str(&cut(name, NAME)),
            Self::Field(parent, name) => write!(f, "{parent}.{}", cut(name, NAME)),
            Self::Element(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}
