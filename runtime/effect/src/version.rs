//! `Version`: which version of which object a patch is for.

use serde_json::{Value, json};

/// One version of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version<'a> {
    /// `metadata.uid`.
    pub uid: &'a str,
    /// `metadata.resourceVersion`.
    pub resource_version: u64,
}

impl Version<'_> {
    /// The same merge patch for this version alone: an API server refuses it (409) once somebody else has written the object,
    /// or another one has its name.
    #[must_use]
    pub fn guard(self, mut patch: Value) -> Value {
        patch["metadata"]["resourceVersion"] = json!(self.resource_version.to_string());
        patch["metadata"]["uid"] = json!(self.uid);
        patch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_names_the_version_beside_what_it_says() {
        let version = Version { uid: "u", resource_version: 7 };
        let guarded = version.guard(json!({"metadata": {"labels": {"a": "b"}}, "status": {"x": 1}}));
        let metadata = json!({"labels": {"a": "b"}, "resourceVersion": "7", "uid": "u"});
        assert_eq!(guarded, json!({"metadata": metadata, "status": {"x": 1}}));
        assert_eq!(version.guard(json!({})), json!({"metadata": {"resourceVersion": "7", "uid": "u"}}));
    }
}
