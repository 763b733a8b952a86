//! What was applied → a Broker's status. Knows no client.

pub mod pods;
pub mod rollout;
#[cfg(test)]
mod tests;

use broker_api::{
    broker::BrokerStatus,
    condition::{condition, set_condition},
};
use k8s_openapi::{api::core::v1::Pod, jiff::Timestamp};

use crate::{
    apply::Applied,
    trouble::{Trouble, line},
    validate::Held,
};

/// Condition: an instance works.
pub const AVAILABLE: &str = "Available";
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
    let mut troubles = applied.troubles.clone();
    if let Some(deployment) = &applied.deployment {
        for trouble in pods::troubles(pods).into_iter().chain(rollout::troubles(deployment)) {
            // A pod's own words say more than the Deployment's about it.
            if !troubles.iter().any(|known| known.reason == trouble.reason) {
                troubles.push(trouble);
            }
        }
    }
    let first = troubles.first();
    let stands = [
        (AVAILABLE, rollout::available(applied.deployment.as_ref(), first)),
        (PROGRESSING, progressing(applied)),
        (DEGRADED, degraded(&troubles)),
    ];
    let mut status = previous.clone();
    for (kind, stand) in stands {
        let Stand { status: is, reason, message } = stand;
        set_condition(&mut status.conditions, condition(kind, is, &reason, message, generation, now));
    }
    status.observed_generation = generation;
    status
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
        None => rollout::progressing(applied.deployment.as_ref()),
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
