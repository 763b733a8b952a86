//! The Lease of programs that elect a leader: whether somebody holds it, and lives.

use std::collections::{BTreeMap, BTreeSet};

use broker_api::graphs::keys;
use runtime_effect::kind::Kind;
use serde_json::Value;

use super::{
    facts::{Facts, Inside, Programs},
    finding::Finding,
};
use crate::{age, cluster::Place};

const CHECK: &str = "lease";

/// Seconds on top of what the holder itself says that it may be silent.
const GRACE: i64 = 5;

/// The same where the Lease does not say it.
const DURATION: i64 = 15;

/// One Lease, and those that take part in its election.
pub(crate) struct Election<'a> {
    /// What they are, in sentences for people.
    program: &'static str,
    /// Their Deployments, all in one namespace: several where one takes over from another.
    deployments: Vec<Place<'a>>,
    /// What the first of them works on; empty: whatever there is.
    work: BTreeSet<&'a Kind>,
    /// Whether another works on something else.
    differs: bool,
    /// The Lease.
    pub(crate) place: Place<'a>,
}

impl<'a> Election<'a> {
    /// Those of all programs that are to run.
    pub(crate) fn all(programs: &'a Programs) -> Vec<Self> {
        let brokers = programs.brokers.iter().filter(|broker| broker.wanted > 0).filter_map(|broker| {
            let options = broker.options.as_ref().ok().filter(|options| options.leader_elect)?;
            let place = Place { namespace: broker.own_namespace(), name: &options.lease_name };
            let work = options.watch_kind.iter().map(|kind| &kind.0).collect();
            Some(("broker", broker.place(), work, place))
        });
        let graphs = programs.graphs.iter().filter(|graphs| graphs.wanted > 0).filter_map(|graphs| {
            // Whoever has a kubeconfig may serve another cluster, where its Lease is.
            graphs.options.as_ref().ok().filter(|options| options.leader_elect && options.kubeconfig.is_none())?;
            let place = Place { namespace: graphs.lease_namespace(), name: keys::LEASE };
            Some(("graphs controller", graphs.place(), BTreeSet::new(), place))
        });
        let mut all: BTreeMap<(&str, &str), Self> = BTreeMap::new();
        for (program, deployment, work, place) in brokers.chain(graphs) {
            let of_place = all.entry((place.namespace, place.name));
            let first = || Self { program, deployments: Vec::new(), work: work.clone(), differs: false, place };
            let one = of_place.or_insert_with(first);
            one.deployments.push(deployment);
            one.differs |= (one.program, &one.work) != (program, &work);
        }
        all.into_values().collect()
    }
}

/// Judges that of each program.
pub(crate) fn check(facts: &Facts, inside: &Inside) -> Vec<Finding> {
    let elections = inside.deployed.iter().flat_map(Election::all);
    elections.filter_map(|election| of_one(facts, inside, &election)).collect()
}

fn of_one(facts: &Facts, inside: &Inside, election: &Election<'_>) -> Option<Finding> {
    let Election { program, deployments, differs, place, .. } = election;
    let Place { namespace, name } = place;
    let at = format!("{} Lease {namespace}/{name}", facts.hub.name);
    let all: Vec<String> = deployments.iter().map(Place::to_string).collect();
    let all = all.join(" and ");
    if *differs {
        let what =
            format!("Deployments {all} share it and do not the same work: that of those which do not lead is not done");
        return Some(Finding::error(CHECK, &at, what, "give each a --lease-name of its own"));
    }
    let log = || format!("see the log of Deployment {all}, and its condition in the Broker");
    let lease = match inside.leases.get(&place.to_string())? {
        Ok(Some(lease)) => lease,
        Ok(None) => {
            let what = format!("it is not there: no {program} has ever led");
            return Some(Finding::error(CHECK, &at, what, log()));
        }
        Err(why) => {
            let needs = format!("get of leases.coordination.k8s.io in namespace {namespace}");
            return Some(Finding::unchecked(CHECK, &at, why, &needs));
        }
    };
    let spec = &lease["spec"];
    let Some(holder) = spec["holderIdentity"].as_str().filter(|holder| !holder.is_empty()) else {
        let what = format!("nobody holds it: no {program} leads, and nothing is written");
        return Some(Finding::error(CHECK, &at, what, log()));
    };
    let silent = silent(spec, facts)?;
    let allowed = spec["leaseDurationSeconds"].as_i64().unwrap_or(DURATION) + GRACE;
    (silent > allowed).then(|| {
        let what = format!("{holder} holds it and has not renewed it for {}: no {program} leads", age::told(silent));
        Finding::error(CHECK, &at, what, log())
    })
}

/// Seconds since it was renewed, as the coordination cluster's clock has it.
fn silent(spec: &Value, facts: &Facts) -> Option<i64> {
    age::seconds(spec["renewTime"].as_str()?, facts.hub_time())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        cluster::{Probe, Trouble},
        deployed::{
            Deployed,
            tests::{broker, graphs},
        },
        doctor::facts::{
            Read,
            tests::{brokers, facts, inside},
        },
    };

    fn found(args: &[&str], ahead: i64, lease: Read<Option<Value>>) -> Vec<Finding> {
        let mut facts = facts(inside(), Vec::new());
        facts.hub.probe = Ok(Probe { version: "v1.36.0".into(), ahead: Some(ahead) });
        let mut inside = inside();
        inside.deployed = Ok(brokers(vec![broker(&[args, &["--watch-kind=A.v1.x.io"]].concat(), 1, 1)]));
        inside.leases.insert("system/resource-broker".into(), lease);
        check(&facts, &inside)
    }

    fn lease(holder: &str, renewed: &str) -> Value {
        json!({ "spec": { "holderIdentity": holder, "renewTime": renewed, "leaseDurationSeconds": 15 } })
    }

    const ELECTS: &[&str] = &["--leader-elect"];

    #[test]
    fn somebody_holds_it_and_renews_it() {
        assert!(found(ELECTS, 0, Ok(Some(lease("a", "2026-01-01T11:59:50.000000Z")))).is_empty());
        let late = found(ELECTS, 0, Ok(Some(lease("a", "2026-01-01T11:58:00.000000Z"))));
        assert!(late[0].what.contains("has not renewed it for 2m"), "{late:?}");
        let clock = found(ELECTS, -120, Ok(Some(lease("a", "2026-01-01T11:58:00.000000Z"))));
        assert!(clock.is_empty(), "its clock and the cluster's are behind ours");
        assert!(found(ELECTS, 0, Ok(Some(lease("", "2026-01-01T11:59:50.000000Z"))))[0].what.contains("nobody"));
        assert!(found(ELECTS, 0, Ok(None))[0].what.contains("not there"));
    }

    #[test]
    fn a_graphs_controller_has_one_of_its_own() {
        let facts = facts(inside(), Vec::new());
        let mut inside = inside();
        inside.deployed = Ok(Programs { graphs: vec![graphs(ELECTS, 1, 1)], ..Programs::default() });
        inside.leases.insert("system/controller.kro.run".into(), Ok(Some(lease("a", "2026-01-01T11:58:00.000000Z"))));
        let found = check(&facts, &inside);
        assert!(matches!(&found[..], [one] if one.what.ends_with("no graphs controller leads")), "{found:?}");
        assert_eq!(found[0].place, "coordination#coordination Lease system/controller.kro.run");
    }

    #[test]
    fn two_that_share_one_are_told_of_once() {
        let named = |name: &str| {
            let mut it = graphs(ELECTS, 1, 1);
            it.name = name.to_owned();
            it
        };
        let mut inside = inside();
        let both = vec![named("green"), named("blue")];
        inside.deployed = Ok(Programs { graphs: both, ..Programs::default() });
        inside.leases.insert("system/controller.kro.run".into(), Ok(None));
        let found = check(&facts(super::super::facts::tests::inside(), Vec::new()), &inside);
        assert!(matches!(&found[..], [one] if one.remedy.contains("system/green and system/blue")), "{found:?}");
    }

    #[test]
    fn two_that_share_one_do_the_same_work() {
        let shared = |other: &[&str]| {
            let mut all = vec![broker(&["--leader-elect", "--watch-kind=A.v1.x.io"], 1, 1)];
            all.push(Deployed { name: "another".into(), ..broker(&[ELECTS, other].concat(), 1, 1) });
            let mut inside = inside();
            inside.deployed = Ok(brokers(all));
            inside.leases.insert("system/resource-broker".into(), Ok(Some(lease("a", "2026-01-01T11:59:50.000000Z"))));
            check(&facts(super::super::facts::tests::inside(), Vec::new()), &inside)
        };
        assert!(shared(&["--watch-kind=A.v1.x.io"]).is_empty(), "one takes over from another");
        let differ = shared(&["--watch-kind=B.v1.x.io"]);
        assert!(matches!(&differ[..], [one] if one.remedy.contains("--lease-name")), "{differ:?}");
        assert!(shared(&["--watch-kind=B.v1.x.io", "--lease-name=b"]).iter().all(|one| one.what.contains("not there")));
    }

    #[test]
    fn who_elects_nobody_needs_none() {
        assert!(found(&[], 0, Ok(None)).is_empty());
    }

    #[test]
    fn one_that_may_not_be_read_is_told() {
        let denied = found(ELECTS, 0, Err(Trouble::Forbidden("no".into())));
        assert!(denied[0].remedy.contains("get of leases"), "{denied:?}");
    }
}
