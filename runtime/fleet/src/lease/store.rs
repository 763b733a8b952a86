//! Where the Lease is kept: the API server, or a stand-in in tests.

use std::{future::Future, pin::pin, time::Duration};

use futures::TryStreamExt as _;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube::{
    Api,
    api::{PostParams, WatchEvent, WatchParams},
};

/// The API server ends a watch after this many seconds; one that lasts longer has lost its connection.
const WATCH_SECONDS: u32 = 290;

/// Why a Lease was not read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Somebody else wrote or created it first.
    #[error("somebody else changed the lease")]
    Conflict,
    /// It does not exist (any more).
    #[error("the lease does not exist")]
    NotFound,
    /// Anything else; whether a write took place is not known.
    #[error("{0}")]
    Other(String),
}

/// Reads and writes one Lease.
pub trait LeaseStore: Send + Sync + 'static {
    /// The Lease, or None if there is none.
    fn get(&self) -> impl Future<Output = Result<Option<Lease>, StoreError>> + Send;

    /// Creates it; [`StoreError::Conflict`] if it exists.
    fn create(&self, lease: &Lease) -> impl Future<Output = Result<Lease, StoreError>> + Send;

    /// Replaces it; [`StoreError::Conflict`] if its resourceVersion is not the given one's.
    fn replace(&self, lease: &Lease) -> impl Future<Output = Result<Lease, StoreError>> + Send;

    /// This process has got the Lease. Called before it counts as the leader.
    fn won(&self) {}

    /// Waits until the Lease is released, that is, has no holder, in a version after `seen`. False: such waits end after
    /// some minutes, begin another. Only a hint: followers look at the Lease at intervals all the same.
    fn released(&self, seen: &Lease) -> impl Future<Output = Result<bool, StoreError>> + Send;
}

/// Who holds a Lease; nobody: empty.
pub(super) fn holder(spec: Option<&LeaseSpec>) -> &str {
    spec.and_then(|spec| spec.holder_identity.as_deref()).unwrap_or_default()
}

/// A Lease in an API server.
#[derive(Debug)]
pub struct ApiLease {
    api: Api<Lease>,
    name: String,
}

impl ApiLease {
    /// The Lease `namespace/name` of this client's cluster.
    pub fn new(client: kube::Client, namespace: &str, name: &str) -> Self {
        Self { api: Api::namespaced(client, namespace), name: name.to_owned() }
    }
}

impl LeaseStore for ApiLease {
    async fn get(&self) -> Result<Option<Lease>, StoreError> {
        self.api.get_opt(&self.name).await.map_err(from_kube)
    }

    async fn create(&self, lease: &Lease) -> Result<Lease, StoreError> {
        self.api.create(&PostParams::default(), lease).await.map_err(from_kube)
    }

    async fn replace(&self, lease: &Lease) -> Result<Lease, StoreError> {
        self.api.replace(&self.name, &PostParams::default(), lease).await.map_err(from_kube)
    }

    async fn released(&self, seen: &Lease) -> Result<bool, StoreError> {
        // The field selector also lets a permission for this one name suffice.
        let only = WatchParams::default().fields(&format!("metadata.name={}", self.name)).timeout(WATCH_SECONDS);
        let version = seen.metadata.resource_version.as_deref().unwrap_or_default();
        let follow = async {
            let mut events = pin!(self.api.watch(&only, version).await.map_err(from_kube)?);
            while let Some(event) = events.try_next().await.map_err(from_kube)? {
                match event {
                    WatchEvent::Added(lease) | WatchEvent::Modified(lease)
                        if holder(lease.spec.as_ref()).is_empty() =>
                    {
                        return Ok(true);
                    }
                    WatchEvent::Error(status) => return Err(StoreError::Other(status.message.clone())),
                    // A deletion releases nothing: its holder has not noticed yet.
                    _ => {}
                }
            }
            Ok(false)
        };
        let limit = Duration::from_secs(u64::from(WATCH_SECONDS) + 10);
        tokio::time::timeout(limit, follow).await.unwrap_or(Ok(false))
    }
}

fn from_kube(error: kube::Error) -> StoreError {
    match error {
        kube::Error::Api(status) if status.code == 409 => StoreError::Conflict,
        kube::Error::Api(status) if status.code == 404 => StoreError::NotFound,
        other => StoreError::Other(other.to_string()),
    }
}
