//! `Engine`: what the machines of one process share.

use std::{
    sync::{Arc, Mutex, OnceLock},
    time::Duration,
};

use broker_api::ClusterName;
use runtime_effect::kind::Kind;
use runtime_fleet::{
    call::Caller,
    cluster::Cluster,
    fleet::Fleet,
    kind::{KindInfo, KindState},
    lease::Leadership,
    lock::lock,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{bodies::Bodies, decisions::Decisions, hidden::Hidden, meters::Meters, reads::Reads, recorder::Recorder};

/// A leader stops 5 s before its lease can be taken; what it has begun may take this much of them.
const FENCE: Duration = Duration::from_secs(4);

/// What the machines of one process share.
pub struct Engine {
    fleet: OnceLock<Arc<Fleet>>,
    leadership: OnceLock<Leadership>,
    /// How often this process has taken over from another, and when it last did.
    term: Mutex<(u64, Option<Instant>)>,
    /// Where decisions are made.
    pub decisions: Decisions,
    /// Bodies that were read for decisions.
    pub bodies: Bodies,
    pub(crate) hidden: Hidden,
    pub(crate) reads: Reads,
    /// Tells people.
    pub recorder: Recorder,
    /// The process is to end: it begins no more writes.
    pub stop: CancellationToken,
    pub(crate) meters: &'static Meters,
}

/// A cluster whose API server can be asked, and how it serves a kind.
pub struct Reachable {
    /// The engaged cluster.
    pub cluster: Arc<Cluster>,
    /// Its connection.
    pub caller: Caller,
    /// The kind, as it is served there.
    pub kind: Arc<KindInfo>,
}

impl Engine {
    /// Without clusters; decisions are made on `decisions`.
    pub fn new(decisions: Decisions, meters: &'static Meters) -> Arc<Self> {
        Arc::new(Self {
            fleet: OnceLock::new(),
            leadership: OnceLock::new(),
            term: Mutex::default(),
            decisions,
            bodies: Bodies::default(),
            hidden: Hidden::default(),
            reads: Reads::default(),
            recorder: Recorder::default(),
            stop: CancellationToken::new(),
            meters,
        })
    }

    /// These are the clusters. Said once, before anything runs.
    pub fn set_fleet(&self, fleet: Arc<Fleet>) {
        // Whoever says it twice is not heard.
        let _ = self.fleet.set(fleet);
    }

    /// This tells whether we may write. Said once.
    pub fn set_leadership(&self, leadership: Leadership) {
        let _ = self.leadership.set(leadership);
    }

    /// This process comes to lead where another may have led before, and may have written what our watches, which may be
    /// behind, do not show yet: all is listed again. Called before it may write.
    pub fn begin_term(&self) {
        // In this order: whatever is decided in this term knows that.
        self.fleet().list_anew();
        let mut term = lock(&self.term);
        *term = (term.0 + 1, Some(Instant::now()));
    }

    /// Which term this is. What was decided in another one may rest on what counts no more.
    pub fn term(&self) -> u64 {
        lock(&self.term).0
    }

    /// For how long this term has lasted; `None`: this process has not taken over from another.
    pub fn term_age(&self) -> Option<Duration> {
        lock(&self.term).1.map(|since| since.elapsed())
    }

    /// The clusters.
    pub fn fleet(&self) -> &Arc<Fleet> {
        self.fleet.get_or_init(|| unreachable!("set before anything runs"))
    }

    /// Whether this process may write now.
    pub fn leads(&self) -> bool {
        !self.stop.is_cancelled() && self.leadership.get().is_some_and(Leadership::is_leader)
    }

    /// Does what only a leader may do. What would outlive the lease is given up: `None`; what became of it is seen by whoever
    /// leads then.
    pub(crate) async fn while_leading<T>(&self, act: impl Future<Output = T>) -> Option<T> {
        let until = self.leadership.get().and_then(Leadership::valid_until)?;
        tokio::time::timeout_at(until + FENCE, act).await.ok()
    }

    /// An engaged cluster, its connection and how it serves a kind; `None` where one of them is missing.
    pub fn reachable(&self, name: &ClusterName, kind: &Kind) -> Option<Reachable> {
        let cluster = self.fleet().cluster(name)?;
        let connection = cluster.connection()?;
        let KindState::Found(kind) = cluster.kind(&kind.to_gvk()) else { return None };
        Some(Reachable { cluster, caller: connection.caller.clone(), kind })
    }
}
