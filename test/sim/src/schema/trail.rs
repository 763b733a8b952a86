//! `Trail`: where in an object something is. It is written out only where something is wrong there.

use std::fmt;

/// Such as `spec.ports[0].name`.
#[derive(Debug, Clone, Copy)]
pub(super) enum Trail<'a> {
    Root,
    Field(&'a Trail<'a>, &'a str),
    Item(&'a Trail<'a>, usize),
}

impl fmt::Display for Trail<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Field(Self::Root, name) => f.write_str(name),
            Self::Field(above, name) => write!(f, "{above}.{name}"),
            Self::Item(above, at) => write!(f, "{above}[{at}]"),
        }
    }
}

impl From<&Trail<'_>> for String {
    fn from(trail: &Trail<'_>) -> Self {
        trail.to_string()
    }
}
