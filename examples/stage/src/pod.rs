//! A pod, as far as `pod-runner` understands it: which program it runs, and with what. Pure.

use std::collections::BTreeMap;
use std::path::PathBuf;

use k8s_openapi::api::core::v1::{EnvVar, Pod};
use kube::ResourceExt;

/// Programs by the name that images and commands call them by. Nothing else is run: whoever may create pods may not run
/// any command of this machine.
pub type Programs = BTreeMap<String, PathBuf>;

/// What a pod runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Work {
    /// Name of the container.
    pub container: String,
    /// Name of the program: the first word of `command`, or else what the image is called, without registry and tag.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its environment.
    pub environment: Vec<Variable>,
    /// The ServiceAccount that it acts as, where the pod names one.
    pub account: Option<String>,
    /// Path of the readiness probe, where there is one.
    pub readiness: Option<String>,
    /// Whether it is started again when it ends.
    pub restart: Restart,
    /// How long it may take to end when it is told to, in seconds.
    pub grace: u64,
}

/// `restartPolicy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restart {
    /// Whatever came of it.
    Always,
    /// When it failed.
    OnFailure,
    /// Not at all.
    Never,
}

/// One variable of the environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Variable {
    /// `value`, or a field of the pod.
    Text {
        /// Name of the variable.
        name: String,
        /// Its value.
        value: String,
    },
    /// `valueFrom.secretKeyRef`.
    Secret {
        /// Name of the variable.
        name: String,
        /// Name of the Secret, in the pod's namespace.
        secret: String,
        /// Key in it.
        key: String,
    },
}

/// What the pod runs, or why this runner cannot run it.
pub fn work(pod: &Pod) -> Result<Work, String> {
    let spec = pod.spec.as_ref().ok_or("the pod has no spec")?;
    let [container] = spec.containers.as_slice() else {
        return Err("this runner runs pods with one container".to_owned());
    };
    let mut words = container.command.iter().flatten().cloned();
    let program = match words.next() {
        Some(word) => word,
        None => image_name(container.image.as_deref().unwrap_or_default()).to_owned(),
    };
    let environment = container.env.iter().flatten().map(|variable| read(variable, pod)).collect::<Result<_, _>>()?;
    let readiness = container.readiness_probe.as_ref().and_then(|probe| probe.http_get.as_ref());
    let grace = spec.termination_grace_period_seconds.and_then(|seconds| u64::try_from(seconds).ok());
    Ok(Work {
        container: container.name.clone(),
        program,
        args: words.chain(container.args.iter().flatten().cloned()).collect(),
        environment,
        account: spec.service_account_name.clone().filter(|name| !name.is_empty()),
        readiness: readiness.map(|get| get.path.clone().unwrap_or_else(|| "/".to_owned())),
        restart: match spec.restart_policy.as_deref() {
            Some("Never") => Restart::Never,
            Some("OnFailure") => Restart::OnFailure,
            _ => Restart::Always,
        },
        grace: grace.unwrap_or(30),
    })
}

/// `resource-broker` of `localhost:5000/a/resource-broker:0.1.0@sha256:…`.
fn image_name(image: &str) -> &str {
    let last = image.rsplit('/').next().unwrap_or_default();
    last.split(['@', ':']).next().unwrap_or_default()
}

fn read(variable: &EnvVar, pod: &Pod) -> Result<Variable, String> {
    let name = variable.name.clone();
    let Some(source) = &variable.value_from else {
        return Ok(Variable::Text { name, value: variable.value.clone().unwrap_or_default() });
    };
    if let Some(secret) = &source.secret_key_ref {
        return Ok(Variable::Secret { name, secret: secret.name.clone(), key: secret.key.clone() });
    }
    let field = source.field_ref.as_ref().map(|field| field.field_path.as_str());
    match field {
        Some("metadata.name") => Ok(Variable::Text { name, value: pod.name_any() }),
        Some("metadata.namespace") => Ok(Variable::Text { name, value: pod.namespace().unwrap_or_default() }),
        _ => Err(format!(
            "variable {name}: this runner knows `value`, `valueFrom.secretKeyRef`, and `fieldRef` of name and namespace"
        )),
    }
}

/// Whether the pod has come to its end: it is never started again.
pub fn has_ended(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed"))
}

/// The variable that names a program's kubeconfig: `RESOURCE_BROKER_KUBECONFIG`.
pub fn kubeconfig_variable(program: &str) -> String {
    format!("{}_KUBECONFIG", program.to_uppercase().replace('-', "_"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::{Value, json};

    use super::*;

    fn pod(container: &Value) -> Pod {
        let spec = json!({
            "containers": [container], "serviceAccountName": "broker", "terminationGracePeriodSeconds": 15,
            "restartPolicy": "Never",
        });
        serde_json::from_value(json!({ "metadata": { "name": "a", "namespace": "n" }, "spec": spec })).unwrap()
    }

    #[test]
    fn an_image_is_a_program() {
        let probe = json!({ "httpGet": { "path": "/readyz", "port": 8081 } });
        let image = "localhost:5000/x/resource-broker:0.1.0";
        let container = json!({ "name": "c", "image": image, "args": ["--leader-elect"], "readinessProbe": probe });
        let work = work(&pod(&container)).unwrap();
        assert_eq!(
            (work.program.as_str(), work.args.as_slice()),
            ("resource-broker", &["--leader-elect".to_owned()][..])
        );
        assert_eq!((work.account.as_deref(), work.readiness.as_deref()), (Some("broker"), Some("/readyz")));
        assert_eq!((work.restart, work.grace), (Restart::Never, 15));
        for image in ["resource-broker", "a/resource-broker@sha256:12", "resource-broker:1@sha256:12"] {
            assert_eq!(image_name(image), "resource-broker");
        }
        assert_eq!(kubeconfig_variable("resource-broker"), "RESOURCE_BROKER_KUBECONFIG");
    }

    #[test]
    fn a_command_goes_before_the_image() {
        let secret = json!({ "name": "B", "valueFrom": { "secretKeyRef": { "name": "s", "key": "k" } } });
        let field = json!({ "name": "C", "valueFrom": { "fieldRef": { "fieldPath": "metadata.namespace" } } });
        let env = json!([{ "name": "A", "value": "1" }, secret, field]);
        let container = json!({ "name": "c", "image": "i", "command": ["program", "copy"], "args": ["x"], "env": env });
        let work = work(&pod(&container)).unwrap();
        assert_eq!((work.program.as_str(), work.args.join(" ").as_str()), ("program", "copy x"));
        assert_eq!(
            work.environment,
            [
                Variable::Text { name: "A".into(), value: "1".into() },
                Variable::Secret { name: "B".into(), secret: "s".into(), key: "k".into() },
                Variable::Text { name: "C".into(), value: "n".into() },
            ]
        );
    }

    #[test]
    fn what_it_cannot_run_is_told() {
        let env = json!([{ "name": "A", "valueFrom": { "fieldRef": { "fieldPath": "status.podIP" } } }]);
        let error = work(&pod(&json!({ "name": "c", "env": env }))).unwrap_err();
        assert!(error.contains("variable A"), "{error}");
        let mut two = pod(&json!({ "name": "c" }));
        two.spec.as_mut().unwrap().containers.push(k8s_openapi::api::core::v1::Container::default());
        assert!(work(&two).unwrap_err().contains("one container"));
    }
}
