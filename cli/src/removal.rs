//! `Removal`: what a cluster that leaves was given is taken away again, by the hand of a person who may.

use anyhow::{Context as _, bail, ensure};
use broker_api::{ClusterName, Role};
use serde_json::Value;

use crate::{
    cluster::{Cluster, Place},
    identity::{self, Identity},
    manifest::{self, Manifest, called},
    rights::{Right, denied, told},
};

/// See the module.
pub(crate) struct Removal {
    member: Cluster,
    /// What is there, with its uid, in the order in which it goes.
    there: Vec<(Value, String)>,
    /// In which other role it has joined, with the same account.
    kept_for: Option<Role>,
}

/// Where an object is.
fn place(document: &Value) -> Place<'_> {
    let part = |name: &str| document["metadata"][name].as_str().unwrap_or_default();
    Place { namespace: part("namespace"), name: part("name") }
}

/// What a person needs for it.
fn takes(documents: &[&Value]) -> anyhow::Result<Vec<Right>> {
    let mut rights = Vec::new();
    for document in documents {
        let (resource, at) = (manifest::resource(document)?, place(document));
        for verb in ["get", "delete"] {
            rights.push(Right {
                group: resource.kind.group.clone(),
                resource: resource.plural.clone(),
                namespace: at.namespace.to_owned(),
                name: at.name.to_owned(),
                verb: verb.to_owned(),
            });
        }
    }
    Ok(rights)
}

/// The names of a role's objects of a kind.
fn names(manifest: &Manifest, kind: &'static str) -> Vec<String> {
    manifest.of_kind(kind).map(called).collect()
}

impl Removal {
    /// Looks whether it can be done, before anything is. `known`: the cluster as its Secret in the coordination cluster has it.
    pub(crate) async fn plan(member: Cluster, leaving: &ClusterName, known: Option<&Cluster>) -> anyhow::Result<Self> {
        let uids = match known {
            Some(known) => futures::join!(identity::uid(&member), identity::uid(known)),
            None => (identity::uid(&member).await, Ok(None)),
        };
        let (own, its) = (Identity::of(uids.0, None), Identity::of(uids.1, None));
        ensure!(
            own.uid.is_none() || its.uid.is_none() || own.is(&its),
            "the cluster of --member-context or --member-kubeconfig is not {leaving}: nothing was changed"
        );
        let manifest = Manifest::of(leaving.role(), None)?;
        let kept_for = Self::kept_for(&member, leaving.role(), &manifest).await?;
        // Whoever still holds the token has no right any more as soon as the first is gone.
        let mut kinds = vec!["ClusterRoleBinding", "ClusterRole"];
        if kept_for.is_none() {
            kinds.extend(["Secret", "ServiceAccount"]);
        }
        let documents: Vec<&Value> = kinds.into_iter().flat_map(|kind| manifest.of_kind(kind)).collect();
        let missing = denied(&member, None, takes(&documents)?).await?;
        if !missing.is_empty() {
            bail!("in {leaving} you may not {}: nothing was changed", told(&missing));
        }
        let mut there = Vec::new();
        for document in documents {
            let found = member.get(&manifest::resource(document)?, place(document)).await?;
            if let Some(uid) = found.as_ref().and_then(|found| found["metadata"]["uid"].as_str()) {
                there.push((document.clone(), uid.to_owned()));
            }
        }
        Ok(Self { member, there, kept_for })
    }

    /// Another role whose account is the same, where the cluster has joined in that, too.
    async fn kept_for(member: &Cluster, role: Role, manifest: &Manifest) -> anyhow::Result<Option<Role>> {
        for other in [Role::Consumer, Role::Provider, Role::Spoke].into_iter().filter(|other| *other != role) {
            let its = Manifest::of(other, None)?;
            if names(&its, "ServiceAccount") != names(manifest, "ServiceAccount") {
                continue;
            }
            for binding in its.of_kind("ClusterRoleBinding") {
                if member.get(&manifest::resource(binding)?, place(binding)).await?.is_some() {
                    return Ok(Some(other));
                }
            }
        }
        Ok(None)
    }

    /// Does it. Returns what was done, a line each.
    pub(crate) async fn run(self) -> anyhow::Result<Vec<String>> {
        let mut lines = Vec::new();
        for (document, uid) in &self.there {
            let what = called(document);
            let gone = self.member.delete(&manifest::resource(document)?, place(document), uid).await;
            gone.with_context(|| format!("{what} is still there; what was to go after it, too"))?;
            lines.push(format!("{}: {what} is deleted", self.member.name));
        }
        if let Some(role) = self.kept_for {
            lines.push(format!(
                "its ServiceAccount and the token stay: it has joined as a {role} as well, and until it leaves as that the token \
                 that was handed out is good"
            ));
        }
        Ok(lines)
    }
}
