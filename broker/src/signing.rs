//! The signing keys: a Secret in the coordination cluster, made at first start, read again whenever it changes; and a copy
//! of it in a second Secret, for the day on which somebody deletes the first.

mod plan;
pub mod secrets;

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use self::plan::Keys;

/// What is known of the signing keys beside the ring.
#[derive(Debug, Default)]
pub struct Signing {
    inner: Mutex<Inner>,
    changed: Notify,
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

    /// One of the Secrets, or what is known of them, has changed.
    pub fn wake(&self) {
        self.changed.notify_one();
    }
}
