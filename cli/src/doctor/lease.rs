//! The Lease of brokers that elect a leader: whether somebody holds it, and lives.

use serde_json::Value;

use super::{
    facts::{Facts, Inside},
    finding::Finding,
};
use crate::{age, broker::Deployed};

const CHECK: &str = "lease";

/// Seconds on top of what the holder itself says that it may be silent.
const GRACE: i64 = 5;

/// The same where the Lease does not say it.
const DURATION: i64 = 15;

/// Judges that of each broker.
pub(crate) fn check(facts: &Facts, inside: &Inside) -> Vec<Finding> {
    let brokers = inside.deployed.iter().flatten().filter(|broker| broker.wanted > 0);
    brokers.filter_map(|broker| of_one(facts, inside, broker)).collect()
}

fn of_one(facts: &Facts, inside: &Inside, broker: &Deployed) -> Option<Finding> {
    let options = broker.options.as_ref().ok().filter(|options| options.leader_elect)?;
    let namespace = broker.own_namespace();
    let place = format!("{} Lease {namespace}/{}", facts.hub.name, options.lease_name);
    let log =
        || format!("see the log of Deployment {}/{}, and its condition in the Broker", broker.namespace, broker.name);
    let lease = match inside.leases.get(&broker.name)? {
        Ok(Some(lease)) => lease,
        Ok(None) => return Some(Finding::error(CHECK, &place, "it is not there: no broker has ever led", log())),
        Err(why) => {
            let needs = format!("get of leases.coordination.k8s.io in namespace {namespace}");
            return Some(Finding::unchecked(CHECK, &place, why, &needs));
        }
    };
    let spec = &lease["spec"];
    let Some(holder) = spec["holderIdentity"].as_str().filter(|holder| !holder.is_empty()) else {
        return Some(Finding::error(CHECK, &place, "nobody holds it: no broker leads, and nothing is written", log()));
    };
    let silent = silent(spec, facts)?;
    let allowed = spec["leaseDurationSeconds"].as_i64().unwrap_or(DURATION) + GRACE;
    (silent > allowed).then(|| {
        let what = format!("{holder} holds it and has not renewed it for {}: no broker leads", age::told(silent));
        Finding::error(CHECK, &place, what, log())
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
        broker::tests::broker,
        cluster::{Probe, Trouble},
        doctor::facts::{
            Read,
            tests::{facts, inside},
        },
    };

    fn found(args: &[&str], ahead: i64, lease: Read<Option<Value>>) -> Vec<Finding> {
        let mut facts = facts(inside(), Vec::new());
        facts.hub.probe = Ok(Probe { version: "v1.36.0".into(), ahead: Some(ahead) });
        let mut inside = inside();
        inside.deployed = Ok(vec![broker(&[args, &["--watch-kind=A.v1.x.io"]].concat(), 1, 1)]);
        inside.leases.insert("broker".into(), lease);
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
    fn who_elects_nobody_needs_none() {
        assert!(found(&[], 0, Ok(None)).is_empty());
    }

    #[test]
    fn one_that_may_not_be_read_is_told() {
        let denied = found(ELECTS, 0, Err(Trouble::Forbidden("no".into())));
        assert!(denied[0].remedy.contains("get of leases"), "{denied:?}");
    }
}
