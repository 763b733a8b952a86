//! A validated Broker → the objects that it shall have, and no more. Knows no client.

pub mod bindings;
mod deployment;
mod disruption_budget;
mod metadata;
mod network_policy;
mod service;
mod service_account;
mod service_monitor;
#[cfg(test)]
mod tests;

use broker_api::broker::{BrokerSpec, Image};

use crate::{desired::Desired, owner::Owner, trouble::Trouble, validate::Validated};

pub use deployment::Deployed;

/// All that a Broker shall have. What it has beyond this is to go.
#[derive(Debug, Clone)]
pub struct Built {
    /// Whose.
    pub owner: Owner,
    /// The objects, in the order in which they are applied.
    pub objects: Vec<Desired>,
    /// What is amiss but keeps nothing from being deployed.
    pub troubles: Vec<Trouble>,
}

/// Builds all objects of a Broker.
pub fn build(validated: Validated) -> Built {
    let Validated { owner, spec, invocation, accounts, elects, monitors, troubles } = validated;
    // Each field is named, so that a new one does not compile until it is used here.
    let BrokerSpec {
        replicas,
        image,
        service_account_name,
        resources,
        security_context,
        annotations,
        labels,
        extra_args: _, // in `invocation`, as are the next but one, and leader election and metrics
        host_aliases,
        env,
        volumes,
        volume_mounts,
        watch_kinds: _,
        cluster_secrets_namespace: _,
        leader_election: _,
        metrics: _,
    } = spec;
    let Image { repository: _, tag: _, pull_policy, image_pull_secrets } = image.unwrap_or_default();
    let replicas = replicas.unwrap_or(1);
    // Who names the account that the operator makes anyway names none.
    let account = service_account_name.filter(|name| !name.is_empty() && *name != owner.name);

    let mut objects = Vec::new();
    if account.is_none() {
        objects.push(service_account::build(&owner));
    }
    let account = account.unwrap_or_else(|| owner.name.clone());
    objects.extend(bindings::build(&owner, &account, &accounts, &invocation));
    let metrics_port = invocation.metrics_port();
    objects.push(network_policy::build(&owner, metrics_port));
    objects.push(deployment::build(
        &owner,
        &invocation,
        &Deployed {
            replicas,
            elects,
            account,
            pull_policy,
            image_pull_secrets,
            resources,
            security_context,
            annotations,
            labels,
            host_aliases,
            env,
            volumes,
            volume_mounts,
        },
    ));
    if replicas > 1 {
        objects.push(disruption_budget::build(&owner));
    }
    if let Some(port) = metrics_port {
        objects.push(service::build(&owner, port));
        if monitors {
            objects.push(service_monitor::build(&owner));
        }
    }
    Built { owner, objects, troubles }
}
