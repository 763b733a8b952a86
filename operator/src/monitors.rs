//! Whether the cluster has ServiceMonitors: their CRD may come and go at any time. And what happens to those there are.

use std::{pin::pin, sync::Arc, time::Duration};

use futures::{StreamExt as _, channel::mpsc};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api,
    runtime::{
        WatchStreamExt as _,
        watcher::{self, Event, watch_object, watcher},
    },
};
use tokio_util::task::AbortOnDropHandle;
use tracing::{info, warn};

use crate::{NAME, context::Context, desired::OwnedKind, owner::MANAGED_BY_LABEL};

/// Name of the CRD.
const CRD: &str = "servicemonitors.monitoring.coreos.com";
/// How long a start waits to learn of it.
const PATIENCE: Duration = Duration::from_secs(5);

/// Whether a CRD serves the version that is used here.
fn is_served(crd: &CustomResourceDefinition) -> bool {
    let conditions = crd.status.as_ref().and_then(|status| status.conditions.as_ref());
    let established = conditions
        .is_some_and(|conditions| conditions.iter().any(|it| it.type_ == "Established" && it.status == "True"));
    established && crd.spec.versions.iter().any(|version| version.name == "v1" && version.served)
}

/// Follows the CRD for ever, and the ServiceMonitors while it is there. Each change goes to `changes`.
pub async fn follow(context: Arc<Context>, mut changes: mpsc::Sender<()>) {
    let api: Api<CustomResourceDefinition> = Api::all(context.client.clone());
    let mut states = pin!(watch_object(api, CRD).default_backoff());
    let mut told = false;
    // Dropped, it ends.
    let mut _monitors = None::<AbortOnDropHandle<()>>;
    while let Some(state) = states.next().await {
        let served = match state {
            Ok(crd) => crd.as_ref().is_some_and(is_served),
            Err(error) => {
                if !told {
                    warn!(%error, "cannot tell whether there are ServiceMonitors: none are made");
                }
                told = true;
                continue;
            }
        };
        let before = context.monitors.send_replace(Some(served));
        if before == Some(served) {
            continue;
        }
        if served || before.is_some() {
            info!(served, "ServiceMonitors");
        }
        _monitors =
            served.then(|| AbortOnDropHandle::new(tokio::spawn(objects(Arc::clone(&context), changes.clone()))));
        let _ = changes.try_send(());
    }
}

/// Tells each change of ServiceMonitors that are this operator's.
async fn objects(context: Arc<Context>, mut changes: mpsc::Sender<()>) {
    let ours = watcher::Config::default().labels(&format!("{MANAGED_BY_LABEL}={NAME}"));
    let api = OwnedKind::ServiceMonitor.api(&context.client, None);
    let mut events = pin!(watcher(api, ours).default_backoff());
    while let Some(event) = events.next().await {
        // A list that is complete may lack what was there before.
        if let Ok(Event::Apply(_) | Event::Delete(_) | Event::InitDone) = event {
            // A full channel holds the news already.
            let _ = changes.try_send(());
        }
    }
}

/// Waits until it is known whether there are ServiceMonitors, though not for ever.
pub async fn known(context: &Context) {
    let mut state = context.monitors.subscribe();
    let _ = tokio::time::timeout(PATIENCE, state.wait_for(Option::is_some)).await;
}
