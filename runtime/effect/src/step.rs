//! `Step`: something to do.

use broker_api::ClusterName;

use crate::{kind::Kind, object_key::ObjectKey, write::Write};

/// Something to do. `S` says what a write may be about.
#[derive(Debug, Clone, PartialEq)]
pub enum Step<S> {
    /// Write.
    Write(Box<Write<S>>),
    /// Write these, at one API server, in any order: none waits for another, and one that fails keeps no other from going out.
    /// After several that do, the API server is left alone.
    Together(Vec<Write<S>>),
    /// Read the object that is decided on from its API server before anything is deleted on the word of a cache, then decide
    /// again with the answer: see [`Confirmed`].
    Confirm,
    /// Read another object from its API server before what follows is written on the word of a cache. Where it is not there any
    /// more, nothing that follows is: what has become of it the watch will tell.
    Expect(Box<Expected>),
}

/// An object that is there, as far as is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// Where.
    pub cluster: ClusterName,
    /// What kind.
    pub kind: Kind,
    /// Its namespace and name.
    pub object: ObjectKey,
    /// Its uid: another of that name is another object.
    pub uid: Box<str>,
}

impl Expected {
    /// Whether a live read has found it.
    pub fn is_there(&self, found: &Confirmed) -> bool {
        matches!(found, Confirmed::Present(uid) if *uid == self.uid)
    }
}

impl<S> From<Write<S>> for Step<S> {
    fn from(write: Write<S>) -> Self {
        Self::Write(Box::new(write))
    }
}

impl<S> Step<S> {
    /// What is written.
    pub fn writes(&self) -> &[Write<S>] {
        match self {
            Self::Write(write) => std::slice::from_ref(write),
            Self::Together(writes) => writes,
            Self::Confirm | Self::Expect(_) => &[],
        }
    }
}

/// What a live read said of the object that is decided on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Confirmed {
    /// Nobody has read it.
    #[default]
    Unread,
    /// Its API server says that there is none.
    Absent,
    /// Its API server has one with this uid.
    Present(Box<str>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_of_the_same_name_is_another_object() {
        let expected = Expected {
            cluster: ClusterName::provider("a"),
            kind: Kind::core("ConfigMap"),
            object: ObjectKey::new("n", "one"),
            uid: "u".into(),
        };
        let found = ["u", "v"].map(|uid| expected.is_there(&Confirmed::Present(uid.into())));
        assert_eq!(found, [true, false]);
        assert!(!expected.is_there(&Confirmed::Absent) && !expected.is_there(&Confirmed::Unread));
    }
}
