//! `Seen`: what is known of an object.

use crate::view::View;

/// What is known of an object. `Unknown` is never `Absent`.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Seen {
    /// Nobody can tell: not listed yet, or not reachable.
    #[default]
    Unknown,
    /// There is none.
    Absent,
    /// There is one.
    Present(View),
}

impl Seen {
    /// The object, if there is one.
    pub fn present(&self) -> Option<&View> {
        match self {
            Self::Present(view) => Some(view),
            Self::Unknown | Self::Absent => None,
        }
    }
}
