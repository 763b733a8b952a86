//! Serves Buckets: the controller of a provider. Nothing in here knows of the broker. To a provider, what a consumer wants is an
//! object of its own cluster, as if somebody had created it there by hand.
//!
//! The way of one event: `main` (watches) → `reconcile` (one pass over one object) → `store` (the real thing), `secret` (what its
//! user gets), `status` (what is said of it). `bucket` is the kind. Search for EDIT to make it yours.

mod bucket;
mod reconcile;
mod secret;
mod status;
mod store;

use std::sync::Arc;

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api, Client,
    runtime::{Controller, controller, watcher},
};

use crate::{
    bucket::Bucket,
    reconcile::{Context, reconcile, retry},
    secret::LABEL,
};

/// The cluster is that of `$KUBECONFIG`, of kubectl's current context, or the Pod's own. Ends at SIGTERM or Ctrl-C.
#[tokio::main]
async fn main() -> Result<(), kube::Error> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let client = Client::try_default().await?;
    let buckets = Api::<Bucket>::all(client.clone());
    let secrets = Api::<Secret>::all(client.clone());
    let ours = watcher::Config::default().labels(&format!("{}={}", LABEL.0, LABEL.1));
    tracing::info!("serving Buckets");
    Controller::new(buckets, watcher::Config::default())
        // A Secret that somebody edits or deletes leads to a pass over its Bucket, which puts it right.
        .owns(secrets, ours)
        .shutdown_on_signal()
        .run(reconcile, retry, Arc::new(Context::new(client)))
        .for_each(|result| async {
            match result {
                // `retry` has told of the failure; what was deleted while it waited for its turn needs no pass.
                Ok(_) | Err(controller::Error::ReconcilerFailed(..) | controller::Error::ObjectNotFound(_)) => {}
                Err(error) => tracing::warn!(%error, "watch"),
            }
        })
        .await;
    Ok(())
}
