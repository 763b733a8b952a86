//! The signing keys: a Secret in the coordination cluster, made at first start, read again whenever it changes; and a copy
//! of it in a second Secret, for the day on which somebody deletes the first.

mod plan;
pub mod secrets;

use std::sync::{Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwapOption;
use broker_core::assignment::KeyRing;
use tokio::sync::{Notify, watch};

use self::plan::Keys;

/// What is known of the signing keys.
#[derive(Debug, Default)]
pub struct Signing {
    /// The keys; `None` until they are read.
    pub ring: ArcSwapOption<KeyRing>,
    inner: Mutex<Inner>,
    changed: Notify,
    known: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct Inner {
    /// What the ring in use was read from.
    held: Option<Keys>,
    /// Why there are none, and what to do.
    trouble: Option<String>,
}

impl Signing {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why there are no keys to sign with, and what to do about it.
    pub fn trouble(&self) -> String {
        self.lock().trouble.clone().unwrap_or_else(|| "the signing keys are not read yet".to_owned())
    }

    /// There are keys to sign with, from now on for good.
    pub(crate) fn set_known(&self) {
        self.known.send_replace(true);
    }

    /// Waits until there are.
    pub(crate) async fn known(&self) {
        // Its other end is held beside it.
        let _ = self.known.subscribe().wait_for(|known| *known).await;
    }

    /// One of the Secrets, or what is known of them, has changed.
    pub fn wake(&self) {
        self.changed.notify_one();
    }
}
