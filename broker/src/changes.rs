//! `Changes`: what has happened, on its way to the task that takes it in.

use std::time::Duration;

use runtime_fleet::crash::spawn;
use tokio::{sync::mpsc::UnboundedSender, time::sleep};

/// After so long an expression is compiled again that the machine was too busy for.
const MOMENT: Duration = Duration::from_secs(5);

/// Tells that task.
pub(crate) struct Changes<T>(UnboundedSender<T>);

impl<T: Send + 'static> Changes<T> {
    /// They go through this.
    pub(crate) fn new(sender: UnboundedSender<T>) -> Self {
        Self(sender)
    }

    /// Something has happened.
    pub(crate) fn tell(&self, change: T) {
        // Who takes it in has ended only where all has.
        let _ = self.0.send(change);
    }

    /// The same in a moment: that task was too busy for an expression.
    pub(crate) fn tell_later(&self, change: T) {
        let changes = Self(self.0.clone());
        spawn(async move {
            sleep(MOMENT).await;
            changes.tell(change);
        });
    }
}
