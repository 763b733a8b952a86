//! Writes that belong to no machine's key: Events, namespaces that are empty, Secrets of the program's own. They keep to what
//! the writes of all queues keep to.

use std::time::Duration;

use runtime_fleet::{cluster::Cluster, error::CallError};

use crate::engine::Engine;

/// Least wait where an API server is asked too much: one that says "at once" would have us spin.
const LEAST_WAIT: Duration = Duration::from_millis(500);

/// A cluster's API server was asked too much: no more writes until the returned time is over.
pub(crate) fn throttle(cluster: &Cluster, retry_after: Option<Duration>) -> Duration {
    let wait = retry_after.unwrap_or_default().max(LEAST_WAIT);
    cluster.server().traffic().throttle(wait);
    wait
}

impl Engine {
    /// Writes to a cluster: in one of the slots that all writes to its API server share, not while that wants to be left
    /// alone, and only while this process leads. `None`: it does not lead, or no more when the write was given up.
    ///
    /// # Errors
    /// What `act` says; [`CallError::Throttled`] also where it was not begun, with the time to wait.
    pub async fn write_alone<T>(
        &self,
        cluster: &Cluster,
        act: impl Future<Output = Result<T, CallError>>,
    ) -> Option<Result<T, CallError>> {
        let (traffic, _slot) = loop {
            let traffic = cluster.server().traffic();
            let slot = traffic.slots().acquire(cluster.name()).await;
            // Meanwhile it may be reached in another way.
            if slot.is_of(cluster.server().traffic().slots()) {
                break (traffic, slot);
            }
        };
        // Only now: until there was a slot the API server may have asked for a pause, and the lease may have ended.
        if let Some(wait) = traffic.throttled() {
            let message = format!("{} wants no requests yet", cluster.name());
            return Some(Err(CallError::Throttled { retry_after: Some(wait), message }));
        }
        if !self.leads() {
            return None;
        }
        let written = self.while_leading(act).await?;
        if let Err(CallError::Throttled { retry_after, .. }) = &written {
            throttle(cluster, *retry_after);
        }
        Some(written)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use runtime_fleet::lock::lock;

    use super::*;
    use crate::stub::{cluster, engine};

    /// What a write became, and whether it was begun.
    async fn write(engine: &Engine, answer: Result<(), CallError>) -> (Option<Result<(), CallError>>, bool) {
        let begun = Mutex::new(false);
        let act = async {
            *lock(&begun) = true;
            answer
        };
        let written = engine.write_alone(&cluster(engine), act).await;
        let begun = *lock(&begun);
        (written, begun)
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_sent_to_a_server_that_wants_a_pause() {
        let engine = engine(1);
        assert_eq!(write(&engine, Ok(())).await, (Some(Ok(())), true));
        let busy = |wait| CallError::Throttled { retry_after: Some(wait), message: "busy".to_owned() };
        let pause = Duration::from_secs(9);
        assert_eq!(write(&engine, Err(busy(pause))).await, (Some(Err(busy(pause))), true), "and it says so itself");
        let (written, begun) = write(&engine, Ok(())).await;
        assert!(!begun, "so nobody writes");
        assert!(matches!(written, Some(Err(CallError::Throttled { retry_after: Some(wait), .. })) if wait == pause));
        tokio::time::advance(pause).await;
        assert_eq!(write(&engine, Ok(())).await, (Some(Ok(())), true));
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_that_begins_while_a_slot_is_waited_for_counts() {
        let engine = engine(1);
        let traffic = cluster(&engine).server().traffic();
        let held = traffic.slots().take();
        let own = Arc::clone(&engine);
        let waits = tokio::spawn(async move { write(&own, Ok(())).await });
        tokio::task::yield_now().await;
        traffic.throttle(Duration::from_secs(1));
        drop(held);
        let (written, begun) = waits.await.unwrap();
        assert!(!begun && matches!(written, Some(Err(CallError::Throttled { .. }))), "{written:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_leads_no_more_when_there_is_a_slot_sends_nothing() {
        let engine = engine(1);
        let held = cluster(&engine).server().traffic().slots().take();
        let own = Arc::clone(&engine);
        let waits = tokio::spawn(async move { write(&own, Ok(())).await });
        tokio::task::yield_now().await;
        assert!(!waits.is_finished(), "all slots are taken");
        engine.stop.cancel();
        drop(held);
        assert_eq!(waits.await.unwrap(), (None, false));
    }
}
