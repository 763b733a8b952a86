//! The election itself: one task that takes, renews and releases the Lease.

use std::{fmt, future::Future, sync::Arc};

use futures::future::BoxFuture;
use k8s_openapi::{
    api::coordination::v1::Lease,
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta},
};
use tokio::time::{Duration, Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use super::{
    Leadership, LeaseOptions,
    leadership::Grant,
    store::{ApiLease, LeaseStore, StoreError, holder},
};
use crate::{backoff::Backoff, wall};

/// Longest time for one request; a leader's is also bounded by its lease.
const CALL_DEADLINE: Duration = Duration::from_secs(5);

/// Time that a shutdown spends on releasing the Lease; afterwards it simply expires.
const RELEASE_DEADLINE: Duration = Duration::from_secs(2);

/// Shortest and longest time without a watch after one that failed.
const UNWATCHED: (Duration, Duration) = (Duration::from_secs(2), Duration::from_mins(1));

/// Takes part in an election. [`Elector::run`] does the work, the [`Leadership`] tells the result.
pub struct Elector<S = ApiLease> {
    options: LeaseOptions,
    store: Arc<S>,
    grant: Grant,
    seen: Option<Seen>,
    release: ReleaseWatch,
    /// A write that takes the Lease was sent, so it may be ours even if no answer said so.
    attempted: bool,
    failing: bool,
}

/// A follower's watch for the release of the Lease, so that it need not wait for its next look.
struct ReleaseWatch {
    watch: Option<BoxFuture<'static, Result<bool, StoreError>>>,
    backoff: Backoff,
    not_before: Instant,
}

/// The Lease as last seen, and since when its content has been this.
struct Seen {
    lease: Lease,
    since: Instant,
}

impl<S> fmt::Debug for Elector<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Elector").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Elector {
    /// An election on a Lease in this client's cluster, and the handle on its result.
    pub fn new(client: kube::Client, options: LeaseOptions) -> (Self, Leadership) {
        let store = ApiLease::new(client, &options.namespace, &options.name);
        Self::with_store(store, options)
    }
}

impl<S: LeaseStore> Elector<S> {
    /// An election on a Lease that is kept elsewhere.
    pub fn with_store(store: S, options: LeaseOptions) -> (Self, Leadership) {
        let (leadership, grant) = Leadership::follower();
        let backoff = Backoff::new(UNWATCHED.0, UNWATCHED.1);
        let release = ReleaseWatch { watch: None, backoff, not_before: Instant::now() };
        let store = Arc::new(store);
        (Self { options, store, grant, seen: None, release, attempted: false, failing: false }, leadership)
    }

    /// Takes part until `cancel`, then releases the Lease, so that a follower takes over at once. Cancel it only when
    /// the last write of this process is done. Leadership ends before this returns.
    pub async fn run(mut self, cancel: CancellationToken) {
        loop {
            tokio::select! {
                biased;
                () = cancel.cancelled() => break,
                () = self.round() => {}
            }
        }
        self.grant.follow();
        if self.attempted {
            let deadline = Instant::now() + RELEASE_DEADLINE;
            if let Err(error) = within(deadline, self.release()).await {
                warn!(%error, "the lease is not released: a follower has to wait until it expires");
            }
        }
    }

    /// One look or renewal and the pause after it.
    async fn round(&mut self) {
        let started = Instant::now();
        let result = if self.grant.valid_until().is_some() { self.renew().await } else { self.campaign().await };
        match result {
            Ok(()) => self.failing = false,
            Err(error) if self.failing => debug!(%error, "the leader election still fails"),
            Err(error) => {
                self.failing = true;
                warn!(%error, lease = %self.options.name, "the leader election fails: retrying");
            }
        }
        match self.grant.valid_until() {
            Some(until) => {
                self.release.watch = None;
                sleep_until(until.min(started + self.options.retry_period)).await;
                self.expire();
            }
            // Followers that started together must not go on asking together.
            None => self.follow(started + self.options.retry_period.mul_f64(crate::random::within(1.0..1.2))).await,
        }
    }

    /// A follower's pause: until the Lease is released, `next` at the latest. Whoever looks earlier and does not get the
    /// Lease watches it again only after its next look: a watch can double the looks, not more.
    async fn follow(&mut self, next: Instant) {
        let seen = self.seen.as_ref().map(|seen| &seen.lease).filter(|lease| !holder(lease.spec.as_ref()).is_empty());
        if let Some(lease) = seen.filter(|_| self.release.watch.is_none() && self.release.not_before <= Instant::now())
        {
            let (store, lease) = (Arc::clone(&self.store), lease.clone());
            self.release.watch = Some(Box::pin(async move { store.released(&lease).await }));
        }
        let Some(watch) = &mut self.release.watch else { return sleep_until(next).await };
        let Ok(ended) = timeout_at(next, watch).await else { return };
        self.release.watch = None;
        match ended {
            Ok(released) => {
                self.release.backoff.reset();
                if released {
                    self.release.not_before = next;
                    return;
                }
            }
            Err(error) => {
                let wait = self.release.backoff.wait();
                self.release.not_before = Instant::now() + wait;
                debug!(%error, ?wait, "the lease cannot be watched: a release is noticed by looking");
            }
        }
        sleep_until(next).await;
    }

    async fn renew(&mut self) -> Result<(), StoreError> {
        let Some(lease) = self.seen.as_ref().map(|seen| seen.lease.clone()) else {
            self.lose("its content is not known");
            return Ok(());
        };
        match self.take(lease).await {
            Err(StoreError::NotFound) => {
                self.lose("it was deleted");
                Ok(())
            }
            // Somebody touched it, or the answer to our last renewal was lost.
            Err(StoreError::Conflict) => match within(self.deadline(), self.store.get()).await? {
                Some(lease) if self.is_ours(&lease) => {
                    self.see(lease.clone());
                    self.take(lease).await
                }
                Some(lease) => {
                    self.see(lease);
                    self.lose("somebody else holds it");
                    Ok(())
                }
                None => {
                    self.lose("it was deleted");
                    Ok(())
                }
            },
            other => other,
        }
    }

    async fn campaign(&mut self) -> Result<(), StoreError> {
        let lease = match within(self.deadline(), self.store.get()).await? {
            None => Lease {
                metadata: ObjectMeta {
                    namespace: Some(self.options.namespace.clone()),
                    name: Some(self.options.name.clone()),
                    ..ObjectMeta::default()
                },
                spec: None,
            },
            Some(lease) => {
                self.see(lease.clone());
                if !self.is_free(&lease) {
                    return Ok(());
                }
                lease
            }
        };
        match self.take(lease).await {
            // Another follower was faster.
            Err(StoreError::Conflict | StoreError::NotFound) => Ok(()),
            other => other,
        }
    }

    /// Writes the Lease as ours, provided that it still is as given; leads if that worked.
    async fn take(&mut self, mut lease: Lease) -> Result<(), StoreError> {
        let ours = self.is_ours(&lease);
        let now = Some(MicroTime(wall::now()));
        let spec = lease.spec.get_or_insert_default();
        if !ours {
            spec.holder_identity = Some(self.options.identity.clone());
            spec.acquire_time.clone_from(&now);
            spec.lease_transitions = Some(spec.lease_transitions.map_or(0, |count| count.saturating_add(1)));
        }
        spec.renew_time = now;
        spec.lease_duration_seconds = Some(i32::try_from(self.options.duration.as_secs()).unwrap_or(i32::MAX).max(1));

        self.attempted = true;
        // Before sending: whoever sees this write counts from a later moment.
        let sent = Instant::now();
        let written = if lease.metadata.resource_version.is_some() {
            within(self.deadline(), self.store.replace(&lease)).await?
        } else {
            within(self.deadline(), self.store.create(&lease)).await?
        };
        self.see(written);
        let until = sent + self.options.renew_deadline;
        if self.grant.valid_until().is_none() && Instant::now() < until {
            info!(lease = %self.options.name, identity = %self.options.identity, "leading");
            self.store.won();
        }
        self.grant.lead_until(until);
        self.expire();
        Ok(())
    }

    /// Empties the holder, if that is us.
    async fn release(&mut self) -> Result<(), StoreError> {
        let Some(mut lease) = self.store.get().await? else {
            return Ok(());
        };
        if !self.is_ours(&lease) {
            return Ok(());
        }
        let spec = lease.spec.get_or_insert_default();
        spec.holder_identity = Some(String::new());
        spec.renew_time = Some(MicroTime(wall::now()));
        // As client-go does: the shortest that the API server takes.
        spec.lease_duration_seconds = Some(1);
        self.store.replace(&lease).await?;
        info!(lease = %self.options.name, "released the lease");
        Ok(())
    }

    /// Remembers the Lease; its time starts again only when its spec is another. Labels may change under a dead leader.
    fn see(&mut self, lease: Lease) {
        let since = match &self.seen {
            Some(seen) if seen.lease.spec == lease.spec && seen.lease.metadata.uid == lease.metadata.uid => seen.since,
            _ => Instant::now(),
        };
        self.seen = Some(Seen { lease, since });
    }

    fn is_free(&self, lease: &Lease) -> bool {
        let spec = lease.spec.as_ref();
        if holder(spec).is_empty() || self.is_ours(lease) {
            return true;
        }
        // The holder's own duration counts: it may run with other settings.
        let seconds = spec.and_then(|spec| spec.lease_duration_seconds).and_then(|seconds| u64::try_from(seconds).ok());
        let duration = seconds.filter(|seconds| *seconds > 0).map_or(self.options.duration, Duration::from_secs);
        self.seen.as_ref().is_some_and(|seen| seen.since.elapsed() >= duration)
    }

    fn is_ours(&self, lease: &Lease) -> bool {
        holder(lease.spec.as_ref()) == self.options.identity
    }

    /// When the request that is sent now has to be answered.
    fn deadline(&self) -> Instant {
        let call = Instant::now() + CALL_DEADLINE;
        self.grant.valid_until().map_or(call, |until| until.min(call))
    }

    fn expire(&self) {
        if self.grant.valid_until().is_some_and(|until| until <= Instant::now()) {
            self.lose("it could not be renewed in time");
        }
    }

    fn lose(&self, reason: &str) {
        warn!(lease = %self.options.name, "no longer leading: lost the lease: {reason}");
        self.grant.follow();
    }
}

async fn within<T>(
    deadline: Instant,
    call: impl Future<Output = Result<T, StoreError>> + Send,
) -> Result<T, StoreError> {
    timeout_at(deadline, call).await.unwrap_or_else(|_| Err(StoreError::Other("no answer in time".to_owned())))
}
