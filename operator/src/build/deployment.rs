//! The broker itself.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    EnvVar, HostAlias, LocalObjectReference, PodSecurityContext, ResourceRequirements, Volume, VolumeMount,
};
use serde_json::{Value, json};

use super::metadata::owned;
use crate::{
    desired::{Desired, Kind},
    invocation::Invocation,
    owner::{Owner, UID_LABEL},
};

/// What a Broker says of its Deployment, beyond the arguments.
#[derive(Debug, Clone, PartialEq)]
pub struct Deployed {
    /// How many instances.
    pub replicas: i32,
    /// Whether the instances that are there take part in the election of those that come.
    pub elects: bool,
    /// ServiceAccount of the pods.
    pub account: String,
    /// When to pull the image.
    pub pull_policy: Option<String>,
    /// With what.
    pub image_pull_secrets: Vec<LocalObjectReference>,
    /// Of the container.
    pub resources: Option<ResourceRequirements>,
    /// Of the pods.
    pub security_context: Option<PodSecurityContext>,
    /// Of Deployment and pods.
    pub annotations: BTreeMap<String, String>,
    /// Of Deployment and pods.
    pub labels: BTreeMap<String, String>,
    /// Of the pods.
    pub host_aliases: Vec<HostAlias>,
    /// Of the container.
    pub env: Vec<EnvVar>,
    /// Of the pods.
    pub volumes: Vec<Volume>,
    /// Of the container.
    pub volume_mounts: Vec<VolumeMount>,
}

/// Selector and name of the container are those of the Go operator: the first can never be changed, and with another
/// name a server-side apply would leave the old container next to the new one.
pub(super) fn build(owner: &Owner, invocation: &Invocation, deployed: &Deployed) -> Desired {
    let Deployed {
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
    } = deployed;

    let mut metadata = owned(owner, &owner.name);
    let mut own_labels = labels.clone();
    own_labels.extend(owner.labels());
    metadata["labels"] = json!(own_labels);
    metadata["annotations"] = json!(annotations);
    own_labels.insert("app".to_owned(), owner.name.clone());

    let mut container = json!({
        "name": owner.name,
        "image": invocation.image.to_string(),
        "args": invocation.args,
        "ports": ports(invocation),
        "resources": resources.as_ref().filter(|it| **it != ResourceRequirements::default())
            .map_or_else(default_resources, |resources| json!(resources)),
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "readOnlyRootFilesystem": true,
            "capabilities": {"drop": ["ALL"]},
        },
        // The last words of a broker that ends by itself are passed on in the Broker's conditions.
        "terminationMessagePolicy": "FallbackToLogsOnError",
    });
    if let Some(port) = invocation.probes_port() {
        probes(&mut container, port);
    }
    set(&mut container, "imagePullPolicy", pull_policy.as_deref().filter(|policy| !policy.is_empty()));
    set_list(&mut container, "env", env);
    set_list(&mut container, "volumeMounts", volume_mounts);

    let mut pod = json!({
        "serviceAccountName": account,
        "automountServiceAccountToken": true,
        "enableServiceLinks": false,
        // A broker finishes its writes and hands over within 3 s.
        "terminationGracePeriodSeconds": 15,
        "securityContext": security_context.as_ref().filter(|it| **it != PodSecurityContext::default())
            .map_or_else(default_security, |context| json!(context)),
        "containers": [container],
    });
    set_list(&mut pod, "imagePullSecrets", image_pull_secrets);
    set_list(&mut pod, "hostAliases", host_aliases);
    set_list(&mut pod, "volumes", volumes);
    if *replicas > 1 {
        pod["topologySpreadConstraints"] = json!([{
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": {"app": owner.name, UID_LABEL: owner.uid}},
        }]);
    }

    let object = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata,
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": owner.name}},
            "strategy": strategy(invocation.options.leader_elect && *elects),
            "progressDeadlineSeconds": 600,
            "revisionHistoryLimit": 3,
            "template": {"metadata": {"labels": own_labels, "annotations": annotations}, "spec": pod},
        },
    });
    Desired::new(Kind::Deployment, object)
}

/// A new instance is ready before an old one goes, and takes over its lease. Without one election there may never be two.
fn strategy(one_election: bool) -> Value {
    if one_election {
        json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}})
    } else {
        json!({"type": "Recreate"})
    }
}

fn ports(invocation: &Invocation) -> Vec<Value> {
    let port = |name: &str, port: u16| json!({"name": name, "containerPort": port, "protocol": "TCP"});
    let (metrics, probes) = (invocation.metrics_port(), invocation.probes_port());
    let mut ports: Vec<Value> = metrics.map(|number| port("metrics", number)).into_iter().collect();
    // Both may share a port, but a port is listed once.
    ports.extend(probes.filter(|number| Some(*number) != metrics).map(|number| port("probes", number)));
    ports
}

fn probes(container: &mut Value, port: u16) {
    let get = |path: &str| json!({"path": path, "port": port});
    container["startupProbe"] = json!({"httpGet": get("/healthz"), "periodSeconds": 1, "failureThreshold": 60});
    container["livenessProbe"] =
        json!({"httpGet": get("/healthz"), "periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": 6});
    container["readinessProbe"] = json!({"httpGet": get("/readyz"), "periodSeconds": 2, "timeoutSeconds": 2});
}

/// What the bench shows to suffice: a broker of ten thousand objects, with room to start.
fn default_resources() -> Value {
    json!({"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"cpu": "2", "memory": "1Gi"}})
}

fn default_security() -> Value {
    json!({
        "runAsNonRoot": true,
        "runAsUser": 65532,
        "runAsGroup": 65532,
        "fsGroup": 65532,
        "seccompProfile": {"type": "RuntimeDefault"},
    })
}

fn set(object: &mut Value, field: &str, value: Option<&str>) {
    if let Some(value) = value {
        object[field] = value.into();
    }
}

/// Sets a list that is not empty.
fn set_list<T: serde::Serialize>(object: &mut Value, field: &str, items: &[T]) {
    if !items.is_empty() {
        object[field] = json!(items);
    }
}
