//! `Facts`: all that was read of all clusters, before anything is judged.

use std::collections::BTreeMap;

use broker_api::{ClusterName, Role};
use k8s_openapi::{api::apps::v1::Deployment, jiff::Timestamp};
use resource_broker::{options::Options, watch_kind::KindFlag};
use runtime_effect::kind::Kind;
use serde_json::Value;

use super::{copy::Copied, origin::Origin, signing::Keys};
use crate::{
    cluster::{Probe, Trouble},
    cluster_secret::ClusterSecret,
    deployed::{Deployed, Graphs, Operator},
    resource::Resources,
    rights::Right,
};

/// What was read, or why it was not.
pub(crate) type Read<T> = Result<T, Trouble>;

/// All of it.
pub(crate) struct Facts {
    /// When, by our clock.
    pub(crate) now: Timestamp,
    /// The coordination cluster.
    pub(crate) hub: Hub,
    /// All others.
    pub(crate) members: Vec<Member>,
    /// The kinds that are brokered; none where no broker's flags could be read.
    pub(crate) kinds: Vec<KindFlag>,
}

/// The coordination cluster.
pub(crate) struct Hub {
    /// Its name.
    pub(crate) name: ClusterName,
    /// Whether it answers.
    pub(crate) probe: Read<Probe>,
    /// What is in it; `None`: it does not answer.
    pub(crate) inside: Option<Inside>,
}

/// What is in the coordination cluster.
pub(crate) struct Inside {
    /// Namespace that was looked into for our programs.
    pub(crate) namespace: String,
    /// What it serves.
    pub(crate) resources: Read<Resources>,
    /// Brokers, the objects.
    pub(crate) brokers: Read<Vec<Value>>,
    /// Our programs, the Deployments.
    pub(crate) deployed: Read<Programs>,
    /// The Lease of each broker and graphs controller that takes part in an election, as namespace/name.
    pub(crate) leases: BTreeMap<String, Read<Option<Value>>>,
    /// The signing keys, by namespace.
    pub(crate) keys: BTreeMap<String, Pair>,
    /// The cluster Secrets, by namespace.
    pub(crate) secrets: BTreeMap<String, Read<Vec<ClusterSecret>>>,
    /// What the ServiceAccounts of brokers and graphs controllers lack there, by the Deployment's name.
    pub(crate) denied: BTreeMap<String, Read<Vec<Right>>>,
    /// Migrations.
    pub(crate) migrations: Read<Vec<Value>>,
    /// MigrationConfigurations.
    pub(crate) configurations: Read<Vec<Value>>,
}

/// Our programs in one namespace, as their Deployments have them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Programs {
    /// Brokers.
    pub(crate) brokers: Vec<Deployed>,
    /// Controllers of ResourceGraphDefinitions.
    pub(crate) graphs: Vec<Graphs>,
    /// Operators: one, or none.
    pub(crate) operators: Vec<Operator>,
}

impl Programs {
    /// Of all Deployments there.
    pub(crate) fn of(deployments: &[Deployment]) -> Self {
        Self {
            brokers: deployments.iter().filter_map(Deployed::broker).collect(),
            graphs: deployments.iter().filter_map(Deployed::graphs).collect(),
            operators: deployments.iter().filter_map(Deployed::operator).collect(),
        }
    }
}

/// The Secret of the signing keys, and its copy.
pub(crate) struct Pair {
    /// The Secret.
    pub(crate) first: Read<Keys>,
    /// Its copy.
    pub(crate) backup: Read<Keys>,
}

/// Another cluster.
pub(crate) struct Member {
    /// Its name and role.
    pub(crate) name: ClusterName,
    /// Whether it has no Secret and its kubeconfig was given: what that allows is a person's, not the broker's.
    pub(crate) given: bool,
    /// Whether it answers.
    pub(crate) probe: Read<Probe>,
    /// What is in it; `None`: it does not answer.
    pub(crate) within: Option<Within>,
}

/// What is in another cluster.
pub(crate) struct Within {
    /// uid of `kube-system`.
    pub(crate) uid: Read<Option<String>>,
    /// What it serves.
    pub(crate) resources: Read<Resources>,
    /// What the broker's credentials do not allow.
    pub(crate) denied: Read<Vec<Right>>,
    /// Of a provider: its AcceptAPIs.
    pub(crate) accept_apis: Read<Vec<Value>>,
    /// Of a provider: the copies of each brokered kind.
    pub(crate) copies: Vec<(Kind, Read<Vec<Copied>>)>,
    /// Of a consumer: the objects of each brokered kind.
    pub(crate) origins: Vec<(Kind, Read<Vec<Origin>>)>,
}

impl Inside {
    /// The brokers, as far as they are known.
    pub(crate) fn deployed_brokers(&self) -> &[Deployed] {
        self.deployed.as_ref().map_or(&[], |programs| &programs.brokers)
    }

    /// The controllers of ResourceGraphDefinitions, as far as they are known.
    pub(crate) fn deployed_graphs(&self) -> &[Graphs] {
        self.deployed.as_ref().map_or(&[], |programs| &programs.graphs)
    }

    /// The flags of all brokers, as far as they can be read.
    pub(crate) fn options(&self) -> impl Iterator<Item = &Options> {
        self.deployed_brokers().iter().filter_map(|broker| broker.options.as_ref().ok())
    }

    /// Whether all consumers of the brokers are known: their flags are, they take none from files, and all Secrets were read.
    pub(crate) fn knows_all_consumers(&self) -> bool {
        let brokers = self.deployed_brokers();
        let known = brokers.iter().all(|broker| broker.options.as_ref().is_ok_and(|it| !has_files(it)));
        !brokers.is_empty() && known && self.secrets.values().all(Result::is_ok)
    }
}

/// Whether a broker has consumers or providers from files, which are not here.
pub(crate) fn has_files(options: &Options) -> bool {
    !options.given().is_empty()
}

impl Facts {
    /// Those that answer, in a role, with what is in them.
    pub(crate) fn answering(&self, role: Role) -> impl Iterator<Item = (&ClusterName, &Within)> {
        let in_role = self.members.iter().filter(move |member| member.name.role() == role);
        in_role.filter_map(|member| Some((&member.name, member.within.as_ref()?)))
    }

    /// Whether a cluster's Secret holds nothing that leads to it.
    pub(crate) fn is_unusable(&self, name: &ClusterName) -> bool {
        let secrets = self.hub.inside.iter().flat_map(|inside| inside.secrets.values()).flatten().flatten();
        secrets.filter(|secret| secret.cluster_name().as_ref() == Some(name)).any(|secret| secret.kubeconfig.is_err())
    }

    /// Our time, as the coordination cluster has it: what is written there was mostly written by its neighbours.
    pub(crate) fn hub_time(&self) -> Timestamp {
        let ahead = self.hub.probe.as_ref().ok().and_then(|probe| probe.ahead).unwrap_or_default();
        Timestamp::from_second(self.now.as_second() + ahead).unwrap_or(self.now)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A coordination cluster in which nothing is.
    pub(crate) fn inside() -> Inside {
        Inside {
            namespace: "system".into(),
            resources: Ok(Resources::default()),
            brokers: Ok(Vec::new()),
            deployed: Ok(Programs::default()),
            leases: BTreeMap::new(),
            keys: BTreeMap::new(),
            secrets: BTreeMap::new(),
            denied: BTreeMap::new(),
            migrations: Ok(Vec::new()),
            configurations: Ok(Vec::new()),
        }
    }

    /// These brokers, and no other program.
    pub(crate) fn brokers(brokers: Vec<Deployed>) -> Programs {
        Programs { brokers, ..Programs::default() }
    }

    /// A member that answers, and in which nothing is.
    pub(crate) fn member(name: ClusterName) -> Member {
        let within = Within {
            uid: Ok(Some(name.name().to_owned())),
            resources: Ok(Resources::default()),
            denied: Ok(Vec::new()),
            accept_apis: Ok(Vec::new()),
            copies: Vec::new(),
            origins: Vec::new(),
        };
        let probe = Ok(Probe { version: "v1.36.0".into(), ahead: Some(0) });
        Member { name, given: false, probe, within: Some(within) }
    }

    /// These members, at noon.
    pub(crate) fn facts(inside: Inside, members: Vec<Member>) -> Facts {
        let hub = Hub {
            name: ClusterName::new(Role::Coordination, "coordination"),
            probe: Ok(Probe { version: "v1.36.0".into(), ahead: Some(0) }),
            inside: Some(inside),
        };
        let now = "2026-01-01T12:00:00Z".parse().unwrap_or_default();
        Facts { now, hub, members, kinds: Vec::new() }
    }

    #[test]
    fn consumers_are_known_where_flags_and_secrets_are() {
        use crate::deployed::tests::broker;
        let knows = |args: &[&str]| {
            let mut inside = inside();
            inside.deployed = Ok(brokers(vec![broker(args, 1, 1)]));
            inside.knows_all_consumers()
        };
        assert!(knows(&["--watch-kind=A.v1.x.io"]));
        assert!(!knows(&["--watch-kind=A.v1.x.io", "--consumer-kubeconfig=/homer"]));
        assert!(!knows(&["--nonsense", "--watch-kind=A.v1.x.io"]));
        let mut denied = inside();
        denied.deployed = Ok(brokers(vec![broker(&["--watch-kind=A.v1.x.io"], 1, 1)]));
        denied.secrets.insert("clusters".into(), Err(Trouble::Forbidden("no".into())));
        assert!(!denied.knows_all_consumers() && !inside().knows_all_consumers());
    }
}
