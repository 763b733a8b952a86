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

use crate::{
    desired::Desired,
    graphs::{Graphs, PROBES_PORT},
    owner::Owner,
    program::Program,
    trouble::Trouble,
    validate::Validated,
};

use deployment::{Deployed, Pods};

/// All that a Broker shall have. What it has beyond this is to go.
#[derive(Debug, Clone)]
pub struct Built {
    /// Whose.
    pub owner: Owner,
    /// The objects, in the order in which they are applied.
    pub objects: Vec<Desired>,
    /// Whether a graphs controller is among them.
    pub has_graphs: bool,
    /// What is amiss but keeps nothing from being deployed.
    pub troubles: Vec<Trouble>,
}

/// Builds all objects of a Broker.
pub fn build(validated: Validated) -> Built {
    let Validated { owner, spec, invocation, graphs, accounts, elects, monitors, troubles } = validated;
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
        graphs: _, // in the other `graphs`
    } = spec;
    let Image { repository: _, tag: _, pull_policy, image_pull_secrets } = image.unwrap_or_default();
    let replicas = replicas.unwrap_or(1);
    // Who names the account that the operator makes anyway names none.
    let account = service_account_name.filter(|name| !name.is_empty() && *name != owner.name);

    let pods = Pods { security_context, annotations, labels, host_aliases, volumes, volume_mounts };

    let mut objects = Vec::new();
    if account.is_none() {
        objects.push(service_account::build(&owner, Program::Broker));
    }
    let account = account.unwrap_or_else(|| owner.name.clone());
    objects.extend(bindings::build(&owner, &account, &accounts, &invocation));
    let deployed = Deployed {
        replicas,
        one_election: invocation.options.leader_elect && elects,
        account,
        metrics_port: invocation.metrics_port(),
        probes_port: invocation.probes_port(),
        image: invocation.image,
        args: invocation.args,
        pull_policy,
        image_pull_secrets,
        resources,
        env,
        pods: pods.clone(),
    };
    objects.extend(program(&owner, Program::Broker, &deployed, monitors));
    let has_graphs = graphs.is_some();
    if let Some(graphs) = graphs {
        objects.push(service_account::build(&owner, Program::Graphs));
        objects.extend(bindings::build_graphs(&owner, &graphs));
        objects.extend(program(&owner, Program::Graphs, &graphs_deployed(&owner, graphs, pods), monitors));
    }
    Built { owner, objects, has_graphs, troubles }
}

fn graphs_deployed(owner: &Owner, graphs: Graphs, pods: Pods) -> Deployed {
    let Graphs {
        replicas,
        image,
        pull_policy,
        image_pull_secrets,
        args,
        metrics_port,
        lease_namespace: _, // in the arguments and the bindings, as are the next
        deletes_crds: _,
        distributes: _,
        secrets_namespace: _,
        resources,
        env,
    } = graphs;
    Deployed {
        replicas,
        one_election: true,
        account: Program::Graphs.name(owner),
        image,
        args,
        metrics_port,
        probes_port: Some(PROBES_PORT),
        pull_policy,
        image_pull_secrets,
        resources,
        env,
        pods,
    }
}

/// A Deployment, and what is around it but account and permissions.
fn program(owner: &Owner, program: Program, deployed: &Deployed, monitors: bool) -> Vec<Desired> {
    let mut objects =
        vec![network_policy::build(owner, program, deployed.metrics_port), deployment::build(owner, program, deployed)];
    if deployed.replicas > 1 {
        objects.push(disruption_budget::build(owner, program));
    }
    if let Some(port) = deployed.metrics_port {
        objects.push(service::build(owner, program, port));
        if monitors {
            objects.push(service_monitor::build(owner, program));
        }
    }
    objects
}
