//! The programs themselves.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    EnvVar, HostAlias, LocalObjectReference, PodSecurityContext, ResourceRequirements, Volume, VolumeMount,
};
use serde_json::{Value, json};

use super::metadata::owned;
use crate::{
    desired::{Desired, OwnedKind},
    image::Image,
    owner::Owner,
    program::Program,
};

/// What a Broker says of one program.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Deployed {
    /// How many instances.
    pub(super) replicas: i32,
    /// Whether the instances that are there and those that come take part in one election.
    pub(super) one_election: bool,
    /// ServiceAccount of the pods.
    pub(super) account: String,
    /// The image's full name.
    pub(super) image: Image,
    /// The container's arguments.
    pub(super) args: Vec<String>,
    /// Port of the metrics, if there are any.
    pub(super) metrics_port: Option<u16>,
    /// Port of the probes, if there are any.
    pub(super) probes_port: Option<u16>,
    /// When to pull the image.
    pub(super) pull_policy: Option<String>,
    /// With what.
    pub(super) image_pull_secrets: Vec<LocalObjectReference>,
    /// Of the container.
    pub(super) resources: Option<ResourceRequirements>,
    /// Of the container.
    pub(super) env: Vec<EnvVar>,
    /// Of the pods of both programs.
    pub(super) pods: Pods,
}

/// What a Broker says of the pods of both of its programs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pods {
    /// Of the pods.
    pub(super) security_context: Option<PodSecurityContext>,
    /// Of Deployment and pods.
    pub(super) annotations: BTreeMap<String, String>,
    /// Of Deployment and pods.
    pub(super) labels: BTreeMap<String, String>,
    /// Of the pods.
    pub(super) host_aliases: Vec<HostAlias>,
    /// Of the pods.
    pub(super) volumes: Vec<Volume>,
    /// Of the container.
    pub(super) volume_mounts: Vec<VolumeMount>,
}

/// The selector can never be changed; that of the broker is the one that the Go operator gave it.
pub(super) fn build(owner: &Owner, program: Program, deployed: &Deployed) -> Desired {
    let Deployed {
        replicas,
        one_election,
        account,
        image,
        args,
        metrics_port,
        probes_port,
        pull_policy,
        image_pull_secrets,
        resources,
        env,
        pods,
    } = deployed;
    let Pods { security_context, annotations, labels, host_aliases, volumes, volume_mounts } = pods;

    let name = program.name(owner);
    let mut metadata = owned(owner, program, &name);
    let mut own_labels = labels.clone();
    own_labels.extend(program.labels(owner));
    metadata["labels"] = json!(own_labels);
    metadata["annotations"] = json!(annotations);
    own_labels.insert("app".to_owned(), name.clone());

    let mut container = json!({
        "name": program.container_name(owner),
        "image": image.to_string(),
        "args": args,
        "ports": ports(*metrics_port, *probes_port),
        "resources": resources.as_ref().filter(|it| **it != ResourceRequirements::default())
            .map_or_else(default_resources, |resources| json!(resources)),
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "readOnlyRootFilesystem": true,
            "capabilities": {"drop": ["ALL"]},
        },
        // The last words of a program that ends by itself are passed on in the Broker's conditions.
        "terminationMessagePolicy": "FallbackToLogsOnError",
    });
    if let Some(port) = probes_port {
        probes(&mut container, *port);
    }
    set(&mut container, "imagePullPolicy", pull_policy.as_deref().filter(|policy| !policy.is_empty()));
    set_list(&mut container, "env", env);
    set_list(&mut container, "volumeMounts", volume_mounts);

    let mut pod = json!({
        "serviceAccountName": account,
        "automountServiceAccountToken": true,
        "enableServiceLinks": false,
        // Either program finishes its writes and hands over within 3 s.
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
            "labelSelector": {"matchLabels": program.pod_selector(owner)},
        }]);
    }

    let object = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata,
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "strategy": strategy(*one_election),
            "progressDeadlineSeconds": 600,
            "revisionHistoryLimit": 3,
            "template": {"metadata": {"labels": own_labels, "annotations": annotations}, "spec": pod},
        },
    });
    Desired::new(OwnedKind::Deployment, object)
}

/// A new instance is ready before an old one goes, and takes over its lease. Without one election there may never be two.
fn strategy(one_election: bool) -> Value {
    if one_election {
        json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}})
    } else {
        json!({"type": "Recreate"})
    }
}

fn ports(metrics: Option<u16>, probes: Option<u16>) -> Vec<Value> {
    let port = |name: &str, port: u16| json!({"name": name, "containerPort": port, "protocol": "TCP"});
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
