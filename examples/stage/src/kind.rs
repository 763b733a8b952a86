//! A kind that is brokered in a demo, by the names that different places want.

use kube::Resource;

/// A kind, as flags, CRDs and RBAC rules name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// API group.
    pub group: String,
    /// API version.
    pub version: String,
    /// `Certificate`.
    pub kind: String,
    /// `certificates`.
    pub plural: String,
}

impl Kind {
    /// The kind of a type.
    pub fn of<K: Resource<DynamicType = ()>>() -> Self {
        Self {
            group: K::group(&()).into_owned(),
            version: K::version(&()).into_owned(),
            kind: K::kind(&()).into_owned(),
            plural: K::plural(&()).into_owned(),
        }
    }

    /// As `--watch-kind` takes it: `Certificate.v1alpha1.example.platform-mesh.io`.
    pub fn flag(&self) -> String {
        format!("{}.{}.{}", self.kind, self.version, self.group)
    }

    /// Name of its CRD: `certificates.example.platform-mesh.io`.
    pub fn crd(&self) -> String {
        format!("{}.{}", self.plural, self.group)
    }
}

#[cfg(test)]
mod tests {
    use broker_api::example::Certificate;

    use super::*;

    #[test]
    fn a_kind_has_many_names() {
        let kind = Kind::of::<Certificate>();
        assert_eq!(kind.flag(), "Certificate.v1alpha1.example.platform-mesh.io");
        assert_eq!(kind.crd(), "certificates.example.platform-mesh.io");
    }
}
