//! `kubectl broker leave`: a cluster is one of the broker's no longer.

use std::path::PathBuf;

use anyhow::{bail, ensure};
use broker_api::{ClusterName, Role, keys};
use broker_core::naming::consumer_hash;
use clap::Args;
use resource_broker::watch_kind::KindFlag;
use serde_json::Value;

use crate::{
    access::Access,
    cluster::{Cluster, Place, Trouble},
    cluster_secret::{self, ClusterSecret, secrets},
    clusters::{self, Clusters},
    held,
    join::member_role,
    lists::placed,
    manifest::Manifest,
    providers::{self, Ask, Provider, left_of},
    removal::Removal,
    resource::Resource,
    wait::Wait,
};

/// Which cluster leaves.
#[derive(Debug, Clone, Args)]
pub(crate) struct Leave {
    /// Its name
    #[arg(value_name = "CLUSTER")]
    name: String,
    /// What it is
    #[arg(long, value_name = "ROLE", value_parser = member_role())]
    role: Role,
    /// Of a provider: first all of its objects move away
    #[arg(long)]
    drain: bool,
    /// Context of the cluster itself, by which what `join` made there is deleted; it is told how to do that unless this or a
    /// kubeconfig is given
    #[arg(long, value_name = "CONTEXT")]
    member_context: Option<String>,
    /// Kubeconfig of the cluster itself, for the same
    #[arg(long, value_name = "FILE")]
    member_kubeconfig: Option<PathBuf>,
    /// Wait no longer than this many seconds for that; without it, until it is done
    #[arg(long, value_name = "SECONDS", requires = "drain")]
    timeout: Option<u64>,
    /// Namespace of the broker's own objects, where its flags say of which kinds there may be copies
    #[arg(long, value_name = "NAMESPACE", default_value = "resource-broker-system")]
    broker_namespace: String,
    /// Brokered kind, as Kind.version.group, beside those of the broker's flags; repeatable
    #[arg(long, value_name = "KIND.VERSION.GROUP", value_delimiter = ',', requires = "drain")]
    watch_kind: Vec<KindFlag>,
}

/// Answers `leave`.
pub(crate) async fn leave(access: &Access, asked: &Leave) -> anyhow::Result<()> {
    let Leave { name, role, drain, .. } = asked;
    ensure!(!drain || *role == Role::Provider, "--drain is for providers: a {role} holds no copies");
    let clusters = Clusters::connect(access).await?;
    let secret = find(&clusters.hub, access, name, *role).await?;
    let leaving = ClusterName::new(*role, name.as_str());
    let removal = match asked.member(access).await? {
        Some(member) => Some(Removal::plan(member, &leaving, clusters.get(&leaving)).await?),
        None => None,
    };
    let mut left = 0;
    if *role == Role::Provider {
        let provider = clusters.provider(name)?;
        left = if *drain {
            drained(&clusters, provider, asked).await?
        } else {
            match accept_apis(provider).await {
                Ok(list) => placed(&list).values().sum(),
                // Who does not wait for it may let a cluster go that cannot be asked any more.
                Err(trouble) => {
                    eprintln!("unknown: what is placed there: {trouble}");
                    0
                }
            }
        };
        ensure!(!drain || left == 0, "{leaving} still holds {left} copies: it stays until they have moved away");
    }
    // Before its Secret goes: whoever is interrupted asks once more.
    let by_hand = match removal {
        Some(removal) => {
            removal.run().await?.iter().for_each(|line| println!("{line}"));
            Vec::new()
        }
        None => by_hand(leaving.role())?,
    };
    let place = Place { namespace: &secret.namespace, name };
    clusters.hub.delete(&secrets(), place, &secret.uid).await?;
    println!("{leaving} has left: Secret {}/{name} is deleted", secret.namespace);
    for line in stays(&leaving, left).into_iter().chain(by_hand) {
        println!("{line}");
    }
    Ok(())
}

impl Leave {
    /// The cluster itself, as the person reaches it, where that is said.
    async fn member(&self, access: &Access) -> anyhow::Result<Option<Cluster>> {
        if self.member_context.is_none() && self.member_kubeconfig.is_none() {
            return Ok(None);
        }
        let file = self.member_kubeconfig.as_deref().or(access.kubeconfig.as_deref());
        let reached = clusters::kubeconfig(file, self.member_context.as_deref(), "the cluster that leaves")?;
        let name = ClusterName::new(self.role, self.name.as_str());
        Ok(Some(Cluster::new(name, clusters::dial(&reached).await)))
    }
}

/// All that a provider holds moves away. Returns how many copies are left: those that no AcceptAPI counts, too, for a broker that
/// has started again does not count what none of them accepts any more.
async fn drained(clusters: &Clusters, provider: &Cluster, asked: &Leave) -> anyhow::Result<u64> {
    let kinds = held::kinds(&clusters.hub, provider, &asked.broker_namespace, &asked.watch_kind).await?;
    let total = held::copies(provider, &kinds).await?;
    if !accept_apis(provider).await?.is_empty() {
        let whose = Provider { name: asked.name.clone(), acceptapi: None };
        providers::ask(clusters, &whose, Ask::Drain).await?;
    }
    let look = async || Ok(left_of(provider, total, held::copies(provider, &kinds).await?, ["copy", "copies"]));
    Wait { no_wait: false, timeout: asked.timeout }.until(look).await?;
    // Somebody may have ended the wait.
    Ok(held::copies(provider, &kinds).await?)
}

/// The Secret of a cluster.
async fn find(hub: &Cluster, access: &Access, name: &str, role: Role) -> anyhow::Result<ClusterSecret> {
    let mut all = Vec::new();
    for namespace in &access.cluster_secrets_namespace {
        all.extend(cluster_secret::list(hub, namespace).await?);
    }
    let names: Vec<String> = all.iter().filter_map(|one| Some(one.cluster_name()?.to_string())).collect();
    let wanted = ClusterName::new(role, name);
    all.retain(|one| one.cluster_name().as_ref() == Some(&wanted));
    match (all.pop(), all.is_empty()) {
        (Some(one), true) => Ok(one),
        (Some(_), false) => {
            bail!("{wanted} has a Secret in several namespaces: name one with --cluster-secrets-namespace")
        }
        (None, _) => bail!("{wanted} has not joined by a Secret; those that have: {}", names.join(", ")),
    }
}

async fn accept_apis(provider: &Cluster) -> Result<Vec<Value>, Trouble> {
    match provider.list(&Resource::ours("AcceptAPI", "acceptapis"), None, None).await {
        Err(Trouble::NotServed(_)) => Ok(Vec::new()),
        list => list,
    }
}

/// What stays behind, for people. `left`: objects that a provider still holds.
fn stays(leaving: &ClusterName, left: u64) -> Vec<String> {
    let mut lines = Vec::new();
    match leaving.role() {
        Role::Provider if left > 0 => lines.push(format!(
            "the {left} objects that it holds are placed anew after the broker's --orphan-grace; their copies there stay until you delete them (label {}={})",
            keys::MANAGED_BY,
            keys::MANAGER
        )),
        Role::Consumer => {
            let hash = consumer_hash(leaving);
            lines.push(format!(
                "copies of its objects stay at the providers; to delete them, and what they stand for, there: kubectl --context PROVIDER delete KIND --all-namespaces -l {}={hash}",
                keys::CONSUMER
            ));
            lines.push(format!(
                "its objects keep the finalizer {}: without a broker each can only be deleted once you have taken it off",
                keys::FINALIZER
            ));
        }
        _ => {}
    }
    lines
}

/// What removes what `join` made in the cluster, for people.
fn by_hand(role: Role) -> anyhow::Result<Vec<String>> {
    let mut lines = vec![
        "in the cluster the broker's ServiceAccount, its token and its rights stay; this removes them:".to_owned(),
    ];
    lines.extend(Manifest::of(role, None)?.removal().into_iter().map(|line| format!("  {line}")));
    lines.push(
        "leave the last two where the cluster has joined in another role as well; until then the token that was handed out is good"
            .to_owned(),
    );
    Ok(lines)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_stays_is_told_with_what_removes_it() {
        let told = |leaving: &ClusterName, left: u64| {
            [stays(leaving, left), by_hand(leaving.role()).unwrap()].concat().join("\n")
        };
        let consumer = told(&ClusterName::consumer("homer"), 0);
        assert!(consumer.contains("broker.platform-mesh.io/consumer="), "{consumer}");
        assert!(
            consumer.contains("delete clusterrole resource-broker-consumer-kinds resource-broker-consumer\n"),
            "{consumer}"
        );
        assert!(consumer.contains("-n resource-broker-system delete secret resource-broker-token\n"), "{consumer}");
        let provider = told(&ClusterName::provider("theseus"), 3);
        assert!(provider.contains("the 3 objects") && !provider.contains("finalizer"), "{provider}");
        let spoke = told(&ClusterName::spoke("eu"), 0);
        assert!(spoke.contains("delete secret resource-graphs-token"), "{spoke}");
    }
}
