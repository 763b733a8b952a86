//! The controller: which objects are watched, and what an event on them leads to.

use std::sync::Arc;

use broker_api::example::Certificate;
use futures::StreamExt;
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api,
    runtime::{Controller, controller, watcher},
};

use crate::{
    reconcile::{Context, reconcile, retry},
    secret::LABEL,
};

/// Serves every Certificate of the cluster until the process is told to end (SIGTERM, Ctrl-C).
pub async fn run(context: Context) {
    let certificates = Api::<Certificate>::all(context.client.clone());
    let secrets = Api::<Secret>::all(context.client.clone());
    let ours = watcher::Config::default().labels(&format!("{}={}", LABEL.0, LABEL.1));
    Controller::new(certificates, watcher::Config::default())
        // A Secret that somebody edits or deletes leads to a pass over its owner, which puts it right.
        .owns(secrets, ours)
        .shutdown_on_signal()
        .run(reconcile, |object, error, context| retry(&object, error, &context), Arc::new(context))
        .for_each(|result| async {
            match result {
                // `retry` has told of the failure; what was deleted while it waited for its turn needs none.
                Ok(_) | Err(controller::Error::ReconcilerFailed(..) | controller::Error::ObjectNotFound(_)) => {}
                Err(error) => tracing::warn!(%error, "watch"),
            }
        })
        .await;
}
