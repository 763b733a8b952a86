//! Keeps asking an API server for the kinds that are wanted: at once, when a CRD changes, and now and then while one is missing.

use std::{sync::Arc, time::Duration};

use kube::core::GroupVersionKind;
use tokio::time::Instant;
use tracing::{info, warn};

use crate::{
    backoff::Backoff,
    cluster::{Cluster, Connection},
    discover,
    error::CallError,
    kind::{KindInfo, KindState},
};

/// Kinds that every API server serves: no need to ask.
pub fn well_known(gvk: &GroupVersionKind) -> Option<KindInfo> {
    let (plural, namespaced) = match (gvk.group.as_str(), gvk.version.as_str(), gvk.kind.as_str()) {
        ("", "v1", "Secret") => ("secrets", true),
        ("", "v1", "ConfigMap") => ("configmaps", true),
        ("", "v1", "Namespace") => ("namespaces", false),
        ("apiextensions.k8s.io", "v1", "CustomResourceDefinition") => ("customresourcedefinitions", false),
        _ => return None,
    };
    Some(KindInfo { gvk: gvk.clone(), plural: plural.into(), namespaced, has_status: gvk.kind == "Namespace" })
}

/// How often a missing kind is asked for: a watch on CRDs tells of it at once, but not everywhere may we have one, and not
/// every kind comes from a CRD.
const FIRST_POLL: Duration = Duration::from_secs(3);
const SLOWEST_POLL: Duration = Duration::from_secs(30);

pub(crate) async fn run(cluster: Arc<Cluster>) {
    let mut backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(10));
    let (mut poll, mut polled) = (FIRST_POLL, Instant::now());
    loop {
        let connection = cluster.ready().await;
        let (due, next) = cluster.due_kinds();
        let mut failed = false;
        for gvk in due {
            let asked = ask(&cluster, &connection, &gvk).await;
            cluster.failures.note(&gvk, asked.as_ref().err().map(|error| error as _));
            if let Err(error) = asked {
                failed = true;
                warn!(cluster = %cluster.name(), kind = %gvk.kind, %error, "discovery failed, trying again");
                if error.suspects_cluster() {
                    cluster.suspect(&connection);
                }
            }
        }
        if polled.elapsed() >= poll {
            for gvk in cluster.missing_kinds() {
                let _ = ask(&cluster, &connection, &gvk).await;
            }
            polled = Instant::now();
            poll = (poll * 2).min(SLOWEST_POLL);
        }
        let crds_watched = cluster.index(&cluster.crds).is_some_and(|index| index.is_complete());
        let wait = if failed {
            Some(backoff.wait())
        } else {
            backoff.reset();
            let missing = !cluster.missing_kinds().is_empty();
            poll = if !missing {
                FIRST_POLL
            } else if crds_watched {
                SLOWEST_POLL
            } else {
                poll
            };
            let poll = missing.then(|| poll.saturating_sub(polled.elapsed()));
            [poll, next].into_iter().flatten().min()
        };
        tokio::select! {
            () = cluster.kinds_wanted.notified() => {}
            () = sleep(wait) => {}
        }
    }
}

async fn sleep(wait: Option<Duration>) {
    match wait {
        Some(wait) => tokio::time::sleep(wait).await,
        None => std::future::pending().await,
    }
}

async fn ask(cluster: &Arc<Cluster>, connection: &Connection, gvk: &GroupVersionKind) -> Result<(), CallError> {
    if let Some(info) = well_known(gvk) {
        cluster.set_kind(gvk, &KindState::Found(Arc::new(info)), None);
        return Ok(());
    }
    let Some(info) = discover::kind(&connection.caller, gvk).await? else {
        if cluster.kind(gvk) != KindState::Missing {
            info!(cluster = %cluster.name(), kind = %gvk.kind, group = %gvk.group, version = %gvk.version,
                "the kind is not served (yet); waiting for its CRD");
        }
        cluster.set_kind(gvk, &KindState::Missing, None);
        return Ok(());
    };
    // A schema that cannot be had must not keep the kind from being served: without one, everything is taken to fit.
    let schema = discover::schema(&connection.caller, gvk).await;
    if let Err(error) = &schema {
        warn!(cluster = %cluster.name(), kind = %gvk.kind, %error, "no schema to be had");
    }
    let schema = schema.unwrap_or_default();
    let first = cluster.kind(gvk).found().is_none();
    let published = schema.is_some();
    // Whoever is told compiles the schema, and others' sockets must not wait for that.
    let (own, found) = (Arc::clone(cluster), gvk.clone());
    let told = move || own.set_kind(&found, &KindState::Found(Arc::new(info)), schema.as_ref());
    if tokio::task::spawn_blocking(told).await.is_err() {
        return Err(CallError::UnknownOutcome("its schema could not be taken in".into()));
    }
    if !published && first {
        // The OpenAPI document of a new CRD is published a moment after discovery.
        cluster.refresh_kind(gvk);
    }
    Ok(())
}
