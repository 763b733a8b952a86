//! A Broker and what is known around it → [`Validated`], or why nothing is to be done. Knows no client.

use std::collections::BTreeSet;

use broker_api::broker::{Broker, BrokerSpec};

use crate::{
    defaults::Defaults,
    dereference::Secrets,
    graphs::Graphs,
    invocation::{Invocation, InvocationError},
    owner::Owner,
    trouble::{INVALID_SPEC, NO_CLUSTER_SECRETS, NO_CLUSTERS, Trouble},
};

/// Annotation by which people keep the operator from writing.
pub const PAUSED: &str = broker_api::keys::PAUSED;

/// The ServiceAccount of pods that name none.
const EVERYBODY: &str = "default";

/// A Broker that can be deployed.
#[derive(Debug, Clone)]
pub struct Validated {
    /// Who it is.
    pub owner: Owner,
    /// What it asks for.
    pub spec: BrokerSpec,
    /// How the broker will be called.
    pub invocation: Invocation,
    /// How its graphs controller will be called, if there is to be one.
    pub graphs: Option<Graphs>,
    /// ServiceAccounts that its pods run as now.
    pub accounts: BTreeSet<String>,
    /// Whether its pods of now take part in the election of those to come.
    pub elects: bool,
    /// Whether ServiceMonitors can be made.
    pub monitors: bool,
    /// What is amiss but keeps nothing from being deployed.
    pub troubles: Vec<Trouble>,
}

/// Why everything stays as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Held {
    /// A person said so.
    Paused,
    /// It cannot be deployed as it is.
    Trouble(Trouble),
}

/// What a Broker is judged by.
#[derive(Debug)]
pub struct Input<'a> {
    /// Who it is.
    pub owner: &'a Owner,
    /// The Broker, or why it could not be read.
    pub broker: Result<&'a Broker, &'a str>,
    /// What it need not say.
    pub defaults: &'a Defaults,
    /// How its broker will be called. None where the Broker could not be read.
    pub invocation: Option<Result<Invocation, InvocationError>>,
    /// Whether there are cluster Secrets.
    pub secrets: Secrets,
    /// ServiceAccounts that its pods run as now.
    pub accounts: BTreeSet<String>,
    /// Whether its pods of now take part in the election of those to come.
    pub elects: bool,
    /// Whether ServiceMonitors can be made.
    pub monitors: bool,
}

/// Judges a Broker.
pub fn validate(input: Input<'_>) -> Result<Validated, Held> {
    let Input { owner, broker, defaults, invocation, secrets, accounts, elects, monitors } = input;
    let invalid = |message: &str| Held::Trouble(Trouble::new(INVALID_SPEC, message));
    let broker = broker.map_err(|error| invalid(&format!("the Broker cannot be read: {error}")))?;
    if broker.metadata.annotations.iter().flatten().any(|(key, value)| key == PAUSED && value == "true") {
        return Err(Held::Paused);
    }
    if !is_label(&owner.name) {
        return Err(invalid(&format!(
            "the name {:?} cannot be that of a container: use at most 63 of a-z, 0-9 and -, beginning and ending with a \
             letter or digit",
            owner.name
        )));
    }
    let invocation = match invocation {
        Some(Ok(invocation)) => invocation,
        Some(Err(error)) => return Err(invalid(&error.to_string())),
        None => return Err(invalid("its arguments are not known")),
    };
    if invocation.options.coordination().is_none() && invocation.options.namespace.as_ref() != Some(&owner.namespace) {
        return Err(invalid(&format!(
            "extraArgs set --namespace, but the broker may keep its signing key and lease in {} only, where the Broker is",
            owner.namespace
        )));
    }
    let spec = broker.spec.clone();
    if spec.replicas.unwrap_or(1) > 1 && !invocation.options.leader_elect {
        return Err(invalid(
            "spec.replicas is more than 1, but the arguments switch the leader election off: several brokers would work \
             at once; remove leader-elect=false, or set replicas to 1",
        ));
    }
    if owner.name == EVERYBODY && spec.service_account_name.as_deref().unwrap_or_default().is_empty() {
        return Err(invalid(
            "a Broker of this name would run as ServiceAccount default, and so share its permissions with all pods of the \
             namespace that name none: use another name, or set spec.serviceAccountName",
        ));
    }
    let graphs = Graphs::of(&spec, &invocation, defaults).map_err(|error| invalid(&error.to_string()))?;
    let mut troubles = Vec::new();
    match (&*invocation.secrets_namespaces(), secrets) {
        // One that is stopped, for the sake of its graphs controller perhaps, needs none.
        _ if spec.replicas == Some(0) => {}
        (namespaces @ [_, ..], Secrets::None) if !invocation.has_files() => {
            let message = format!(
                "namespace {} holds no Secret with label {}: add one for each consumer and provider cluster",
                namespaces.join(" or "),
                broker_api::keys::ROLE
            );
            return Err(Held::Trouble(Trouble::new(NO_CLUSTER_SECRETS, &message)));
        }
        _ if !invocation.has_clusters() => {
            let message = "neither spec.clusterSecretsNamespace nor arguments name any cluster: the broker runs, but has \
                           nothing to do";
            troubles.push(Trouble::new(NO_CLUSTERS, message));
        }
        _ => {}
    }
    Ok(Validated { owner: owner.clone(), spec, invocation, graphs, accounts, elects, monitors, troubles })
}

/// Whether a name can be a container's: a DNS label.
fn is_label(name: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = name.as_bytes();
    (1..=63).contains(&bytes.len())
        && bytes.iter().all(|byte| inner(*byte) || *byte == b'-')
        && bytes.first().copied().is_some_and(inner)
        && bytes.last().copied().is_some_and(inner)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::{Value, json};

    use super::*;
    use crate::image::Image;

    const KIND: &str = "Certificate.v1alpha1.example.platform-mesh.io";

    fn defaults() -> Defaults {
        let [broker, graphs] = ["resource-broker:1", "resource-graphs:1"].map(Image::parse);
        Defaults { broker, graphs, namespace: "system".into() }
    }

    fn judge(name: &str, broker: &Value, secrets: Secrets) -> Result<Validated, Held> {
        let owner = Owner { name: name.into(), namespace: "n".into(), uid: "u".into() };
        let mut whole = json!({
            "apiVersion": "operator.broker.platform-mesh.io/v1alpha1", "kind": "Broker",
            "metadata": {"name": name, "namespace": "n", "uid": "u"}, "spec": {},
        });
        whole["spec"] = broker["spec"].clone();
        whole["metadata"]["annotations"] = broker["annotations"].clone();
        let broker: Broker = serde_json::from_value(whole).unwrap();
        let invocation = Some(Invocation::of(&owner, &broker.spec, &Image::parse("resource-broker:1")));
        validate(Input {
            owner: &owner,
            broker: Ok(&broker),
            defaults: &defaults(),
            invocation,
            secrets,
            accounts: BTreeSet::new(),
            elects: true,
            monitors: true,
        })
    }

    fn trouble(held: Result<Validated, Held>) -> Trouble {
        match held {
            Err(Held::Trouble(trouble)) => trouble,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_cannot_be_deployed_is_told() {
        for (name, spec, words) in [
            ("b", json!({}), "--watch-kind"),
            (
                "b",
                json!({"watchKinds": [KIND], "replicas": 2, "extraArgs": ["-leader-elect=false"]}),
                "leader-elect=false",
            ),
            (
                "b",
                json!({"watchKinds": [KIND], "graphs": {"enabled": true, "extraArgs": ["--leader-elect=false"]}}),
                "spec.graphs.extraArgs",
            ),
            ("B.c", json!({"watchKinds": [KIND]}), "container"),
            ("default", json!({"watchKinds": [KIND]}), "ServiceAccount default"),
            (&"b".repeat(64), json!({"watchKinds": [KIND]}), "container"),
        ] {
            let trouble = trouble(judge(name, &json!({"spec": spec}), Secrets::Unknown));
            assert_eq!(trouble.reason, INVALID_SPEC);
            assert!(trouble.message.contains(words), "{trouble:?}");
        }
    }

    #[test]
    fn a_broker_without_secrets_waits_for_them_unless_it_cannot_be_known() {
        let broker = json!({"spec": {"watchKinds": [KIND], "clusterSecretsNamespace": "c"}});
        let trouble = trouble(judge("b", &broker, Secrets::None));
        assert_eq!(trouble.reason, NO_CLUSTER_SECRETS);
        assert!(trouble.message.contains("namespace c "), "{trouble:?}");
        assert!(judge("b", &broker, Secrets::Unknown).unwrap().troubles.is_empty());
        assert!(judge("b", &broker, Secrets::Some).unwrap().troubles.is_empty());
        let files = json!({"spec": {"watchKinds": [KIND], "clusterSecretsNamespace": "c",
            "extraArgs": ["-consumer-kubeconfig=/a"]}});
        assert!(judge("b", &files, Secrets::None).unwrap().troubles.is_empty());
    }

    #[test]
    fn a_broker_without_clusters_is_deployed_all_the_same() {
        let validated = judge("b", &json!({"spec": {"watchKinds": [KIND]}}), Secrets::Unknown).unwrap();
        assert!(matches!(&validated.troubles[..], [trouble] if trouble.reason == NO_CLUSTERS));
    }

    #[test]
    fn a_broker_that_is_stopped_needs_neither_kinds_nor_clusters() {
        let spec = json!({"replicas": 0, "clusterSecretsNamespace": "c", "graphs": {"enabled": true}});
        let validated = judge("b", &json!({"spec": spec}), Secrets::None).unwrap();
        assert!(validated.troubles.is_empty() && validated.graphs.is_some(), "{validated:?}");
        assert!(judge("b", &json!({"spec": {"replicas": 0}}), Secrets::Unknown).unwrap().graphs.is_none());
    }

    #[test]
    fn the_name_default_is_fine_with_an_account_of_its_own() {
        judge("default", &json!({"spec": {"watchKinds": [KIND], "serviceAccountName": "own"}}), Secrets::Unknown)
            .unwrap();
    }

    #[test]
    fn a_pause_goes_before_all_else() {
        let broker = json!({"spec": {}, "annotations": {"broker.platform-mesh.io/paused": "true"}});
        assert_eq!(judge("b", &broker, Secrets::None).unwrap_err(), Held::Paused);
    }

    #[test]
    fn what_cannot_be_read_is_told() {
        let owner = Owner { name: "b".into(), namespace: "n".into(), uid: "u".into() };
        let input = Input {
            owner: &owner,
            broker: Err("missing field"),
            defaults: &defaults(),
            invocation: None,
            secrets: Secrets::Unknown,
            accounts: BTreeSet::new(),
            elects: true,
            monitors: false,
        };
        assert!(trouble(validate(input)).message.contains("missing field"));
    }
}
