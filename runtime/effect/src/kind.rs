//! `Kind`: a group, version and kind.

use broker_api::Gvk;
use kube::core::GroupVersionKind;

/// A group, version and kind that is ordered, so that keys are.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Kind {
    /// API group; empty for the core group.
    pub group: String,
    /// API version.
    pub version: String,
    /// Kind.
    pub kind: String,
}

impl Kind {
    /// A kind of the core group.
    pub fn core(kind: &str) -> Self {
        Self { group: String::new(), version: "v1".into(), kind: kind.into() }
    }

    /// As the Kubernetes client has it.
    pub fn to_gvk(&self) -> GroupVersionKind {
        GroupVersionKind::gvk(&self.group, &self.version, &self.kind)
    }

    /// `v1`, or `group/version`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }
}

impl From<&Gvk> for Kind {
    fn from(gvk: &Gvk) -> Self {
        Self { group: gvk.group.clone(), version: gvk.version.clone(), kind: gvk.kind.clone() }
    }
}

impl From<&GroupVersionKind> for Kind {
    fn from(gvk: &GroupVersionKind) -> Self {
        Self { group: gvk.group.clone(), version: gvk.version.clone(), kind: gvk.kind.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_core_group_is_not_named() {
        let other = Kind { group: "apps".to_owned(), version: "v1".to_owned(), kind: "Deployment".to_owned() };
        assert_eq!([Kind::core("Secret").api_version(), other.api_version()], ["v1", "apps/v1"]);
    }
}
