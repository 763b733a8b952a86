//! What every pass shares.

use std::{
    collections::BTreeSet,
    fmt,
    sync::{Mutex, PoisonError, atomic::AtomicBool},
};

use kube::Client;
use tokio::sync::watch;

use crate::{apply::Memory, defaults::Defaults, failures::Failures};

/// What every pass shares.
pub struct Context {
    /// The API server.
    pub client: Client,
    /// What Brokers need not say.
    pub defaults: Defaults,
    /// Whether ServiceMonitors can be made. None: not known yet.
    pub monitors: watch::Sender<Option<bool>>,
    /// What the API server made of what was applied.
    pub memory: Memory,
    /// How often in a row each Broker has failed.
    pub failures: Failures,
    /// Namespaces of Secrets of which it was told that the operator may not look there.
    pub unseen: Mutex<BTreeSet<String>>,
    /// Whether the Brokers could be listed once.
    pub ready: AtomicBool,
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("defaults", &self.defaults).finish_non_exhaustive()
    }
}

impl Context {
    /// Of a client that does not work yet.
    pub fn new(client: Client, defaults: Defaults) -> Self {
        Self {
            client,
            defaults,
            monitors: watch::Sender::new(None),
            memory: Memory::default(),
            failures: Failures::default(),
            unseen: Mutex::default(),
            ready: AtomicBool::new(false),
        }
    }

    /// Whether nobody was told yet that a namespace of Secrets cannot be seen.
    pub fn is_news(&self, namespace: &str) -> bool {
        self.unseen.lock().unwrap_or_else(PoisonError::into_inner).insert(namespace.to_owned())
    }

    /// Whether ServiceMonitors can be made, as far as that is known.
    pub fn has_monitors(&self) -> bool {
        self.monitors.borrow().unwrap_or(false)
    }
}
