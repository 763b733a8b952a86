//! `Resource`: a kind as an API server serves it, and how people call it.

use broker_api::graphs::keys as graphs;
use runtime_effect::kind::Kind;
use serde::Deserialize;

use crate::cluster::{Cluster, Trouble};

/// Aggregated discovery (Kubernetes 1.30): all of it in two answers.
const DISCOVERY: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// A kind as an API server serves it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resource {
    /// Its kind.
    pub(crate) kind: Kind,
    /// As paths have it.
    pub(crate) plural: String,
    /// Further names.
    names: Vec<String>,
    /// Whether its objects are in namespaces.
    pub(crate) namespaced: bool,
    /// Whether its objects can be listed.
    listable: bool,
}

impl Resource {
    /// A kind of a known plural, in namespaces.
    pub(crate) fn named(group: &str, version: &str, kind: &str, plural: &str) -> Self {
        let kind = Kind { group: group.into(), version: version.into(), kind: kind.into() };
        Self { kind, plural: plural.into(), names: Vec::new(), namespaced: true, listable: true }
    }

    /// A kind of the broker's own.
    pub(crate) fn ours(kind: &str, plural: &str) -> Self {
        Self::named(broker_api::keys::GROUP, "v1alpha1", kind, plural)
    }

    /// `CustomResourceDefinition`.
    pub(crate) fn crds() -> Self {
        let (group, kind) = ("apiextensions.k8s.io", "CustomResourceDefinition");
        Self::named(group, "v1", kind, "customresourcedefinitions").cluster_wide()
    }

    /// `ResourceGraphDefinition`.
    pub(crate) fn definitions() -> Self {
        Self::named(graphs::GROUP, "v1alpha1", "ResourceGraphDefinition", "resourcegraphdefinitions").cluster_wide()
    }

    /// `GraphRevision`.
    pub(crate) fn revisions() -> Self {
        Self::named(graphs::INTERNAL_GROUP, "v1alpha1", "GraphRevision", "graphrevisions").cluster_wide()
    }

    /// The same kind, whose objects are in no namespace.
    #[must_use]
    pub(crate) fn cluster_wide(mut self) -> Self {
        self.namespaced = false;
        self
    }

    /// Where it is asked for.
    pub(crate) fn path(&self, namespace: Option<&str>, name: Option<&str>) -> String {
        let Kind { group, version, .. } = &self.kind;
        let mut path = if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
        if let Some(namespace) = namespace.filter(|_| self.namespaced) {
            path.push_str("/namespaces/");
            path.push_str(namespace);
        }
        path.push('/');
        path.push_str(&self.plural);
        if let Some(name) = name {
            path.push('/');
            path.push_str(name);
        }
        path
    }

    /// Whether people call it so: kind, plural, singular or short name in any case, alone, with the group or its
    /// beginning, or with version and group.
    fn is_called(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        let (name, rest) = text.split_once('.').unwrap_or((&text, ""));
        let kind = self.kind.kind.to_lowercase();
        if name != kind && name != self.plural && !self.names.iter().any(|other| other == name) {
            return false;
        }
        let Kind { group, version, .. } = &self.kind;
        let group = if group.is_empty() { "core" } else { group };
        rest.is_empty() || group.starts_with(rest) || rest == format!("{version}.{group}")
    }
}

/// All kinds of an API server, in its order: the preferred version of each first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Resources(Vec<Resource>);

#[derive(Deserialize)]
struct Groups {
    items: Vec<Group>,
}

#[derive(Deserialize)]
struct Group {
    #[serde(default)]
    metadata: Metadata,
    versions: Vec<Version>,
}

#[derive(Deserialize, Default)]
struct Metadata {
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    version: String,
    #[serde(default)]
    resources: Vec<Served>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Served {
    resource: String,
    #[serde(default)]
    response_kind: Option<ResponseKind>,
    scope: String,
    #[serde(default)]
    singular_resource: String,
    #[serde(default)]
    short_names: Vec<String>,
    #[serde(default)]
    verbs: Vec<String>,
}

#[derive(Deserialize)]
struct ResponseKind {
    kind: String,
}

impl Resources {
    /// What an API server serves.
    pub(crate) async fn read(cluster: &Cluster) -> Result<Self, Trouble> {
        let (core, groups) = futures::join!(cluster.ask("/api", DISCOVERY), cluster.ask("/apis", DISCOVERY));
        let (core, groups): (Groups, Groups) = (core?, groups?);
        Ok(Self::of(core.items.into_iter().chain(groups.items)))
    }

    /// These, for tests.
    #[cfg(test)]
    pub(crate) fn these(all: impl IntoIterator<Item = Resource>) -> Self {
        Self(all.into_iter().collect())
    }

    fn of(groups: impl Iterator<Item = Group>) -> Self {
        let mut all = Vec::new();
        for Group { metadata, versions } in groups {
            for Version { version, resources } in versions {
                all.extend(resources.into_iter().filter_map(|served| {
                    let kind = served.response_kind?.kind;
                    let kind = Kind { group: metadata.name.clone(), version: version.clone(), kind };
                    let listable = served.verbs.iter().any(|verb| verb == "list");
                    let names = served.short_names.into_iter().chain([served.singular_resource]).collect();
                    let namespaced = served.scope == "Namespaced";
                    Some(Resource { kind, plural: served.resource, names, namespaced, listable })
                }));
            }
        }
        Self(all)
    }

    /// Whether this one is among them.
    pub(crate) fn is_served(&self, resource: &Resource) -> bool {
        self.0.iter().any(|served| served.kind == resource.kind && served.plural == resource.plural)
    }

    /// The kind that people call so: of several the first, as with kubectl.
    pub(crate) fn called(&self, text: &str) -> Option<&Resource> {
        self.0.iter().find(|resource| resource.listable && resource.is_called(text))
    }

    /// How a kind is served.
    pub(crate) fn of_kind(&self, kind: &Kind) -> Option<&Resource> {
        self.0.iter().find(|resource| resource.kind == *kind)
    }

    /// What is served under this plural in this version.
    pub(crate) fn of_plural(&self, group: &str, version: &str, plural: &str) -> Option<&Resource> {
        let is = |served: &&Resource| served.kind.group == group && served.kind.version == version;
        self.0.iter().filter(is).find(|served| served.plural == plural)
    }

    /// The versions in which a kind is served.
    pub(crate) fn versions(&self, group: &str, kind: &str) -> Vec<&str> {
        let is = |served: &&Resource| served.kind.group == group && served.kind.kind == kind;
        self.0.iter().filter(is).map(|served| &*served.kind.version).collect()
    }

    /// A kind of this group, whatever its version.
    pub(crate) fn of_group_kind(&self, group: &str, kind: &str) -> Option<&Resource> {
        self.0.iter().find(|resource| resource.kind.group == group && resource.kind.kind == kind)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    fn resources() -> Resources {
        let groups: Groups = serde_json::from_value(json!({ "items": [
            { "versions": [{ "version": "v1", "resources": [
                { "resource": "secrets", "responseKind": { "group": "", "version": "v1", "kind": "Secret" }, "scope": "Namespaced",
                  "singularResource": "secret", "verbs": ["get", "list"] },
                { "resource": "namespaces", "responseKind": { "kind": "Namespace" }, "scope": "Cluster",
                  "singularResource": "namespace", "shortNames": ["ns"], "verbs": ["list"] } ] }] },
            { "metadata": { "name": "cert.io" }, "versions": [
                { "version": "v2", "resources": [{ "resource": "certificates", "responseKind": { "kind": "Certificate" }, "scope": "Namespaced",
                  "singularResource": "certificate", "shortNames": ["cert"], "verbs": ["list"] }] },
                { "version": "v1", "resources": [{ "resource": "certificates", "responseKind": { "kind": "Certificate" }, "scope": "Namespaced",
                  "verbs": ["list"] }] } ] },
        ] }))
        .unwrap();
        Resources::of(groups.items.into_iter())
    }

    #[test]
    fn kinds_are_called_as_kubectl_takes_them() {
        let all = resources();
        for text in ["certificate", "Certificate", "certificates", "cert", "certificates.cert.io", "cert.cert"] {
            assert_eq!(all.called(text).map(|found| &*found.kind.version), Some("v2"), "{text}");
        }
        assert_eq!(all.called("certificates.v1.cert.io").map(|found| &*found.kind.version), Some("v1"));
        assert_eq!(all.called("secret").map(|found| &*found.plural), Some("secrets"));
        assert_eq!(all.called("certificates.other.io"), None);
        assert_eq!(all.called("certs"), None);
        assert_eq!(all.versions("cert.io", "Certificate"), ["v2", "v1"]);
        assert!(all.of_plural("cert.io", "v1", "certificates").is_some());
        assert!(all.of_plural("cert.io", "v3", "certificates").is_none());
    }

    #[test]
    fn paths_have_a_namespace_where_the_kind_is_in_one() {
        let all = resources();
        let path = |name: &str| all.called(name).unwrap().path(Some("team"), Some("a"));
        assert_eq!(path("cert"), "/apis/cert.io/v2/namespaces/team/certificates/a");
        assert_eq!(
            (path("secret"), path("ns")),
            ("/api/v1/namespaces/team/secrets/a".into(), "/api/v1/namespaces/a".into())
        );
    }
}
