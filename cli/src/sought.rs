//! `Found`: the object that a person means, wherever it is.

use std::str::FromStr;

use anyhow::bail;
use broker_api::{ClusterName, Role};
use clap::Args;
use futures::future::join_all;
use serde_json::Value;

use crate::{
    cluster::{Cluster, Place, Trouble},
    clusters::Clusters,
    object::text,
    resource::Resource,
};

/// `KIND/NAME`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Written {
    kind: String,
    pub(crate) name: String,
}

impl FromStr for Written {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('/') {
            Some((kind, name)) if !kind.is_empty() && !name.is_empty() && !name.contains('/') => {
                Ok(Self { kind: kind.to_owned(), name: name.to_owned() })
            }
            _ => Err("write it as KIND/NAME, such as certificate/website".to_owned()),
        }
    }
}

/// Which object.
#[derive(Debug, Clone, Args)]
pub(crate) struct Sought {
    /// The object: KIND/NAME, such as certificate/website; kinds as kubectl takes them
    #[arg(value_name = "KIND/NAME")]
    pub(crate) object: Written,

    /// Its namespace
    #[arg(short, long, default_value = "default")]
    pub(crate) namespace: String,

    /// Its cluster, such as homer or consumer#homer; wherever it is, unless it is given
    #[arg(long = "in", value_name = "CLUSTER")]
    pub(crate) cluster: Option<String>,
}

/// An object that was found.
pub(crate) struct Found {
    /// Where.
    pub(crate) cluster: Cluster,
    /// Its kind there.
    pub(crate) resource: Resource,
    /// All of it.
    pub(crate) object: Value,
}

impl Found {
    /// What tells a person why it is not elsewhere.
    pub(crate) fn ask_why(&self) -> String {
        let (kind, part) = (&self.resource.kind.kind, |at: &str| text(&self.object, at));
        let (namespace, name) = (part("/metadata/namespace"), part("/metadata/name"));
        format!("`kubectl broker why {kind}/{name} -n {namespace}` says why")
    }

    /// Finds what a person means: in consumers first, then in spokes, then in the coordination cluster.
    pub(crate) async fn find(clusters: &Clusters, sought: &Sought) -> anyhow::Result<Self> {
        let candidates = candidates(clusters, sought.cluster.as_deref())?;
        let looked = join_all(candidates.iter().map(|cluster| look(cluster, sought))).await;
        let mut found = Vec::new();
        let mut troubles = clusters.unknown.clone();
        let mut served = false;
        for (cluster, looked) in candidates.into_iter().zip(looked) {
            match looked {
                Ok(Looked::Found(resource, object)) => found.push(Self { cluster: cluster.clone(), resource, object }),
                Ok(Looked::Absent) => served = true,
                Ok(Looked::NoKind) => {}
                Err(trouble) => troubles.push(trouble.to_string()),
            }
        }
        let best = found.first().map(|first| first.cluster.name.role());
        found.retain(|one| Some(one.cluster.name.role()) == best);
        let Written { kind, name } = &sought.object;
        match found.len() {
            1 => Ok(found.remove(0)),
            0 => {
                let what = if served || !troubles.is_empty() {
                    format!(
                        "{kind} {}/{name} is in none of the clusters that could be asked: -n names another namespace, and \
                         --in a provider, where nothing is looked for by itself",
                        sought.namespace
                    )
                } else {
                    format!("no cluster serves a kind {kind}: `kubectl broker clusters` lists those that are asked")
                };
                bail!("{}", troubles.iter().fold(what, |told, trouble| format!("{told}\nunknown: {trouble}")));
            }
            _ => {
                let names: Vec<String> = found.iter().map(|one| one.cluster.name.to_string()).collect();
                bail!("{kind} {}/{name} is in {}: say which with --in", sought.namespace, names.join(", "));
            }
        }
    }
}

/// Where an object is looked for; `named`: its cluster, as a person writes it.
pub(crate) fn candidates<'a>(clusters: &'a Clusters, named: Option<&str>) -> anyhow::Result<Vec<&'a Cluster>> {
    let roles = [Role::Consumer, Role::Spoke];
    let all = roles.into_iter().flat_map(|role| clusters.in_role(role)).chain([&clusters.hub]);
    let Some(named) = named else { return Ok(all.collect()) };
    let is_meant = |cluster: &&Cluster| match named.parse::<ClusterName>() {
        Ok(name) => cluster.name == name,
        Err(_) => cluster.name.name() == named,
    };
    let others = [Role::Provider, Role::Compute].into_iter().flat_map(|role| clusters.in_role(role));
    let meant: Vec<&Cluster> = all.chain(others).filter(is_meant).collect();
    if meant.is_empty() {
        bail!("there is no cluster {named}: `kubectl broker clusters` lists them");
    }
    Ok(meant)
}

enum Looked {
    Found(Resource, Value),
    Absent,
    NoKind,
}

async fn look(cluster: &Cluster, sought: &Sought) -> Result<Looked, Trouble> {
    let Some(resource) = cluster.resources().await?.called(&sought.object.kind) else { return Ok(Looked::NoKind) };
    let place = Place { namespace: &sought.namespace, name: &sought.object.name };
    Ok(match cluster.get(resource, place).await? {
        Some(object) => Looked::Found(resource.clone(), object),
        None => Looked::Absent,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_written_as_kind_and_name() {
        let written = |text: &str| text.parse::<Written>();
        assert_eq!(written("cert/a"), Ok(Written { kind: "cert".into(), name: "a".into() }));
        for text in ["cert", "cert/", "/a", "a/b/c"] {
            assert!(written(text).is_err(), "{text}");
        }
    }
}
