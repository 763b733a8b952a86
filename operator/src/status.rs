//! What was applied → a Broker's status. Knows no client.

pub mod pods;
pub mod rollout;
#[cfg(test)]
mod tests;

use broker_api::{
    broker::BrokerStatus,
    condition::{condition, set_condition},
};
use k8s_openapi::{
    api::{apps::v1::Deployment, core::v1::Pod},
    jiff::Timestamp,
};

use crate::{
    apply::Applied,
    program::Program,
    trouble::{Trouble, line},
    validate::Held,
};

/// Condition: an instance of the broker works.
pub const AVAILABLE: &str = "Available";
/// Condition, where there is to be a graphs controller: an instance of it works.
pub const GRAPHS_AVAILABLE: &str = "GraphsAvailable";
/// Condition: a change is being rolled out.
pub const PROGRESSING: &str = "Progressing";
/// Condition: something is amiss.
pub const DEGRADED: &str = "Degraded";

/// Reason of Progressing while a person holds the operator.
const PAUSED: &str = "Paused";
/// Longest message of a condition that joins several.
const LONGEST: usize = 4096;

/// Where one condition stands.
struct Stand {
    status: bool,
    reason: String,
    message: String,
}

impl Stand {
    fn new(status: bool, reason: &str, message: impl Into<String>) -> Self {
        Self { status, reason: reason.to_owned(), message: message.into() }
    }
}

/// The status after a pass. Times are those of `previous` where nothing turned.
pub fn status(
    previous: &BrokerStatus,
    generation: Option<i64>,
    applied: &Applied,
    pods: &[Pod],
    now: Timestamp,
) -> BrokerStatus {
    let common = applied.troubles.as_slice();
    let broker = troubles(common, Program::Broker, applied.deployment.as_ref(), pods);
    let graphs = troubles(common, Program::Graphs, applied.graphs.as_ref(), pods);
    let all: Vec<Trouble> = common.iter().chain(&broker).chain(&graphs).cloned().collect();

    let available = |deployment: Option<&Deployment>, own: &[Trouble]| {
        rollout::available(deployment, common.first().or(own.first()))
    };
    let mut stands = vec![(AVAILABLE, available(applied.deployment.as_ref(), &broker))];
    stands.extend(applied.has_graphs.then(|| (GRAPHS_AVAILABLE, available(applied.graphs.as_ref(), &graphs))));
    stands.extend([(PROGRESSING, progressing(applied)), (DEGRADED, degraded(&all))]);

    let mut status = previous.clone();
    status.conditions.retain(|condition| applied.has_graphs || condition.type_ != GRAPHS_AVAILABLE);
    for (kind, stand) in stands {
        let Stand { status: is, reason, message } = stand;
        set_condition(&mut status.conditions, condition(kind, is, &reason, message, generation, now));
    }
    status.observed_generation = generation;
    status
}

/// What a program's Deployment and pods complain of, and nobody else does.
fn troubles(known: &[Trouble], program: Program, deployment: Option<&Deployment>, pods: &[Pod]) -> Vec<Trouble> {
    let Some(deployment) = deployment else { return Vec::new() };
    let mut troubles: Vec<Trouble> = Vec::new();
    for trouble in pods::troubles(program, pods).into_iter().chain(rollout::troubles(deployment)) {
        // A pod's own words say more than the Deployment's about it.
        if !known.iter().chain(&troubles).any(|known| known.reason == trouble.reason) {
            troubles.push(trouble);
        }
    }
    troubles
}

/// The status after a pass that could not be made: what is known stays, and why no more is.
pub fn degraded_only(
    previous: &BrokerStatus,
    generation: Option<i64>,
    trouble: &Trouble,
    now: Timestamp,
) -> BrokerStatus {
    let mut status = previous.clone();
    let told = condition(DEGRADED, true, &trouble.reason, &trouble.message, generation, now);
    set_condition(&mut status.conditions, told);
    status
}

fn progressing(applied: &Applied) -> Stand {
    match &applied.held {
        Some(Held::Paused) => {
            Stand::new(false, PAUSED, "the Broker is paused: nothing is changed until it no longer is")
        }
        Some(Held::Trouble(trouble)) => {
            Stand::new(false, &trouble.reason, "what runs is left as it is, see condition Degraded")
        }
        None => both(applied),
    }
}

/// The broker's rollout; once that is complete the other one's, if it has not come to its end.
fn both(applied: &Applied) -> Stand {
    let broker = rollout::progressing(applied.deployment.as_ref());
    if broker.reason != rollout::COMPLETE || !applied.has_graphs {
        return broker;
    }
    match rollout::progressing(applied.graphs.as_ref()) {
        graphs if graphs.reason == rollout::COMPLETE => broker,
        Stand { status, reason, message } => {
            Stand { status, reason, message: format!("{}: {message}", Program::Graphs.words()) }
        }
    }
}

/// The first trouble gives the reason, all of them the message.
fn degraded(troubles: &[Trouble]) -> Stand {
    let Some(first) = troubles.first() else { return Stand::new(false, "AsExpected", "") };
    let message = match troubles {
        [only] => only.message.clone(),
        several => {
            let told: Vec<String> = several.iter().map(|it| format!("{}: {}", it.reason, it.message)).collect();
            line(&told.join("; "), LONGEST)
        }
    };
    Stand::new(true, &first.reason, message)
}
