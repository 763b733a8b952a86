//! What brings a pass: a change of a Broker, of one of its objects, of its pods, or of what kinds there are.

use std::{fmt::Debug, sync::Arc, time::Duration};

use broker_api::broker::Broker;
use futures::{StreamExt as _, channel::mpsc};
use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{Pod, Service, ServiceAccount},
    networking::v1::NetworkPolicy,
    policy::v1::PodDisruptionBudget,
    rbac::v1::{ClusterRoleBinding, RoleBinding},
};
use kube::{
    Api, Resource, ResourceExt as _,
    api::PartialObjectMeta,
    runtime::{Controller, controller, reflector::ObjectRef, watcher},
};
use tracing::{debug, warn};

use crate::{
    NAME,
    build::bindings,
    context::Context,
    monitors,
    owner::{INSTANCE_LABEL, MANAGED_BY_LABEL},
    reconcile::{Seen, error_policy, reconcile},
};

/// A rollout brings many events at once; passes over one Broker begin so far apart.
const DEBOUNCE: Duration = Duration::from_millis(100);
/// Passes at once, over different Brokers.
const CONCURRENCY: u16 = 4;

/// Runs until it is dropped.
pub async fn run(context: Arc<Context>) {
    let (sender, changes) = mpsc::channel(1);
    let follow = monitors::follow(Arc::clone(&context), sender);
    let work = async {
        // A start without this would delete ServiceMonitors, and make them again.
        monitors::known(&context).await;
        work(Arc::clone(&context), changes).await;
    };
    tokio::select! {
        () = follow => {}
        () = work => {}
    }
}

/// Metadata is all that the mapping needs; a pass reads the objects themselves.
fn every<K>(context: &Context) -> Api<PartialObjectMeta<K>>
where
    K: Resource<DynamicType = ()>,
{
    Api::all(context.client.clone())
}

async fn work(context: Arc<Context>, changes: mpsc::Receiver<()>) {
    let ours = || watcher::Config::default().labels(&format!("{MANAGED_BY_LABEL}={NAME}"));
    let brokers: Api<Seen> = every::<Broker>(&context);
    // Its store must not be waited for anywhere else: of two that wait, kube wakes one.
    let controller = Controller::new(brokers, watcher::Config::default());
    controller
        .with_config(controller::Config::default().debounce(DEBOUNCE).concurrency(CONCURRENCY))
        .owns(every::<Deployment>(&context), ours())
        .owns(every::<Service>(&context), ours())
        .owns(every::<ServiceAccount>(&context), ours())
        .owns(every::<PodDisruptionBudget>(&context), ours())
        .owns(every::<NetworkPolicy>(&context), ours())
        .watches(every::<RoleBinding>(&context), ours(), binding)
        .watches(every::<ClusterRoleBinding>(&context), ours(), binding)
        .watches(every::<Pod>(&context), ours(), labelled)
        .reconcile_all_on(changes)
        .run(reconcile, error_policy, Arc::clone(&context))
        .for_each(|done| async move {
            match done {
                Ok((broker, _)) => debug!(%broker, "done"),
                // Told by error_policy.
                Err(controller::Error::ReconcilerFailed(..) | controller::Error::ObjectNotFound(_)) => {}
                Err(error) => warn!(%error, "a watch fails: is the CRD of Brokers installed, and is config/operator/role.yaml applied?"),
            }
        })
        .await;
}

/// The Broker that an object in its namespace names in a label.
#[allow(clippy::needless_pass_by_value)] // as kube calls it
fn labelled<K: Resource<DynamicType = ()> + Debug>(object: PartialObjectMeta<K>) -> Option<ObjectRef<Seen>> {
    let name = object.labels().get(INSTANCE_LABEL)?;
    Some(ObjectRef::new(name).within(&object.namespace()?))
}

/// The Broker that a binding is for: its name says so, or a label.
fn binding<K: Resource<DynamicType = ()> + Debug>(object: PartialObjectMeta<K>) -> Option<ObjectRef<Seen>> {
    match bindings::broker_of(&object.name_any()) {
        Some((namespace, name)) => Some(ObjectRef::new(name).within(namespace)),
        None => labelled(object),
    }
}
