//! `Lead`: the Lease by which a process leads, as it was when the process last wrote it.

use std::time::Duration;

use http::Method;
use tokio::time::Instant;

use crate::server::ApiServer;

const LEASES: &str = "leases.coordination.k8s.io";

/// Where Leases are.
pub(super) const PATH: &str = "/apis/coordination.k8s.io/";

/// See the module.
#[derive(Clone)]
pub(super) struct Lead {
    server: ApiServer,
    /// Namespace and name.
    place: (String, String),
    /// Whom it names.
    holder: String,
    /// Nobody else takes it before.
    until: Instant,
}

impl Lead {
    /// After a write at this path was done.
    pub(super) fn written(server: &ApiServer, method: &Method, path: &str) -> Option<Self> {
        let (_, below) = path.strip_prefix(PATH)?.split_once("/namespaces/")?;
        let parts: Vec<&str> = below.split('/').collect();
        let mut leases = server.objects(LEASES).into_iter();
        let (place, lease) = leases.find(|((namespace, name), _)| {
            namespace == parts[0] && (method == Method::POST || parts.last() == Some(&&**name))
        })?;
        let spec = &lease["spec"];
        let holder = spec["holderIdentity"].as_str().unwrap_or_default().to_owned();
        let lasts = Duration::from_secs(spec["leaseDurationSeconds"].as_u64().unwrap_or_default());
        Some(Self { server: server.clone(), place, holder, until: Instant::now() + lasts })
    }

    /// Whether it is still his who wrote it, and nobody else may take it.
    pub(super) fn holds(&self) -> bool {
        let lease = self.server.objects(LEASES).remove(&self.place);
        let is_his = lease.is_some_and(|lease| lease["spec"]["holderIdentity"] == self.holder.as_str());
        is_his && !self.holder.is_empty() && Instant::now() < self.until
    }
}
