//! Reads what a pass goes by, live: a pass that believed a late cache would write what is there already.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
};

use broker_api::{Role, broker::Broker};
use futures::future::try_join_all;
use k8s_openapi::api::{
    apps::v1::{Deployment, ReplicaSet},
    core::v1::{Pod, Secret},
};
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, ListParams, ObjectMeta, TypeMeta},
};
use serde::de::DeserializeOwned;
use tracing::warn;

use crate::{
    call::{CallError, call, call_opt},
    context::Context,
    desired::{Key, OwnedKind},
    invocation::Invocation,
    owner::Owner,
    program::Program,
    status::{pods::has_ended, rollout::is_rolled_out},
};

/// Whether namespaces hold cluster Secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Secrets {
    /// At least one.
    Some,
    /// All were listed, and there is none.
    None,
    /// Nobody asked, or the operator may not look everywhere.
    Unknown,
}

/// What is around a Broker.
#[derive(Debug)]
pub struct Dereferenced {
    /// Objects that carry the Broker's label.
    pub listed: BTreeMap<Key, DynamicObject>,
    /// Its Deployment, also one without the label.
    pub deployment: Option<Deployment>,
    /// The Deployment of its graphs controller.
    pub graphs: Option<Deployment>,
    /// Pods of both.
    pub pods: Vec<Pod>,
    /// ReplicaSets that carry its label.
    pub replica_sets: Vec<ReplicaSet>,
    /// Whether there are cluster Secrets.
    pub secrets: Secrets,
}

impl Dereferenced {
    /// Pods of a program that have not ended. Those that are about to end still hand over.
    pub fn running(&self, program: Program) -> impl Iterator<Item = &Pod> {
        self.pods_of(program).filter(|pod| !has_ended(pod))
    }

    fn pods_of(&self, program: Program) -> impl Iterator<Item = &Pod> {
        self.pods.iter().filter(move |pod| Program::of(&pod.metadata) == program)
    }

    /// Whether all pods that the Deployment has or may have agree on which one works, by the lease that `invocation` names.
    /// While they are replaced by others that do, some of them may not.
    pub fn elects(&self, invocation: &Invocation) -> bool {
        let Some(deployment) = &self.deployment else { return true };
        let Some(spec) = &deployment.spec else { return false };
        let recreated = spec.strategy.as_ref().and_then(|strategy| strategy.type_.as_deref()) == Some("Recreate");
        let containers = spec.template.spec.iter().flat_map(|spec| &spec.containers);
        let mut args = containers.map(|container| container.args.as_deref().unwrap_or_default());
        spec.replicas == Some(0) && self.pods_of(Program::Broker).next().is_none()
            || args.all(|args| invocation.has_lease_of(args)) && (!recreated || is_rolled_out(deployment))
    }

    /// ServiceAccounts that its pods run as. A label alone makes no pod its own: anybody may write one, and would get the
    /// broker's permissions for any account. Its own come from a ReplicaSet of its Deployment, and run as that says.
    pub fn accounts(&self) -> BTreeSet<String> {
        let controller = |metadata: &ObjectMeta| {
            let mut owners = metadata.owner_references.iter().flatten();
            owners.find(|owner| owner.controller == Some(true)).map(|owner| owner.uid.clone())
        };
        let deployment = self.deployment.as_ref().and_then(|deployment| deployment.metadata.uid.as_ref());
        let own = |set: &&ReplicaSet| deployment.is_some() && controller(&set.metadata).as_ref() == deployment;
        let of_set = |set: &ReplicaSet| {
            let pod = set.spec.as_ref()?.template.as_ref()?.spec.as_ref()?;
            Some((set.metadata.uid.clone()?, pod.service_account_name.clone()?))
        };
        let sets: BTreeMap<String, String> = self.replica_sets.iter().filter(own).filter_map(of_set).collect();
        let of_pod = |pod: &Pod| {
            let account = sets.get(&controller(&pod.metadata)?)?;
            let runs_as = pod.spec.as_ref()?.service_account_name.as_ref()?;
            (runs_as == account && !account.is_empty()).then(|| account.clone())
        };
        self.running(Program::Broker).filter_map(of_pod).collect()
    }
}

/// Something could not be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {what}: {error}")]
pub struct DereferenceError {
    what: String,
    error: CallError,
}

impl DereferenceError {
    /// Whether asking again is in vain until somebody changes something.
    pub fn is_refusal(&self) -> bool {
        self.error.is_refusal()
    }
}

fn reading<T>(what: impl Into<String>, result: Result<T, CallError>) -> Result<T, DereferenceError> {
    result.map_err(|error| DereferenceError { what: what.into(), error })
}

/// Brokers as they come: one that is not as it should be is no reason to serve none.
pub fn brokers(client: &Client, namespace: &str) -> Api<DynamicObject> {
    Api::namespaced_with(client.clone(), namespace, &ApiResource::erase::<Broker>(&()))
}

/// The Broker as it is now.
pub async fn broker(client: &Client, namespace: &str, name: &str) -> Result<Option<DynamicObject>, DereferenceError> {
    reading(format!("Broker {namespace}/{name}"), call_opt(brokers(client, namespace).get(name)).await)
}

/// What is around a Broker; `secrets_namespaces` are those of its cluster Secrets.
pub async fn surroundings(
    context: &Context,
    owner: &Owner,
    secrets_namespaces: &[String],
) -> Result<Dereferenced, DereferenceError> {
    let client = &context.client;
    let lists = try_join_all(
        OwnedKind::ALL
            .into_iter()
            .filter(|kind| *kind != OwnedKind::ServiceMonitor || context.has_monitors())
            .map(|kind| list(client, kind, owner)),
    );
    let pods: Api<Pod> = Api::namespaced(client.clone(), &owner.namespace);
    let labelled = ListParams::default().labels(&owner.selector());
    let sets: Api<ReplicaSet> = Api::namespaced(client.clone(), &owner.namespace);
    let (lists, pods, sets, secrets) = tokio::join!(
        lists,
        call(pods.list(&labelled)),
        call(sets.list(&labelled)),
        secrets(context, secrets_namespaces)
    );
    let listed: BTreeMap<Key, DynamicObject> = lists?.into_iter().flatten().collect();
    let key = |program: Program| Key {
        kind: OwnedKind::Deployment,
        namespace: Some(owner.namespace.clone()),
        name: program.name(owner),
    };
    let graphs = listed.get(&key(Program::Graphs)).filter(|object| owner.owns(&object.metadata)).and_then(typed);
    let key = key(Program::Broker);
    let deployment = match listed.get(&key) {
        Some(object) => Some(object.clone()),
        None => reading(key.to_string(), call_opt(key.api(client).get(&key.name)).await)?,
    };
    let deployment = deployment.filter(|object| owner.owns(&object.metadata));
    Ok(Dereferenced {
        listed,
        deployment: deployment.and_then(|object| typed(&object)),
        graphs,
        pods: reading("Pods", pods)?.items,
        replica_sets: reading("ReplicaSets", sets)?.items,
        secrets: secrets?,
    })
}

async fn list(client: &Client, kind: OwnedKind, owner: &Owner) -> Result<Vec<(Key, DynamicObject)>, DereferenceError> {
    let namespace = (kind != OwnedKind::RoleBinding).then_some(owner.namespace.as_str());
    let labelled = ListParams::default().labels(&owner.selector());
    match call(kind.api(client, namespace).list(&labelled)).await {
        Ok(list) => {
            let resource = kind.resource();
            let types = TypeMeta { api_version: resource.api_version, kind: resource.kind };
            // Items of a list do not say what they are.
            let objects = list.items.into_iter().map(|object| DynamicObject { types: Some(types.clone()), ..object });
            Ok(objects.map(|object| (Key::of(kind, &object), object)).collect())
        }
        // The CRD went a moment ago.
        Err(error) if kind == OwnedKind::ServiceMonitor && error.code() == Some(404) => Ok(Vec::new()),
        Err(error) => reading(format!("{kind:?}s"), Err(error)),
    }
}

async fn secrets(context: &Context, namespaces: &[String]) -> Result<Secrets, DereferenceError> {
    let found = try_join_all(namespaces.iter().map(|namespace| secrets_of(context, namespace))).await?;
    Ok(if found.contains(&Secrets::Some) {
        Secrets::Some
    } else if found.is_empty() || found.contains(&Secrets::Unknown) {
        Secrets::Unknown
    } else {
        Secrets::None
    })
}

async fn secrets_of(context: &Context, namespace: &str) -> Result<Secrets, DereferenceError> {
    let api: Api<Secret> = Api::namespaced(context.client.clone(), namespace);
    // Spokes are clusters of the graphs controller, not of the broker.
    let role = broker_api::keys::ROLE;
    let one = ListParams::default().labels(&format!("{role},{role}!={}", Role::Spoke)).limit(1);
    match call(api.list_metadata(&one)).await {
        Ok(list) if list.items.is_empty() => Ok(Secrets::None),
        Ok(_) => Ok(Secrets::Some),
        Err(error) if error.is_refusal() => {
            if context.is_news(namespace) {
                warn!(%namespace, %error, "cannot tell whether there are cluster Secrets: brokers are deployed all the same");
            }
            Ok(Secrets::Unknown)
        }
        Err(error) => reading(format!("Secrets of {namespace}"), Err(error)),
    }
}

/// An object that the API server gave as one of a kind. None if it is not.
pub fn typed<T: DeserializeOwned + Debug>(object: &DynamicObject) -> Option<T> {
    let value = serde_json::to_value(object).ok()?;
    serde_json::from_value(value).inspect_err(|error| warn!(%error, "an object is not what its kind says")).ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::{Value, json};

    use super::*;

    fn owned(name: &str, owner: &str, spec: &Value) -> Value {
        let owner = json!({"apiVersion": "apps/v1", "kind": "X", "name": "x", "uid": owner, "controller": true});
        json!({"metadata": {"name": name, "uid": name, "ownerReferences": [owner]}, "spec": spec})
    }

    fn set(name: &str, owner: &str, account: &str) -> ReplicaSet {
        let template = json!({"spec": {"containers": [], "serviceAccountName": account}});
        serde_json::from_value(owned(name, owner, &json!({"selector": {}, "template": template}))).unwrap()
    }

    fn pod(name: &str, owner: &str, account: &str) -> Pod {
        serde_json::from_value(owned(name, owner, &json!({"containers": [], "serviceAccountName": account}))).unwrap()
    }

    #[test]
    fn only_accounts_of_pods_that_the_deployment_made_count() {
        let deployment = serde_json::from_value(json!({"metadata": {"name": "b", "uid": "deployment"}})).unwrap();
        let mut found = Dereferenced {
            listed: BTreeMap::new(),
            deployment: Some(deployment),
            graphs: None,
            replica_sets: vec![set("own", "deployment", "b"), set("theirs", "elsewhere", "mallory")],
            pods: vec![
                pod("a", "own", "b"),
                pod("b", "theirs", "mallory"),
                // Who names its owner wrongly runs as somebody else.
                pod("c", "own", "mallory"),
                pod("d", "deployment", "mallory"),
            ],
            secrets: Secrets::Unknown,
        };
        assert_eq!(found.accounts(), BTreeSet::from(["b".to_owned()]));
        found.deployment = None;
        assert!(found.accounts().is_empty());
    }
}
