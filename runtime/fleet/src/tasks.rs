//! `Tasks`: what runs for somebody, until that leaves.

use std::pin::Pin;

use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::crash::spawn;

/// Tasks that end together.
#[derive(Debug, Default)]
pub(crate) struct Tasks {
    running: TaskTracker,
    leaving: CancellationToken,
}

impl Tasks {
    /// Runs a task until all end.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.spawn_until(self.leaving.clone(), task);
    }

    /// Runs a task until all end, or nobody wants it any more: `unwanted` is a child of [`Tasks::ending`].
    pub(crate) fn spawn_until(&self, unwanted: CancellationToken, task: impl Future<Output = ()> + Send + 'static) {
        // What waits for one of two things holds each twice, and these are large and many: held here, once.
        let mut task: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(task);
        spawn(self.running.track_future(async move {
            tokio::select! {
                () = unwanted.cancelled() => {}
                () = &mut task => {}
            }
        }));
    }

    /// Is cancelled when all end.
    pub(crate) fn ending(&self) -> &CancellationToken {
        &self.leaving
    }

    /// From now on they end.
    pub(crate) fn cancel(&self) {
        self.leaving.cancel();
    }

    /// Whether they end.
    pub(crate) fn are_ending(&self) -> bool {
        self.leaving.is_cancelled()
    }

    /// Ends all, and waits until they have.
    pub(crate) async fn end(&self) {
        self.cancel();
        self.running.close();
        self.running.wait().await;
    }

    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.running.len()
    }
}
