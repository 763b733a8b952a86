//! `Traffic`: what all writes to one API server share, whichever clusters, queues and roles they are of.
//!
//! An API server is known by its way: address, certificate authority, proxy. Not by the uid of its `kube-system`: its owner
//! says what that is, and whoever gave a neighbour's would take that one's slots and have its writes wait. At the other end
//! of the same way, behind the same authority, is the same server. One that is reached in two ways has two budgets.

use std::{
    sync::{Arc, Mutex, Weak},
    time::Duration,
};

use tokio::time::Instant;

use crate::{hashed::HashMap, kubeconfig::Way, lock::lock, slots::Slots};

/// How many writes go to one API server at the same time, and from when on any may.
#[derive(Debug)]
pub struct Traffic {
    slots: Arc<Slots>,
    throttled_until: Mutex<Option<Instant>>,
}

impl Traffic {
    fn new(concurrent_writes: usize) -> Self {
        Self { slots: Slots::new(concurrent_writes), throttled_until: Mutex::default() }
    }

    /// How many writes go there at the same time.
    pub fn slots(&self) -> &Arc<Slots> {
        &self.slots
    }

    /// After `Throttled`: no requests before this moment.
    pub fn throttle(&self, wait: Duration) {
        let until = Instant::now() + wait;
        let mut held = lock(&self.throttled_until);
        *held = Some(held.map_or(until, |before| before.max(until)));
    }

    /// How long writes have to wait because the server asked for it.
    pub fn throttled(&self) -> Option<Duration> {
        let until = (*lock(&self.throttled_until))?;
        until.checked_duration_since(Instant::now()).filter(|wait| !wait.is_zero())
    }
}

/// The traffic of all API servers that somebody writes to.
#[derive(Debug)]
pub(crate) struct Traffics {
    concurrent_writes: usize,
    all: Mutex<HashMap<Way, Weak<Traffic>>>,
}

impl Traffics {
    /// No traffic; so many writes at the same time for each server.
    pub(crate) fn new(concurrent_writes: usize) -> Self {
        Self { concurrent_writes, all: Mutex::default() }
    }

    /// The traffic on a way: the same as long as anybody holds it.
    pub(crate) fn on(&self, way: &Way) -> Arc<Traffic> {
        let mut all = lock(&self.all);
        if let Some(held) = all.get(way).and_then(Weak::upgrade) {
            return held;
        }
        let new = Arc::new(Traffic::new(self.concurrent_writes));
        all.retain(|_, held| held.strong_count() > 0);
        all.insert(way.clone(), Arc::downgrade(&new));
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubeconfig::Endpoint;

    fn way(server: &str, authority: u8, proxy: Option<&str>) -> Way {
        let endpoint = Endpoint { server: server.to_owned(), authority: [authority; 32] };
        Way { endpoint, proxy: proxy.map(str::to_owned) }
    }

    #[test]
    fn who_writes_to_one_server_shares_its_slots() {
        let traffics = Traffics::new(1);
        let (one, same) = (traffics.on(&way("a:443", 1, None)), traffics.on(&way("a:443", 1, None)));
        let slot = one.slots().take().unwrap();
        assert!(same.slots().take().is_none() && slot.is_of(same.slots()));
        for other in [way("b:443", 1, None), way("a:443", 2, None), way("a:443", 1, Some("http://p"))] {
            assert!(traffics.on(&other).slots().take().is_some(), "nobody else waits: {other:?}");
        }
        drop((one, same));
        assert!(traffics.on(&way("a:443", 1, None)).slots().take().is_some(), "whoever comes after them begins anew");
        assert_eq!(lock(&traffics.all).len(), 1, "and what nobody holds is forgotten");
    }

    #[tokio::test(start_paused = true)]
    async fn the_longest_wait_counts() {
        let traffic = Traffic::new(1);
        assert_eq!(traffic.throttled(), None);
        traffic.throttle(Duration::from_secs(3));
        traffic.throttle(Duration::from_secs(1));
        assert_eq!(traffic.throttled(), Some(Duration::from_secs(3)));
        tokio::time::advance(Duration::from_secs(3)).await;
        assert_eq!(traffic.throttled(), None);
    }
}
