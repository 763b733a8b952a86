//! The coordination cluster: whether it answers, whether the broker's kinds are there, and what Brokers say of themselves.

use broker_api::{graphs::keys as graphs, keys};
use serde_json::Value;

use super::{
    facts::{Hub, Inside},
    finding::Finding,
};
use crate::cluster::Trouble;

const REACH: &str = "coordination";
const CRD: &str = "crd";
const BROKER: &str = "broker";

/// The folder with the CRDs of the graphs controller.
const GRAPHS: &str = "crd-graphs";

/// Group of `Broker`.
const OPERATOR_GROUP: &str = "operator.broker.platform-mesh.io";

/// The version that is read and written.
const VERSION: &str = "v1alpha1";

/// Judges it.
pub(crate) fn check(hub: &Hub) -> Vec<Finding> {
    if let Err(why) = &hub.probe {
        let remedy = match why {
            Trouble::Forbidden(_) => "log in again, or name another context with --context",
            Trouble::NotServed(_) | Trouble::Other(_) => {
                "see whether the API server runs and can be reached from here; --context and --kubeconfig name another"
            }
        };
        return vec![Finding::error(REACH, &hub.name, why.to_string(), remedy)];
    }
    let Some(inside) = &hub.inside else { return Vec::new() };
    let mut findings = kinds(hub, inside);
    match &inside.brokers {
        Ok(brokers) => findings.extend(brokers.iter().flat_map(|broker| of_broker(hub, broker))),
        // Where there is no operator there need not be the kind.
        Err(Trouble::NotServed(_)) => {}
        Err(why) => {
            findings.push(Finding::unchecked(BROKER, &hub.name, why, &format!("list of brokers.{OPERATOR_GROUP}")));
        }
    }
    findings
}

fn kinds(hub: &Hub, inside: &Inside) -> Vec<Finding> {
    let resources = match &inside.resources {
        Ok(resources) => resources,
        Err(why) => return vec![Finding::unchecked(CRD, &hub.name, why, "get of /api and /apis")],
    };
    let mut wanted = vec![("crd", keys::GROUP, "Migration"), ("crd", keys::GROUP, "MigrationConfiguration")];
    if inside.deployed.as_ref().is_ok_and(|programs| !programs.operators.is_empty()) {
        wanted.push(("crd", OPERATOR_GROUP, "Broker"));
    }
    // Whoever has a kubeconfig may serve another cluster.
    let here = inside.deployed_graphs().iter().filter_map(|graphs| graphs.options.as_ref().ok());
    let here: Vec<_> = here.filter(|options| options.kubeconfig.is_none()).collect();
    if !here.is_empty() {
        wanted.push((GRAPHS, graphs::GROUP, "ResourceGraphDefinition"));
        wanted.push((GRAPHS, graphs::INTERNAL_GROUP, "GraphRevision"));
    }
    if here.iter().any(|options| options.enable_multicluster) {
        wanted.push((GRAPHS, keys::GROUP, "ResourceGraphRollout"));
    }
    let missing = wanted.into_iter().filter_map(|(folder, group, kind)| {
        let versions = resources.versions(group, kind);
        let what = if versions.is_empty() {
            format!("kind {kind} of {group} is not served: its CRD is not installed, or not established")
        } else if versions.contains(&VERSION) {
            return None;
        } else {
            format!("kind {kind} of {group} is served in {} only, not in {VERSION}", versions.join(", "))
        };
        let remedy = format!(
            "kubectl apply --server-side -k config/{folder}; `kubectl get crds` says whether one is not accepted"
        );
        Some(Finding::error(CRD, &hub.name, what, remedy))
    });
    missing.collect()
}

/// The operator says in a Broker's conditions why its pods do not run.
fn of_broker(hub: &Hub, broker: &Value) -> Vec<Finding> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let metadata = &broker["metadata"];
    let place = format!("{} Broker {}/{}", hub.name, text(&metadata["namespace"]), text(&metadata["name"]));
    let conditions = broker["status"]["conditions"].as_array().into_iter().flatten();
    let bad = conditions.filter(|one| match one["type"].as_str() {
        Some("Degraded") => one["status"] == "True",
        Some("Available" | "GraphsAvailable") => one["status"] != "True",
        _ => false,
    });
    let told = bad.map(|one| {
        let what = format!(
            "{}={}: {} ({})",
            text(&one["type"]),
            text(&one["status"]),
            text(&one["message"]),
            text(&one["reason"])
        );
        Finding::error(
            BROKER,
            &place,
            what,
            "docs/troubleshooting.md has the reason; `kubectl describe broker` tells more",
        )
    });
    told.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        deployed::tests::{graphs, operator},
        doctor::facts::{
            Programs,
            tests::{facts, inside},
        },
        resource::{Resource, Resources},
    };

    fn found(inside: Inside) -> Vec<Finding> {
        check(&facts(inside, Vec::new()).hub)
    }

    fn with_kinds(deployed: Programs, version: &str) -> Inside {
        let of = |kind: &str, plural: &str| Resource::named(keys::GROUP, version, kind, plural);
        let kinds = [of("Migration", "migrations"), of("MigrationConfiguration", "migrationconfigurations")];
        Inside { resources: Ok(Resources::these(kinds)), deployed: Ok(deployed), ..inside() }
    }

    #[test]
    fn its_kinds_are_there_in_the_version_that_is_read() {
        let nothing = Programs::default;
        assert!(found(with_kinds(nothing(), VERSION)).is_empty());
        assert_eq!(found(inside()).len(), 2);
        let other = found(with_kinds(nothing(), "v9"));
        assert!(other.len() == 2 && other[0].what.contains("served in v9 only"), "{other:?}");
        let operator = Programs { operators: vec![operator(1, 1)], ..nothing() };
        let operator = found(with_kinds(operator, VERSION));
        assert!(matches!(&operator[..], [one] if one.what.contains("kind Broker")), "{operator:?}");
    }

    #[test]
    fn a_graphs_controller_has_kinds_of_its_own() {
        for (args, kinds) in [
            (&[][..], &["ResourceGraphDefinition", "GraphRevision"][..]),
            (&["--enable-multicluster"], &["ResourceGraphDefinition", "GraphRevision", "ResourceGraphRollout"]),
        ] {
            let deployed = Programs { graphs: vec![graphs(args, 1, 1)], ..Programs::default() };
            let found = found(with_kinds(deployed, VERSION));
            assert_eq!(found.len(), kinds.len(), "{found:?}");
            for (finding, kind) in found.iter().zip(kinds) {
                assert!(finding.what.contains(kind) && finding.remedy.contains("config/crd-graphs;"), "{finding:?}");
            }
        }
    }

    #[test]
    fn who_does_not_answer_is_all_that_is_told() {
        let mut hub = facts(inside(), Vec::new()).hub;
        hub.probe = Err(Trouble::Other("no answer".into()));
        let found = check(&hub);
        assert!(matches!(&found[..], [one] if one.check == REACH && one.what == "no answer"), "{found:?}");
    }

    #[test]
    fn what_a_broker_says_is_passed_on() {
        let condition = |kind: &str, status: &str| json!({ "type": kind, "status": status, "reason": "ImagePullBackOff", "message": "m" });
        let broker = |conditions: Value| {
            let object =
                json!({ "metadata": { "name": "b", "namespace": "n" }, "status": { "conditions": conditions } });
            let mut inside = with_kinds(Programs::default(), VERSION);
            inside.brokers = Ok(vec![object]);
            found(inside)
        };
        assert!(broker(json!([condition("Available", "True"), condition("Degraded", "False")])).is_empty());
        let bad = broker(json!([condition("Available", "False"), condition("Degraded", "True")]));
        assert!(bad.len() == 2 && bad[0].what == "Available=False: m (ImagePullBackOff)", "{bad:?}");
    }
}
