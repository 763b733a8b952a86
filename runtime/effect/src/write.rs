//! `Write`: one write that was decided on.

use broker_api::ClusterName;
use serde_json::Value;

use crate::{kind::Kind, note::Note, size, view::View};

/// One write, with the precondition under which it was decided. `S` says what it may be about.
#[derive(Debug, Clone, PartialEq)]
pub struct Write<S> {
    /// Where.
    pub cluster: ClusterName,
    /// What kind.
    pub kind: Kind,
    /// Namespace of the object.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
    /// How.
    pub op: Op,
    /// Digest of what is wanted: the same again is a repeat.
    pub intent: [u8; 8],
    /// What it is about.
    pub subject: S,
    /// What to tell once it went through.
    pub notes: Vec<Note>,
}

impl<S> Write<S> {
    /// Bytes that it takes in memory, about.
    pub fn size(&self) -> usize {
        let body = match &self.op {
            Op::Create(body) | Op::Apply { body, .. } | Op::Merge(body) | Op::MergeStatus(body) => size::held(body),
            Op::Delete { .. } => 0,
        };
        size_of::<Self>() + body
    }
}

/// How an object is written.
#[derive(Debug, Clone, PartialEq)]
pub enum Op {
    /// Server-side apply of an object that must not exist.
    Create(Value),
    /// Server-side apply of the object with this uid.
    Apply {
        /// What is applied.
        body: Value,
        /// The object's uid.
        uid: Box<str>,
    },
    /// JSON merge patch; it names the resource version it was computed from.
    Merge(Value),
    /// JSON merge patch of the status; it names the resource version it was computed from.
    MergeStatus(Value),
    /// Delete the object with this uid.
    Delete {
        /// The object's uid.
        uid: Box<str>,
        /// Its resource version, where what has been changed in it may be a reason to keep it.
        version: Option<u64>,
    },
}

impl Op {
    /// Deletes the object with this uid, whatever has become of it.
    pub fn delete(uid: impl Into<Box<str>>) -> Self {
        Self::Delete { uid: uid.into(), version: None }
    }

    /// Deletes the object as it was seen. Whoever has changed it since may have made it his; and where we have changed it
    /// ourselves it is wanted again, while a network may still deliver what was sent before.
    pub fn delete_seen(object: &View) -> Self {
        Self::Delete { uid: object.uid.clone(), version: Some(object.resource_version) }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_write_takes_its_body_beside_itself() {
        let of = |op| Write {
            cluster: ClusterName::consumer("c"),
            kind: Kind { group: "g".into(), version: "v1".into(), kind: "K".into() },
            namespace: String::new(),
            name: "n".to_owned(),
            op,
            intent: [0; 8],
            subject: (),
            notes: Vec::new(),
        };
        let body = json!({"spec": "abc"});
        let sizes = [Op::Create(body.clone()), Op::Create(json!(null))].map(|op| of(op).size());
        assert_eq!(sizes[0] - sizes[1], size::held(&body) - size::held(&json!(null)));
        assert!(sizes[1] >= size_of::<Write<()>>());
    }
}
