//! `Preflight`: what is found out before a cluster joins, and whether it may. Nothing is written.

use broker_api::{ClusterName, Role, keys};
use runtime_effect::kind::Kind;

use crate::{
    clock,
    cluster::{Probe, Trouble},
    identity::Identity,
    rights::{Right, told},
};

/// What one check came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is as it should be.
    Fine(String),
    /// Something to know.
    Note(String),
    /// The cluster does not join like this; with the remedy.
    Bad(String),
}

/// A cluster that has joined.
#[derive(Debug, Clone)]
pub(crate) struct Joined {
    /// Its Secret, `namespace/name`.
    pub(crate) secret: String,
    /// What its label says.
    pub(crate) label: String,
    /// Its name and role; `None`: the label gives no role.
    pub(crate) name: Option<ClusterName>,
    /// Which API server it is.
    pub(crate) identity: Identity,
    /// Why its kubeconfig cannot be used.
    pub(crate) unusable: Option<String>,
}

/// What was found out.
pub(crate) struct Preflight {
    /// The cluster that joins.
    pub(crate) name: ClusterName,
    /// Its Secret, `namespace/name`.
    pub(crate) secret: String,
    /// Whether the API server answers.
    pub(crate) probe: Result<Probe, Trouble>,
    /// Which one it is.
    pub(crate) identity: Identity,
    /// The same of the coordination cluster.
    pub(crate) hub: Identity,
    /// What the person may not do there.
    pub(crate) denied: Result<Vec<Right>, Trouble>,
    /// What the person may not do in the coordination cluster.
    pub(crate) denied_in_hub: Result<Vec<Right>, Trouble>,
    /// Whether an AcceptAPI can be made there.
    pub(crate) accept_api: bool,
    /// How many brokered kinds it serves, and those that it does not; `None`: nobody says yet which are brokered, or they do
    /// not matter. The error: why they are not known, and what to do.
    pub(crate) kinds: Result<Option<(usize, Vec<Kind>)>, String>,
    /// All clusters that have joined, and, where it is not labelled, the Secret whose name is wanted.
    pub(crate) joined: Vec<Joined>,
    /// Address at which the broker is to reach it.
    pub(crate) server: String,
}

/// Whether a broker elsewhere cannot reach it: the address means this machine.
fn is_loopback(server: &str) -> bool {
    let host = server.split_once("://").map_or(server, |(_, rest)| rest);
    ["localhost", "127.", "[::1]"].iter().any(|local| host.starts_with(local))
}

fn clock(probe: &Probe) -> Option<Verdict> {
    let apart = clock::apart(probe.ahead?)?;
    Some(Verdict::Note(format!("{apart}: let both keep the time (NTP)")))
}

fn rights(denied: &Result<Vec<Right>, Trouble>, place: &str) -> Verdict {
    match denied {
        Ok(denied) if denied.is_empty() => Verdict::Fine(format!("you may do what it takes {place}")),
        Ok(denied) => Verdict::Bad(format!("you may not do what it takes {place}: {}", told(denied))),
        Err(trouble) => Verdict::Note(format!("whether you may do what it takes {place} is not known: {trouble}")),
    }
}

impl Preflight {
    /// Judges all of it.
    pub(crate) fn verdicts(&self) -> Vec<Verdict> {
        let Self { name, probe, .. } = self;
        let probe = match probe {
            Ok(probe) => probe,
            Err(trouble) => return vec![Verdict::Bad(trouble.to_string())],
        };
        let mut verdicts = vec![Verdict::Fine(format!("{name} answers: Kubernetes {}", probe.version))];
        verdicts.extend(clock(probe));
        verdicts.push(rights(&self.denied, "there"));
        verdicts.push(rights(&self.denied_in_hub, "in the coordination cluster"));
        verdicts.push(self.place());
        if self.identity.is(&self.hub) {
            verdicts.push(Verdict::Note(
                "this is the coordination cluster itself: a Broker named resource-broker would find the ServiceAccount of that name in its way".to_owned(),
            ));
        }
        if name.role() == Role::Provider && !self.accept_api {
            verdicts.push(Verdict::Bad(
                "the provider has no AcceptAPI: install its CRD first, kubectl --context CONTEXT apply -f config/crd/broker.platform-mesh.io_acceptapis.yaml".to_owned(),
            ));
        }
        verdicts.extend(self.kinds());
        if is_loopback(&self.server) {
            verdicts.push(Verdict::Note(format!(
                "{} means the machine that the broker runs on: give the address at which it reaches the cluster with --server",
                self.server
            )));
        }
        verdicts
    }

    /// Whether the name is free, or this cluster's already; and whether the cluster has another one.
    fn place(&self) -> Verdict {
        let Self { name, secret, identity, .. } = self;
        let taken = self.joined.iter().find(|one| one.secret == *secret);
        let elsewhere = self
            .joined
            .iter()
            .filter(|one| one.secret != *secret)
            .find(|one| one.name.as_ref().map(ClusterName::role) == Some(name.role()) && one.identity.is(identity));
        if let Some(other) = elsewhere {
            return Verdict::Bad(format!(
                "this API server has joined as {} already (Secret {}), and the broker engages none twice in one role: `kubectl broker leave` there first",
                other.name.as_ref().map(ToString::to_string).unwrap_or_default(),
                other.secret
            ));
        }
        let Some(taken) = taken else { return Verdict::Fine(format!("the name {name} is free")) };
        if taken.name.as_ref() != Some(name) {
            let what = if taken.label.is_empty() {
                format!("it has no label {}", keys::ROLE)
            } else {
                format!("its label says {}", taken.label)
            };
            return Verdict::Bad(format!("Secret {secret} is there already, and {what}: take another name"));
        }
        match &taken.unusable {
            Some(why) => Verdict::Note(format!(
                "{name} has joined already, and its Secret cannot be used ({why}): it is written anew"
            )),
            None if taken.identity.is(identity) => Verdict::Note(format!(
                "{name} has joined already: it is the same cluster, and gets its kubeconfig anew"
            )),
            None => Verdict::Bad(format!(
                "{name} has joined already and is, as far as can be told, another cluster ({}): take another name, or `kubectl broker leave {} --role {}` first",
                taken.identity.server.as_deref().unwrap_or("its address is not known"),
                name.name(),
                name.role()
            )),
        }
    }

    fn kinds(&self) -> Option<Verdict> {
        if self.name.role() == Role::Spoke {
            return None;
        }
        let (served, missing) = match &self.kinds {
            Ok(Some((served, missing))) => (served, missing),
            Ok(None) => {
                let said = "no broker is there that says which kinds are brokered, so that the role is made for those of the example: name yours with --watch-kind";
                return Some(Verdict::Note(said.to_owned()));
            }
            Err(why) => return Some(Verdict::Bad(why.clone())),
        };
        let names: Vec<String> =
            missing.iter().map(|kind| format!("{} of {}", kind.kind, kind.api_version())).collect();
        Some(match (served, names.is_empty()) {
            (0, _) => {
                Verdict::Bad(format!("it serves none of the brokered kinds ({}): apply a CRD first", names.join(", ")))
            }
            (served, true) => Verdict::Fine(format!("it serves all brokered kinds ({served})")),
            (_, false) => Verdict::Note(format!(
                "it does not serve {}: the role leaves that out; apply the CRD and join again to have it in",
                names.join(", ")
            )),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(uid: &str) -> Identity {
        Identity { uid: Some(uid.into()), server: Some(format!("{uid}:443/")) }
    }

    fn joined(name: &str, label: &str, uid: &str) -> Joined {
        let role: Option<Role> = label.parse().ok();
        Joined {
            secret: format!("clusters/{name}"),
            label: label.into(),
            name: role.map(|role| ClusterName::new(role, name)),
            identity: identity(uid),
            unusable: None,
        }
    }

    fn homer(joined: Vec<Joined>) -> Preflight {
        Preflight {
            name: ClusterName::consumer("homer"),
            secret: "clusters/homer".into(),
            probe: Ok(Probe { version: "v1.36.0".into(), ahead: Some(0) }),
            identity: identity("homer"),
            hub: identity("hub"),
            denied: Ok(Vec::new()),
            denied_in_hub: Ok(Vec::new()),
            accept_api: false,
            kinds: Ok(Some((1, Vec::new()))),
            joined,
            server: "https://homer.example.org".into(),
        }
    }

    fn bad(preflight: &Preflight) -> Vec<String> {
        let bad = preflight.verdicts().into_iter().filter_map(|verdict| match verdict {
            Verdict::Bad(why) => Some(why),
            _ => None,
        });
        bad.collect()
    }

    #[test]
    fn a_name_is_free_or_the_clusters_own() {
        assert!(bad(&homer(Vec::new())).is_empty());
        assert!(
            bad(&homer(vec![joined("homer", "consumer", "homer"), joined("homer2", "provider", "homer")])).is_empty()
        );
        let other = bad(&homer(vec![joined("homer", "consumer", "marge")]));
        assert!(matches!(&other[..], [why] if why.contains("another cluster (marge:443/)")), "{other:?}");
        let role = bad(&homer(vec![joined("homer", "provider", "homer")]));
        assert!(matches!(&role[..], [why] if why.contains("its label says provider")), "{role:?}");
        let plain = bad(&homer(vec![joined("homer", "", "homer")]));
        assert!(matches!(&plain[..], [why] if why.contains("has no label")), "{plain:?}");
        let twice = bad(&homer(vec![joined("bart", "consumer", "homer")]));
        assert!(matches!(&twice[..], [why] if why.contains("consumer#bart")), "{twice:?}");
    }

    #[test]
    fn a_secret_that_cannot_be_used_is_written_anew() {
        let mut broken = joined("homer", "consumer", "marge");
        broken.unusable = Some("its Secret has no kubeconfig".into());
        assert!(bad(&homer(vec![broken])).is_empty());
    }

    #[test]
    fn a_provider_has_acceptapis_and_a_member_serves_something() {
        let mut provider = homer(Vec::new());
        provider.name = ClusterName::provider("homer");
        assert!(bad(&provider)[0].contains("broker.platform-mesh.io_acceptapis.yaml"));
        provider.accept_api = true;
        assert!(bad(&provider).is_empty());
        let kind = Kind { group: "example.org".into(), version: "v1".into(), kind: "Store".into() };
        provider.kinds = Ok(Some((0, vec![kind.clone()])));
        assert!(bad(&provider)[0].contains("Store of example.org/v1"));
        provider.kinds = Ok(Some((1, vec![kind])));
        assert!(bad(&provider).is_empty());
        provider.kinds = Err("which kinds are brokered is not known".into());
        assert_eq!(bad(&provider), ["which kinds are brokered is not known"]);
        provider.kinds = Ok(None);
        assert!(bad(&provider).is_empty());
    }

    #[test]
    fn who_does_not_answer_is_asked_no_more() {
        let mut silent = homer(vec![joined("homer", "provider", "homer")]);
        silent.probe = Err(Trouble::Other("consumer#homer does not answer within 5 s".into()));
        assert_eq!(bad(&silent), ["consumer#homer does not answer within 5 s"]);
    }

    #[test]
    fn clocks_apart_and_local_addresses_are_told() {
        let mut homer = homer(Vec::new());
        homer.probe = Ok(Probe { version: "v1.36.0".into(), ahead: Some(-6) });
        homer.server = "https://127.0.0.1:6443".into();
        let notes = homer.verdicts().into_iter().filter(|verdict| matches!(verdict, Verdict::Note(_))).count();
        assert_eq!((notes, bad(&homer).len()), (2, 0));
        assert!(!is_loopback("https://homer.example.org") && is_loopback("https://[::1]:1"));
    }
}
