//! Connects to one API server, finds out when it is gone, and reconnects; new credentials take over without a gap.

use std::{sync::Arc, time::Duration};

use serde::Deserialize;
use tokio::{sync::watch, time::Instant};
use tracing::{info, warn};

use crate::{
    backoff::Backoff,
    call::{Caller, JSON, Meter, get},
    cluster::state::{Cause, ClusterState},
    dial::{Dial, Dialed},
    error::CallError,
    identity::{Identities, Likeness, Refused},
    kubeconfig::Kubeconfig,
    newcomers::Newcomers,
    server::{Connection, Server},
    traffic::Traffics,
};

/// For how long a cluster must have worked before it counts as one that does.
const STEADY: Duration = Duration::from_secs(30);

/// After so long, and ever longer, it is asked again who answers, where that may not be read: an API server that has just
/// started does not know yet who may do what. Those that never allow it are left alone after a while.
const NAMELESS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(1));

/// Longest answer about `kube-system`.
const IDENTITY_LIMIT: usize = 1 << 20;

/// Holds its server, so that the credentials' sender is never gone.
pub(crate) struct Connector {
    pub(crate) server: Arc<Server>,
    pub(crate) credentials: watch::Receiver<Arc<Kubeconfig>>,
    pub(crate) identities: Arc<Identities>,
    pub(crate) traffics: Arc<Traffics>,
    pub(crate) newcomers: Arc<Newcomers>,
    pub(crate) meter: Meter,
    pub(crate) dial: Arc<dyn Dial>,
}

impl Connector {
    pub(crate) async fn run(mut self) {
        let mut backoff = Backoff::new(Duration::from_millis(300), Duration::from_secs(10));
        let mut generation = 0;
        let mut identities = self.identities.changes();
        loop {
            let kubeconfig = Arc::clone(&self.credentials.borrow_and_update());
            generation += 1;
            identities.mark_unchanged();
            // Seldom, and there is one of this for each server: what it needs is held only meanwhile.
            let met = self.newcomers.meet(self.establish(&kubeconfig, generation));
            match Box::pin(met).await {
                Ok(connection) => {
                    info!(cluster = %self.server.name(), server = kubeconfig.server(), "connected");
                    let connection = Arc::new(connection);
                    self.server.set_state(&ClusterState::Ready, Some(Arc::clone(&connection)));
                    backoff.reset();
                    self.guard(&connection).await;
                }
                Err(Refused { why, .. })
                    if self.identities.holds(self.server.name()) && Box::pin(self.still_works()).await =>
                {
                    warn!(cluster = %self.server.name(), server = kubeconfig.server(), %why,
                        "the new kubeconfig does not work; going on with the one before");
                    tokio::select! {
                        _ = self.credentials.changed() => {}
                        () = tokio::time::sleep(backoff.wait()) => {}
                    }
                }
                Err(Refused { cause, why }) => {
                    warn!(cluster = %self.server.name(), server = kubeconfig.server(), %why, "cannot connect");
                    self.server.set_state(&ClusterState::Unreachable { since: Instant::now(), cause, why }, None);
                    tokio::select! {
                        _ = self.credentials.changed() => {}
                        // Whoever stood in its way may have left.
                        _ = identities.changed() => {}
                        () = tokio::time::sleep(backoff.wait()) => {}
                    }
                }
            }
        }
    }

    /// Watches over a connection until new credentials come.
    async fn guard(&mut self, connection: &Connection) {
        let mut backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(5));
        let mut flaps = Backoff::new(Duration::from_secs(1), Duration::from_mins(1));
        let mut since = Instant::now();
        let mut identities = self.identities.changes();
        let mut nameless = Nameless::of(connection);
        loop {
            identities.mark_unchanged();
            if !self.identities.holds(self.server.name()) {
                return self.lost("a cluster that is earlier in the configuration is the same API server".to_owned());
            }
            let down = !self.server.is_ready();
            tokio::select! {
                _ = self.credentials.changed() => return,
                () = self.server.suspicion.notified(), if !down => {}
                () = tokio::time::sleep(backoff.wait()), if down => {}
                () = nameless.wait(), if !down && nameless.asks() => match Box::pin(identity(&connection.caller)).await {
                    Ok(Some(_)) => return,
                    Ok(None) | Err(_) => continue,
                },
                // Whoever is lost may be allowed to be another one now.
                _ = identities.changed() => if down { return } else { continue },
                // Certificates of credential plugins are not refreshed by the client: a new one is made in time.
                () = expiry(connection) => return,
            }
            let answer = Box::pin(identity(&connection.caller)).await;
            // It may be another one now: it is met anew, and until then nobody has a connection.
            if !self.server.is_connected() {
                return;
            }
            match answer {
                // Permission to read kube-system may come and go; only two different answers tell of two servers.
                Ok(None) if self.server.conventions().needs_uid(self.server.name().role()) => {
                    self.lost("it does not let the namespace kube-system be read any more".to_owned());
                }
                Ok(found) if found.is_none() || connection.identity.is_none() || found == connection.identity => {
                    if down {
                        info!(cluster = %self.server.name(), "reachable again");
                        since = Instant::now();
                    } else if since.elapsed() > STEADY {
                        flaps.reset();
                    }
                    backoff.reset();
                    self.server.set_state(&ClusterState::Ready, None);
                    // A server whose watches break while it answers probes must not be probed in a hot loop.
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
                Ok(found) => self.lost_as(Cause::IdentityChanged, format!(
                    "another API server answers now (kube-system uid {found:?}, was {:?}); if that is meant, remove the cluster and add it again",
                    connection.identity
                )),
                Err(error) => self.lost(error.to_string()),
            }
            // Each return makes work for all whose objects are there: one that comes and goes returns ever later.
            if !down && !self.server.is_ready() && since.elapsed() <= STEADY {
                let wait = flaps.wait();
                tokio::select! {
                    _ = self.credentials.changed() => return,
                    () = tokio::time::sleep(wait) => {}
                }
            }
        }
    }

    /// Whether the connection of an earlier kubeconfig can still be used.
    async fn still_works(&self) -> bool {
        match self.server.connection() {
            Some(connection) => identity(&connection.caller).await.is_ok(),
            None => false,
        }
    }

    fn lost(&self, why: String) {
        self.lost_as(Cause::Lost, why);
    }

    fn lost_as(&self, cause: Cause, why: String) {
        if self.server.is_ready() {
            warn!(cluster = %self.server.name(), %why, "unreachable");
        }
        let since = Instant::now();
        self.server.set_state(&ClusterState::Unreachable { since, cause, why }, None);
    }

    async fn establish(&self, kubeconfig: &Kubeconfig, generation: u64) -> Result<Connection, Refused> {
        let Dialed { service, host, valid_until } = self.dial.dial(kubeconfig).await?;
        let caller = Caller::new(service, host, self.server.conventions(), self.meter);
        let identity = identity(&caller).await.map_err(|error| error.to_string())?;
        if let (Some(found), Some(before)) = (&identity, self.server.identity())
            && *found != before
        {
            let why = format!(
                "the new kubeconfig leads to another API server (kube-system uid {found}, was {before}); remove the cluster and add it again if that is meant"
            );
            return Err(Refused { cause: Cause::IdentityChanged, why });
        }
        let likeness = Likeness { uid: identity.clone(), endpoint: kubeconfig.endpoint() };
        self.identities.claim(self.server.name(), &likeness)?;
        self.server.set_traffic(self.traffics.on(&kubeconfig.way()));
        if identity.is_none() {
            warn!(cluster = %self.server.name(),
                "may not read the namespace kube-system: cannot tell for sure whether this API server is engaged twice");
        }
        Ok(Connection { caller, identity, valid_until, generation })
    }
}

/// A connection of which nobody can tell to which API server it leads.
struct Nameless {
    wait: Option<Duration>,
    next: Instant,
}

impl Nameless {
    fn of(connection: &Connection) -> Self {
        let wait = connection.identity.is_none().then_some(NAMELESS.0);
        Self { wait, next: Instant::now() + NAMELESS.0 }
    }

    fn asks(&self) -> bool {
        self.wait.is_some()
    }

    /// Until it is time to ask again.
    async fn wait(&mut self) {
        tokio::time::sleep_until(self.next).await;
        self.wait = self.wait.map(|wait| wait * 2).filter(|wait| *wait <= NAMELESS.1);
        self.next = Instant::now() + self.wait.unwrap_or_default();
    }
}

/// Shortly before the client's credentials end, if they do.
async fn expiry(connection: &Connection) {
    match connection.valid_until {
        Some(until) => {
            let left = until.duration_since(crate::wall::now());
            let left = Duration::try_from(left).unwrap_or_default().saturating_sub(Duration::from_mins(1));
            // Never in a hot loop, also where a plugin hands out credentials that end at once.
            tokio::time::sleep(left.max(Duration::from_secs(10))).await;
        }
        None => std::future::pending().await,
    }
}

/// What we read of `kube-system`.
#[derive(Deserialize)]
struct Namespace {
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Metadata {
    uid: Option<String>,
}

/// Who answers. Also the probe: it needs valid credentials, other than `/version`.
async fn identity(caller: &Caller) -> Result<Option<String>, CallError> {
    match caller.call(get("/api/v1/namespaces/kube-system", JSON)?, IDENTITY_LIMIT).await {
        Ok((_, answer)) => {
            let namespace: Namespace = serde_json::from_slice(&answer)
                .map_err(|error| CallError::UnknownOutcome(format!("unreadable answer: {error}")))?;
            Ok(namespace.metadata.uid)
        }
        Err(CallError::Forbidden(_) | CallError::NotFound(_) | CallError::NamespaceMissing(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
#[path = "connect_tests.rs"]
mod tests;
