//! `Manifest`: what is applied in a member, from the files of `config/rbac`.

use anyhow::{Context as _, anyhow, bail};
use broker_api::Role;
use serde_json::Value;

use crate::{
    permissions::{Kinds, Rule, roles},
    resource::Resource,
};

/// What a member is given, in the order in which it is applied.
#[derive(Debug)]
pub(crate) struct Manifest {
    /// The objects.
    pub(crate) documents: Vec<Value>,
}

/// The file for a role, as it is in the repository.
fn file(role: Role) -> &'static str {
    match role {
        Role::Consumer => include_str!("../../config/rbac/consumer.yaml"),
        Role::Provider => include_str!("../../config/rbac/provider.yaml"),
        Role::Spoke => include_str!("../../config/rbac/spoke.yaml"),
        Role::Coordination | Role::Compute => "",
    }
}

const RBAC: &str = "rbac.authorization.k8s.io";

/// ClusterRoles, as they are asked for.
pub(crate) fn cluster_roles() -> Resource {
    Resource::named(RBAC, "v1", "ClusterRole", "clusterroles").cluster_wide()
}

/// How an object's kind is asked for.
pub(crate) fn resource(document: &Value) -> anyhow::Result<Resource> {
    Ok(match document["kind"].as_str().unwrap_or_default() {
        "Namespace" => Resource::named("", "v1", "Namespace", "namespaces").cluster_wide(),
        "ServiceAccount" => Resource::named("", "v1", "ServiceAccount", "serviceaccounts"),
        "Secret" => Resource::named("", "v1", "Secret", "secrets"),
        "ClusterRole" => cluster_roles(),
        "ClusterRoleBinding" => Resource::named(RBAC, "v1", "ClusterRoleBinding", "clusterrolebindings").cluster_wide(),
        other => bail!("config/rbac: kind {other:?} is not known here"),
    })
}

/// `ClusterRole resource-broker-consumer`, `Secret resource-broker-system/resource-broker-token`.
pub(crate) fn called(document: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let metadata = &document["metadata"];
    let namespace = metadata["namespace"].as_str().map(|namespace| format!("{namespace}/")).unwrap_or_default();
    format!("{} {namespace}{}", text(&document["kind"]), text(&metadata["name"]))
}

impl Manifest {
    /// For a role, with these kinds; without any as the file has them.
    pub(crate) fn of(role: Role, kinds: Option<&Kinds>) -> anyhow::Result<Self> {
        let read: Vec<Value> =
            serde_saphyr::from_multiple(file(role)).map_err(|error| anyhow!("config/rbac for a {role}: {error}"))?;
        let mut documents: Vec<Value> = read.into_iter().filter(|document| !document.is_null()).collect();
        let roles = roles(role, kinds);
        for document in documents.iter_mut().filter(|document| document["kind"] == "ClusterRole") {
            if let Some((_, rules)) = roles.iter().find(|(name, _)| document["metadata"]["name"] == **name) {
                document["rules"] = rules.iter().map(Rule::as_value).collect();
            }
        }
        Ok(Self { documents })
    }

    /// The Secret that the token is put into.
    pub(crate) fn token(&self) -> anyhow::Result<&Value> {
        self.of_kind("Secret").next().context("config/rbac: there is no Secret for the token")
    }

    /// Its objects of a kind.
    pub(crate) fn of_kind<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.documents.iter().filter(move |document| document["kind"] == *kind)
    }

    /// What removes it again, a command a line. The namespace is left: others may have something in it, and in the
    /// coordination cluster it holds the signing key.
    pub(crate) fn removal(&self) -> Vec<String> {
        let names = |kind: &str| {
            let names = self.of_kind(kind).filter_map(|document| document["metadata"]["name"].as_str());
            names.collect::<Vec<_>>().join(" ")
        };
        let namespace = names("Namespace");
        vec![
            format!("kubectl --context CONTEXT delete clusterrolebinding {}", names("ClusterRoleBinding")),
            format!("kubectl --context CONTEXT delete clusterrole {}", names("ClusterRole")),
            format!("kubectl --context CONTEXT -n {namespace} delete secret {}", names("Secret")),
            format!("kubectl --context CONTEXT -n {namespace} delete serviceaccount {}", names("ServiceAccount")),
        ]
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::permissions::Plural;

    const ROLES: [Role; 3] = [Role::Consumer, Role::Provider, Role::Spoke];

    #[test]
    fn without_kinds_it_is_what_the_file_says() {
        for role in ROLES {
            let read: Vec<Value> = serde_saphyr::from_multiple(file(role)).unwrap();
            let documents: Vec<Value> = read.into_iter().filter(|document| !document.is_null()).collect();
            assert_eq!(Manifest::of(role, None).unwrap().documents, documents, "{role}");
        }
    }

    #[test]
    fn all_of_it_can_be_applied_and_removed() {
        for role in ROLES {
            let manifest = Manifest::of(role, None).unwrap();
            for document in &manifest.documents {
                let (path, name) = (resource(document).unwrap(), document["metadata"]["name"].as_str().unwrap());
                assert_eq!(path.namespaced, !document["metadata"]["namespace"].is_null(), "{}", called(document));
                let removed = manifest.removal().concat().contains(name);
                assert!(removed || document["kind"] == "Namespace", "{}", called(document));
            }
            assert!(called(manifest.token().unwrap()).starts_with("Secret resource-broker-system/"));
            assert!(!manifest.removal().concat().contains("delete namespace"), "what others have there stays");
        }
    }

    #[test]
    fn the_role_for_kinds_names_those_that_are_brokered() {
        let plural = Plural { group: "db.example.org".into(), plural: "stores".into() };
        let kinds = Kinds { brokered: vec![plural], related: Vec::new() };
        let manifest = Manifest::of(Role::Consumer, Some(&kinds)).unwrap();
        let text = serde_json::to_string(&manifest.documents).unwrap();
        assert!(
            text.contains("stores/status") && !text.contains("certificates") && !text.contains("\"secrets\""),
            "{text}"
        );
    }
}
