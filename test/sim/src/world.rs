//! `World`: API servers that are reached by their names, and one clock for all of them.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use runtime_fleet::{
    dial::{Dial, Dialed, Dialing},
    kubeconfig::Kubeconfig,
};

use tokio::{sync::watch, time::sleep};

use crate::{
    clock::Clock,
    definitions::Definitions,
    journal::{Deed, Entry, Journal},
    server::ApiServer,
};

/// How an API server cannot be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outage {
    /// Whoever tries is told so at once.
    Refused,
    /// Nothing arrives, and nobody is told.
    Silent,
    /// Whoever asks for objects may not: somebody has taken the rights away.
    Forbidden,
    /// Nobody is known any more: whatever they show, it has expired.
    Unauthorized,
    /// Whatever is to be written of objects, it fails at it.
    Broken,
}

/// 2026-01-01T00:00:00Z: when every world begins.
pub(crate) const EPOCH: i64 = 1_767_225_600;

/// API servers by name. A kubeconfig of [`World::kubeconfig`] leads to one of them.
#[derive(Debug)]
pub struct World {
    seed: u64,
    clock: Clock,
    journal: Journal,
    servers: Mutex<BTreeMap<String, ApiServer>>,
    /// Servers that no wire reaches, by name.
    outages: watch::Sender<BTreeMap<String, Outage>>,
    /// How many requests have been sent in it.
    asked: watch::Sender<u64>,
}

/// No story takes so many requests: the longest of 10,000 took a tenth.
const MOST: u64 = 400_000;

impl World {
    /// A world without API servers. All that looks random in it follows from `seed`.
    pub fn new(seed: u64) -> Arc<Self> {
        Arc::new(Self {
            seed,
            clock: Clock::starting(EPOCH),
            journal: Journal::default(),
            servers: Mutex::default(),
            outages: watch::Sender::default(),
            asked: watch::Sender::default(),
        })
    }

    fn servers(&self) -> MutexGuard<'_, BTreeMap<String, ApiServer>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The API server of this name; it is made when it is first asked for.
    pub fn server(&self, name: &str) -> ApiServer {
        let mut servers = self.servers();
        let seed = self.seed_of(servers.len());
        servers
            .entry(name.to_owned())
            .or_insert_with(|| ApiServer::within(name, seed, self.clock, &self.journal))
            .clone()
    }

    /// The same, which serves kinds from its beginning.
    pub fn server_with(&self, name: &str, definitions: &Definitions) -> ApiServer {
        let mut servers = self.servers();
        let seed = self.seed_of(servers.len());
        let make = || ApiServer::holding(name, self.clock, &self.journal, definitions.begin(seed, self.clock));
        servers.entry(name.to_owned()).or_insert_with(make).clone()
    }

    /// No two servers have a uid in common, but for those of CRDs that they begin with.
    fn seed_of(&self, place: usize) -> u64 {
        self.seed ^ (place as u64 + 1).wrapping_mul(0xa076_1d64_78bd_642f)
    }

    /// From now on no wire reaches this server, and what comes from it ends; `None`: it is reached again.
    pub fn set_outage(&self, server: &str, outage: Option<Outage>) {
        self.tell(server, "", outage.map_or("can be reached".to_owned(), |how| format!("cannot be reached: {how:?}")));
        self.outages.send_modify(|outages| {
            outages.remove(server);
            outages.extend(outage.map(|how| (server.to_owned(), how)));
        });
    }

    /// How a server cannot be reached, if it cannot.
    pub fn outage(&self, server: &str) -> Option<Outage> {
        self.outages.borrow().get(server).copied()
    }

    /// A request is sent.
    pub(crate) fn asked(&self) {
        self.asked.send_if_modified(|asked| {
            *asked += 1;
            *asked == MOST
        });
    }

    /// How many requests have been sent in it so far.
    pub fn requests(&self) -> u64 {
        *self.asked.borrow()
    }

    /// Until so many requests were sent that somebody sends them without end, maybe without any time that passes: what is wrong.
    pub async fn endless(&self) -> String {
        // We hold the other end.
        let _ = self.asked.subscribe().wait_for(|asked| *asked >= MOST).await;
        format!("it does not come to an end: {MOST} requests were sent")
    }

    /// Until a server can no longer be read.
    pub(crate) async fn cut_off(&self, server: &str) {
        let is_cut = |outages: &BTreeMap<String, Outage>| outages.get(server).is_some_and(|how| *how != Outage::Broken);
        // We hold the other end.
        let _ = self.outages.subscribe().wait_for(is_cut).await;
    }

    /// Nobody looks at it any more: what its servers hold is let go, whoever still holds on to one of them.
    pub fn end(&self) {
        for server in std::mem::take(&mut *self.servers()).into_values() {
            server.empty();
        }
    }

    /// The time in it.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// What has happened in it.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Waits until nothing has changed for so long, from now on; leases do not count.
    ///
    /// # Errors
    /// When that is not so within `patience`; says what changed last.
    pub async fn quiet(&self, lasts: Duration, patience: Duration) -> Result<(), String> {
        let begun = self.clock.passed();
        loop {
            let last = self.journal.last_news();
            let since = last.as_ref().map_or(begun, |last| last.at.max(begun));
            let quiet = self.clock.passed().saturating_sub(since);
            if quiet >= lasts {
                return Ok(());
            }
            if let Some(last) = last.filter(|_| since.saturating_sub(begun) > patience) {
                return Err(format!("it is not quiet after {} min: {last}", patience.as_secs() / 60));
            }
            sleep(lasts.saturating_sub(quiet)).await;
        }
    }

    /// Notes for people what a program meets with at a server.
    pub fn tell(&self, server: &str, by: &str, what: String) {
        let (server, by) = (server.to_owned(), by.to_owned());
        self.journal.add(Entry { at: self.clock.passed(), server, by, deed: Deed::Told(what) });
    }

    /// The host that a kubeconfig names, and the API server there.
    pub(crate) fn behind(&self, kubeconfig: &Kubeconfig) -> Result<(String, ApiServer), String> {
        let host = kubeconfig.server().strip_prefix("https://").unwrap_or_default().to_owned();
        let name = host.split('.').next().unwrap_or_default();
        let found = self.servers().get(name).cloned();
        found.map(|server| (host.clone(), server)).ok_or_else(|| format!("{host}: there is no such API server"))
    }

    /// A kubeconfig, as YAML, that leads to the API server of this name.
    pub fn kubeconfig(name: &str) -> String {
        Self::kubeconfig_with(name, &format!("sim-{name}"))
    }

    /// The same with this token, which nobody looks at.
    pub fn kubeconfig_with(name: &str, token: &str) -> String {
        format!(
            "apiVersion: v1
kind: Config
clusters:
- name: {name}
  cluster:
    server: https://{name}.sim:6443
users:
- name: someone
  user:
    token: {token}
contexts:
- name: {name}
  context:
    cluster: {name}
    user: someone
current-context: {name}
"
        )
    }
}

impl Dial for World {
    fn dial<'a>(&'a self, kubeconfig: &'a Kubeconfig) -> Dialing<'a> {
        let found = self.behind(kubeconfig);
        Box::pin(async move {
            let (host, server) = found?;
            Ok(Dialed { service: server.sends(), host, valid_until: None })
        })
    }
}
