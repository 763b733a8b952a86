//! Where the Lease is kept: the API server, or a stand-in in tests.

use std::future::Future;

use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, api::PostParams};

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
}

fn from_kube(error: kube::Error) -> StoreError {
    match error {
        kube::Error::Api(status) if status.code == 409 => StoreError::Conflict,
        kube::Error::Api(status) if status.code == 404 => StoreError::NotFound,
        other => StoreError::Other(other.to_string()),
    }
}
