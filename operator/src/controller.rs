//! What brings a pass: a change of a Broker, of one of its objects, of its pods, or of what kinds there are.

use std::{fmt::Debug, sync::Arc, time::Duration};

use broker_api::broker::Broker;
use futures::{Stream, StreamExt as _, channel::mpsc, future};
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
    runtime::{
        Controller, WatchStreamExt as _, controller,
        reflector::{self, ObjectRef},
        watcher::{self, watcher},
    },
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
    let (sender, others) = mpsc::channel(1);
    let follow = monitors::follow(Arc::clone(&context), sender.clone());
    let work = async {
        // A start without this would delete ServiceMonitors, and make them again.
        monitors::known(&context).await;
        work(Arc::clone(&context), sender, others).await;
    };
    tokio::select! {
        () = follow => {}
        () = work => {}
    }
}

/// Changes of all objects of a kind, as metadata: a pass reads the objects themselves.
///
/// Each watch waits by itself after an error, and keeps it to itself. Handed to the Controller, each error would make it
/// deaf to all changes for a time that grows with each; after a restart of the API server all watches have one.
fn changes<K>(
    context: &Context,
    config: watcher::Config,
    mut relisted: mpsc::Sender<()>,
) -> impl Stream<Item = Result<watcher::Event<PartialObjectMeta<K>>, watcher::Error>> + Send + use<K>
where
    K: Resource<DynamicType = ()> + Clone + Debug + Send + Sync + 'static,
{
    let api: Api<PartialObjectMeta<K>> = Api::all(context.client.clone());
    watcher(api, config).default_backoff().filter_map(move |event| {
        if let Ok(watcher::Event::InitDone) = &event {
            // What was deleted in the meantime is in no list. A full channel holds the news already.
            let _ = relisted.try_send(());
        }
        future::ready(event.inspect_err(tell::<K>).ok().map(Ok))
    })
}

fn tell<K: Resource<DynamicType = ()>>(error: &watcher::Error) {
    let kind = K::kind(&());
    match error {
        // Happens to every watch now and then; it lists anew.
        watcher::Error::WatchError(status) if status.code == 410 => debug!(%kind, %error, "a watch begins anew"),
        error => {
            warn!(%kind, %error, "a watch fails: is the kind installed, and is config/operator/role.yaml applied?");
        }
    }
}

async fn work(context: Arc<Context>, relisted: mpsc::Sender<()>, others: mpsc::Receiver<()>) {
    let all = watcher::Config::default();
    let ours = all.clone().labels(&format!("{MANAGED_BY_LABEL}={NAME}"));
    let (store, writer) = reflector::store();
    let brokers = changes::<Broker>(&context, all, relisted.clone()).reflect(writer).applied_objects();
    // The store must not be waited for anywhere else: of two that wait, kube wakes one.
    Controller::for_stream(brokers, store)
        .with_config(controller::Config::default().debounce(DEBOUNCE).concurrency(CONCURRENCY))
        .owns_stream(changes::<Deployment>(&context, ours.clone(), relisted.clone()).touched_objects())
        .owns_stream(changes::<Service>(&context, ours.clone(), relisted.clone()).touched_objects())
        .owns_stream(changes::<ServiceAccount>(&context, ours.clone(), relisted.clone()).touched_objects())
        .owns_stream(changes::<PodDisruptionBudget>(&context, ours.clone(), relisted.clone()).touched_objects())
        .owns_stream(changes::<NetworkPolicy>(&context, ours.clone(), relisted.clone()).touched_objects())
        .watches_stream(changes::<RoleBinding>(&context, ours.clone(), relisted.clone()).touched_objects(), binding)
        .watches_stream(
            changes::<ClusterRoleBinding>(&context, ours.clone(), relisted.clone()).touched_objects(),
            binding,
        )
        .watches_stream(changes::<Pod>(&context, ours.clone(), relisted.clone()).touched_objects(), labelled)
        .reconcile_all_on(others)
        .run(reconcile, error_policy, Arc::clone(&context))
        .for_each(|done| async move {
            match done {
                Ok((broker, _)) => debug!(%broker, "done"),
                // Told by error_policy.
                Err(controller::Error::ReconcilerFailed(..) | controller::Error::ObjectNotFound(_)) => {}
                Err(error) => warn!(%error, "the controller fails"),
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
