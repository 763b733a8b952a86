//! Who holds the brokers' Lease, one after the other: whether it was handed over, or had to run out.

use std::{fmt, pin::pin, time::Duration};

use anyhow::Context as _;
use futures::StreamExt as _;
use k8s_openapi::api::coordination::v1::Lease;
use kube::{
    Api, ResourceExt,
    api::{WatchEvent, WatchParams},
};
use tokio::{
    sync::mpsc,
    task::AbortHandle,
    time::{sleep, timeout},
};

use crate::{DEADLINE, brokers::BROKER};

/// When a watch that ended is begun anew.
const AGAIN: Duration = Duration::from_millis(200);

/// What the Lease says from a moment on.
pub(crate) struct Holders {
    leases: Api<Lease>,
    told: mpsc::UnboundedReceiver<Lease>,
    watch: AbortHandle,
}

/// One holder follows another.
pub(crate) struct Succession {
    from: String,
    to: String,
    /// The former has let go of it. Otherwise it ran out, which takes 15 s.
    pub(crate) released: bool,
}

impl fmt::Display for Succession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to, released } = self;
        write!(f, "{from} → {to}, {}", if *released { "handed over" } else { "ran out" })
    }
}

impl Holders {
    /// From now on.
    pub(crate) async fn watch(leases: Api<Lease>) -> anyhow::Result<Self> {
        let now = leases.get(BROKER).await?;
        let mut version = now.resource_version().context("a Lease without resourceVersion")?;
        let (tell, told) = mpsc::unbounded_channel();
        // Who holds it now is the first that is told.
        tell.send(now)?;
        let (ours, watched) = (WatchParams::default().fields(&format!("metadata.name={BROKER}")), leases.clone());
        let watch = tokio::spawn(async move {
            // An API server ends a watch after some minutes, and a busy one does not always answer.
            loop {
                if let Ok(events) = watched.watch(&ours, &version).await {
                    let mut events = pin!(events);
                    while let Some(Ok(event)) = events.next().await {
                        match event {
                            WatchEvent::Added(lease) | WatchEvent::Modified(lease) => {
                                version = lease.resource_version().unwrap_or_default();
                                if tell.send(lease).is_err() {
                                    return;
                                }
                            }
                            WatchEvent::Bookmark(_) => {}
                            // Whoever waits for what comes next is told that there is nothing.
                            WatchEvent::Deleted(_) | WatchEvent::Error(_) => return,
                        }
                    }
                }
                sleep(AGAIN).await;
            }
        });
        Ok(Self { leases, told, watch: watch.abort_handle() })
    }

    /// Who followed whom until now.
    pub(crate) async fn until_now(mut self) -> anyhow::Result<Vec<Succession>> {
        let version = self.leases.get(BROKER).await?.resource_version();
        let mut holders = Vec::new();
        loop {
            let lease = timeout(DEADLINE, self.told.recv()).await.context("a change of the Lease was not told")?;
            let lease = lease.context("the Lease was deleted, or its watch refused")?;
            let is_last = lease.resource_version() == version;
            holders.push(lease.spec.and_then(|spec| spec.holder_identity).unwrap_or_default());
            if is_last {
                return Ok(successions(&holders));
            }
        }
    }
}

impl Drop for Holders {
    fn drop(&mut self) {
        self.watch.abort();
    }
}

/// An empty name is nobody: it was released.
fn successions(holders: &[String]) -> Vec<Succession> {
    let mut successions: Vec<Succession> = Vec::new();
    let (mut last, mut released) = ("", false);
    for holder in holders {
        if holder.is_empty() {
            released = true;
            continue;
        }
        if !last.is_empty() && holder != last {
            successions.push(Succession { from: last.to_owned(), to: holder.clone(), released });
        }
        (last, released) = (holder, false);
    }
    successions
}
