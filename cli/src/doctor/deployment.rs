//! The broker's Deployment: whether there is one, whether it runs, and whether its flags can be read.

use super::{
    facts::{Hub, Inside, has_files},
    finding::Finding,
};
use crate::broker::Deployed;

const CHECK: &str = "deployment";

/// Judges all of them.
pub(crate) fn check(hub: &Hub, inside: &Inside) -> Vec<Finding> {
    let place = format!("{} namespace {}", hub.name, inside.namespace);
    match &inside.deployed {
        Err(why) => vec![Finding::unchecked(CHECK, &place, why, "list of deployments.apps there")],
        Ok(brokers) if brokers.is_empty() => vec![Finding::warning(
            CHECK,
            &place,
            "there is no broker's Deployment, so that its flags are not known, and not which kinds are brokered",
            "--broker-namespace names another namespace; for a broker that runs elsewhere name its kinds with --watch-kind",
        )],
        Ok(brokers) => brokers.iter().flat_map(|broker| of_one(hub, broker)).collect(),
    }
}

fn of_one(hub: &Hub, broker: &Deployed) -> Vec<Finding> {
    let Deployed { namespace, name, wanted, available, options, .. } = broker;
    let place = format!("{} Deployment {namespace}/{name}", hub.name);
    let mut findings = Vec::new();
    let pods = format!("kubectl -n {namespace} describe pods, and their logs, say why");
    if *wanted == 0 {
        let what = "it is to have no instances: nothing is brokered";
        findings.push(Finding::warning(CHECK, &place, what, "raise spec.replicas of its Broker when that is over"));
    } else if *available == 0 {
        let what = format!("none of its {wanted} instances works: nothing is brokered");
        findings.push(Finding::error(CHECK, &place, what, pods));
    } else if available < wanted {
        let what = format!("only {available} of its {wanted} instances work");
        findings.push(Finding::warning(CHECK, &place, what, pods));
    }
    match options {
        Err(why) => findings.push(Finding::error(
            CHECK,
            &place,
            format!("its flags mean nothing to a broker of this release: {why}"),
            "correct them in its Broker; or take the command line of the broker's own release",
        )),
        Ok(options) if has_files(options) => findings.push(Finding::info(
            CHECK,
            &place,
            "it has clusters from files, of which nothing is known here",
            "give them with --consumer-kubeconfig and --provider-kubeconfig",
        )),
        Ok(_) => {}
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        broker::tests::broker,
        cluster::Trouble,
        doctor::{
            facts::{
                Read,
                tests::{facts, inside},
            },
            finding::Severity,
        },
    };

    const FLAG: &str = "--watch-kind=A.v1.x.io";

    fn found(deployed: Read<Vec<Deployed>>) -> Vec<Finding> {
        let mut inside = inside();
        inside.deployed = deployed;
        check(&facts(super::super::facts::tests::inside(), Vec::new()).hub, &inside)
    }

    #[test]
    fn a_broker_runs_with_flags_that_can_be_read() {
        assert!(found(Ok(vec![broker(&[FLAG], 2, 2)])).is_empty());
        for (deployed, severity, words) in [
            (broker(&[FLAG], 2, 1), Severity::Warning, "only 1 of its 2"),
            (broker(&[FLAG], 1, 0), Severity::Error, "none of its 1"),
            (broker(&[FLAG], 0, 0), Severity::Warning, "no instances"),
            (broker(&["--watch-kind=a"], 1, 1), Severity::Error, "flags mean nothing"),
            (broker(&[FLAG, "--provider-kubeconfig=/p"], 1, 1), Severity::Info, "from files"),
        ] {
            let found = found(Ok(vec![deployed]));
            assert!(matches!(&found[..], [one] if one.severity == severity && one.what.contains(words)), "{found:?}");
        }
    }

    #[test]
    fn none_and_one_that_may_not_be_read_are_told() {
        assert!(found(Ok(Vec::new()))[0].remedy.contains("--broker-namespace"));
        assert!(found(Err(Trouble::Forbidden("no".into())))[0].remedy.contains("list of deployments"));
    }
}
