//! `Gathered`: what comes again and again at about the same time, and is looked at once.

use std::{hash::Hash, sync::Mutex, time::Duration};

use runtime_fleet::{crash::spawn, hashed::HashSet, lock::lock};

use crate::broker::Broker;

/// What comes within this is looked at together.
const GATHER: Duration = Duration::from_millis(100);

/// What has come and was not looked at yet.
#[derive(Debug)]
pub(crate) struct Gathered<T>(Mutex<HashSet<T>>);

impl<T> Default for Gathered<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl Broker {
    /// Looks at something in a moment, once for all the times that it comes until then. `of`: where it waits.
    pub(crate) fn gather<T>(&self, of: fn(&Self) -> &Gathered<T>, what: T, look: fn(&Self, &T))
    where
        T: Clone + Eq + Hash + Send + 'static,
    {
        if !lock(&of(self).0).insert(what.clone()) {
            return;
        }
        let broker = self.itself();
        spawn(async move {
            tokio::time::sleep(GATHER).await;
            // What comes from now on is looked at again.
            lock(&of(&broker).0).remove(&what);
            look(&broker, &what);
        });
    }
}
