//! `Gathered`: what comes again and again at about the same time, and is looked at once.

use std::{
    hash::Hash,
    sync::{Arc, Mutex},
    time::Duration,
};

use runtime_fleet::{crash::spawn, hashed::HashSet, lock::lock};

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

/// Looks at something in a moment, once for all the times that it comes until then. `of`: where it waits.
pub(crate) fn gather<H, T>(holder: Arc<H>, of: fn(&H) -> &Gathered<T>, what: T, look: fn(&H, &T))
where
    H: Send + Sync + 'static,
    T: Clone + Eq + Hash + Send + 'static,
{
    if !lock(&of(&holder).0).insert(what.clone()) {
        return;
    }
    spawn(async move {
        tokio::time::sleep(GATHER).await;
        // What comes from now on is looked at again.
        lock(&of(&holder).0).remove(&what);
        look(&holder, &what);
    });
}
