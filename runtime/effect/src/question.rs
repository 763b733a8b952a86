//! `Question`: what an API server is asked itself, because a cache may be behind it.

use broker_api::ClusterName;

use crate::{interest::Interest, kind::Kind};

/// What is read live.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// Whether an object is there.
    Object(Interest),
    /// Whether any of these is there.
    Labelled(Labelled),
}

/// Objects by a label that they carry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labelled {
    /// Where they are.
    pub cluster: ClusterName,
    /// Key and value of the label.
    pub label: (&'static str, String),
    /// What their names begin with.
    pub prefix: String,
    /// Their kinds, each with the namespace that is searched.
    pub places: Vec<(Kind, String)>,
}

impl From<Interest> for Question {
    fn from(object: Interest) -> Self {
        Self::Object(object)
    }
}

impl Question {
    /// Whether it is about this one object.
    pub fn is_about(&self, object: &Interest) -> bool {
        matches!(self, Self::Object(asked) if asked == object)
    }
}
