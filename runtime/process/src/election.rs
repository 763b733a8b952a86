//! The election of the one process that writes, on a Lease in one of its clusters.

use std::sync::Arc;

use broker_api::ClusterName;
use k8s_openapi::api::coordination::v1::Lease;
use runtime_engine::engine::Engine;
use runtime_fleet::lease::{ApiLease, Elector, Leadership, LeaseOptions, LeaseStore, StoreError};
use tokio_util::sync::CancellationToken;
use tracing::info;

/// Where the Lease is.
#[derive(Debug, Clone)]
pub struct Place {
    /// The cluster.
    pub cluster: ClusterName,
    /// Namespace of the Lease; it exists.
    pub namespace: String,
    /// Name of the Lease.
    pub lease: String,
}

/// Takes part in an election until `release`, and calls `led` whenever this process comes to lead. Without a place this
/// process is the only one, and leads for good.
pub async fn elect(engine: Arc<Engine>, place: Option<Place>, led: impl AsyncFn(), release: CancellationToken) {
    let Some(place) = place else {
        engine.set_leadership(Leadership::always());
        return led().await;
    };
    let options = LeaseOptions::new(place.namespace.clone(), place.lease.clone());
    let (elector, leadership) = Elector::with_store(Held { engine: Arc::clone(&engine), place }, options);
    let mut changes = leadership.changes();
    engine.set_leadership(leadership);
    let follow = async {
        while changes.changed().await.is_ok() {
            let leads = *changes.borrow_and_update();
            info!(leads, "leadership changed");
            if leads {
                led().await;
            }
        }
    };
    tokio::select! {
        () = elector.run(release) => {}
        () = follow => {}
    }
}

/// The Lease, through whatever connection there is now: its credentials may rotate.
struct Held {
    engine: Arc<Engine>,
    place: Place,
}

impl Held {
    fn api(&self) -> Result<ApiLease, StoreError> {
        let Place { cluster, namespace, lease } = &self.place;
        let connection = self.engine.fleet().cluster(cluster).and_then(|cluster| cluster.connection());
        let connection = connection.ok_or_else(|| StoreError::Other(format!("{cluster} is not ready")))?;
        Ok(ApiLease::new(connection.caller.client(), namespace, lease))
    }
}

impl LeaseStore for Held {
    async fn get(&self) -> Result<Option<Lease>, StoreError> {
        self.api()?.get().await
    }

    async fn create(&self, lease: &Lease) -> Result<Lease, StoreError> {
        self.api()?.create(lease).await
    }

    async fn replace(&self, lease: &Lease) -> Result<Lease, StoreError> {
        self.api()?.replace(lease).await
    }

    fn won(&self) {
        self.engine.begin_term();
    }

    async fn released(&self, seen: &Lease) -> Result<bool, StoreError> {
        self.api()?.released(seen).await
    }
}
