//! What could not be compiled because the machine was too busy is compiled again in a moment.

use std::time::Duration;

use runtime_fleet::crash::spawn;
use tokio::{sync::mpsc::UnboundedSender, time::sleep};

/// How long that is.
const MOMENT: Duration = Duration::from_secs(5);

/// Tells whoever compiles `changes` of one in a moment.
pub(crate) fn in_a_moment<T: Send + 'static>(changes: &UnboundedSender<T>, change: T) {
    let changes = changes.clone();
    spawn(async move {
        sleep(MOMENT).await;
        // Who takes it in has ended only where all has.
        let _ = changes.send(change);
    });
}
