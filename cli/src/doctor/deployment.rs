//! Our programs' Deployments: whether there is a broker's, whether they run, whether their flags can be read, and whether they
//! are of this release.

use super::{
    facts::{Hub, Inside, Programs, has_files},
    finding::Finding,
};
use crate::deployed::{Deployed, Graphs, Operator};

const CHECK: &str = "deployment";
const VERSION: &str = "version";

/// The release whose flags, roles and kinds are known here.
const RELEASE: &str = env!("CARGO_PKG_VERSION");

/// Judges all of them.
pub(crate) fn check(hub: &Hub, inside: &Inside) -> Vec<Finding> {
    let place = format!("{} namespace {}", hub.name, inside.namespace);
    match &inside.deployed {
        Err(why) => vec![Finding::unchecked(CHECK, &place, why, "list of deployments.apps there")],
        Ok(Programs { brokers, graphs, operators }) => {
            let none = brokers.is_empty().then(|| Finding::warning(
                CHECK,
                &place,
                "there is no broker's Deployment, so that its flags are not known, and not which kinds are brokered",
                "--broker-namespace names another namespace; for a broker that runs elsewhere name its kinds with --watch-kind",
            ));
            let operators = operators.iter().flat_map(|operator| of_operator(hub, operator));
            let brokers = brokers.iter().flat_map(|broker| of_broker(hub, broker));
            let graphs = graphs.iter().flat_map(|graphs| of_graphs(hub, graphs));
            none.into_iter().chain(operators).chain(brokers).chain(graphs).collect()
        }
    }
}

fn place<O>(hub: &Hub, Deployed { namespace, name, .. }: &Deployed<O>) -> String {
    format!("{} Deployment {namespace}/{name}", hub.name)
}

fn of_operator(hub: &Hub, operator: &Operator) -> Vec<Finding> {
    let what = "no Broker is brought up to date";
    let scale = format!("kubectl -n {} scale deployment {} --replicas=1", operator.namespace, operator.name);
    instances(hub, operator, what, &scale).into_iter().chain(version(hub, operator)).collect()
}

fn of_graphs(hub: &Hub, graphs: &Graphs) -> Vec<Finding> {
    let what = "no ResourceGraphDefinition is served";
    // The operator takes an image of somebody else's, with flags of its own.
    let unread = graphs.options.as_ref().err().map(|why| {
        let what = format!("its flags mean nothing to a graphs controller of this release, and are not judged: {why}");
        Finding::warning(CHECK, &place(hub, graphs), what, "correct them in its Broker, unless they are meant so")
    });
    let instances = instances(hub, graphs, what, "raise spec.graphs.replicas of its Broker when that is over");
    instances.into_iter().chain(version(hub, graphs)).chain(unread).collect()
}

fn of_broker(hub: &Hub, broker: &Deployed) -> Vec<Finding> {
    let instances =
        instances(hub, broker, "nothing is brokered", "raise spec.replicas of its Broker when that is over");
    let flags = match &broker.options {
        Err(why) => Some(Finding::error(
            CHECK,
            &place(hub, broker),
            format!("its flags mean nothing to a broker of this release: {why}"),
            "correct them in its Broker; or take the command line of the broker's own release",
        )),
        Ok(options) if has_files(options) => Some(Finding::info(
            CHECK,
            &place(hub, broker),
            "it has clusters from files, of which nothing is known here",
            "give them with --consumer-kubeconfig and --provider-kubeconfig",
        )),
        Ok(_) => None,
    };
    instances.into_iter().chain(version(hub, broker)).chain(flags).collect()
}

/// `undone`: what nobody does where none works; `raise`: how there are more, where there are to be none.
fn instances<O>(hub: &Hub, deployed: &Deployed<O>, undone: &str, raise: &str) -> Option<Finding> {
    let Deployed { namespace, wanted, available, .. } = deployed;
    let place = place(hub, deployed);
    let pods = format!("kubectl -n {namespace} describe pods, and their logs, say why");
    if *wanted == 0 {
        Some(Finding::warning(CHECK, &place, format!("it is to have no instances: {undone}"), raise))
    } else if *available == 0 {
        let what = format!("none of its {wanted} instances works: {undone}");
        Some(Finding::error(CHECK, &place, what, pods))
    } else if available < wanted {
        Some(Finding::warning(CHECK, &place, format!("only {available} of its {wanted} instances work"), pods))
    } else {
        None
    }
}

/// What is asked and granted here is this release's.
fn version<O>(hub: &Hub, deployed: &Deployed<O>) -> Option<Finding> {
    let other = deployed.version().filter(|version| *version != RELEASE)?;
    let what = format!("its image is of release {other}, this command line of {RELEASE}");
    let remedy = format!(
        "take the command line of {other}; or bring all of it to one release: config/default (or the chart), and the tag where its \
         Broker names one"
    );
    Some(Finding::warning(VERSION, &place(hub, deployed), what, remedy))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cluster::Trouble,
        deployed::tests::{broker, graphs, operator},
        doctor::{
            facts::{
                Read,
                tests::{brokers, facts, inside},
            },
            finding::Severity,
        },
    };

    const FLAG: &str = "--watch-kind=A.v1.x.io";

    fn found(deployed: Read<Programs>) -> Vec<Finding> {
        let mut inside = inside();
        inside.deployed = deployed;
        check(&facts(super::super::facts::tests::inside(), Vec::new()).hub, &inside)
    }

    #[test]
    fn a_broker_runs_with_flags_that_can_be_read() {
        assert!(found(Ok(brokers(vec![broker(&[FLAG], 2, 2)]))).is_empty());
        for (deployed, severity, words) in [
            (broker(&[FLAG], 2, 1), Severity::Warning, "only 1 of its 2"),
            (broker(&[FLAG], 1, 0), Severity::Error, "none of its 1"),
            (broker(&[FLAG], 0, 0), Severity::Warning, "no instances"),
            (broker(&["--watch-kind=a"], 1, 1), Severity::Error, "flags mean nothing"),
            (broker(&[FLAG, "--provider-kubeconfig=/p"], 1, 1), Severity::Info, "from files"),
        ] {
            let found = found(Ok(brokers(vec![deployed])));
            assert!(matches!(&found[..], [one] if one.severity == severity && one.what.contains(words)), "{found:?}");
        }
    }

    #[test]
    fn the_other_programs_run_too() {
        let found = |graphs: Graphs, operator: Operator| {
            let brokers = vec![broker(&[FLAG], 1, 1)];
            found(Ok(Programs { brokers, graphs: vec![graphs], operators: vec![operator] }))
        };
        assert!(found(graphs(&[], 2, 2), operator(1, 1)).is_empty());
        let dead = found(graphs(&[], 2, 0), operator(1, 0));
        let all: Vec<_> = dead.iter().map(|one| (one.severity, &*one.what)).collect();
        let none = |wanted: u8, undone: &str| format!("none of its {wanted} instances works: {undone}");
        let (graphs_dead, operator_dead) =
            (none(2, "no ResourceGraphDefinition is served"), none(1, "no Broker is brought up to date"));
        assert_eq!(all, [(Severity::Error, &*operator_dead), (Severity::Error, &*graphs_dead)]);
        let flags = found(graphs(&["--colour"], 1, 1), operator(1, 1));
        assert!(matches!(&flags[..], [one] if one.what.contains("a graphs controller of this release")), "{flags:?}");
        let off = found(graphs(&[], 0, 0), operator(0, 0));
        assert!(off[0].remedy.contains("--replicas=1") && off[1].remedy.contains("spec.graphs.replicas"), "{off:?}");
    }

    #[test]
    fn a_program_of_another_release_is_told() {
        let mut old = broker(&[FLAG], 1, 1);
        old.image = "registry.example.org/resource-broker:v0.0.1".into();
        let found = found(Ok(brokers(vec![old])));
        assert!(matches!(&found[..], [one] if one.check == VERSION), "{found:?}");
        assert!(found[0].what.contains("of release 0.0.1, this") && found[0].remedy.contains("of 0.0.1"), "{found:?}");
    }

    #[test]
    fn none_and_one_that_may_not_be_read_are_told() {
        assert!(found(Ok(Programs::default()))[0].remedy.contains("--broker-namespace"));
        assert!(found(Err(Trouble::Forbidden("no".into())))[0].remedy.contains("list of deployments"));
    }
}
