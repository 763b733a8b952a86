//! When this process saw what, on watches of its own.
//!
//! An event is timed when its line is complete, before anything of it is parsed.

use std::borrow::Cow;
use std::collections::HashMap;
use std::pin::pin;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use futures::AsyncBufReadExt as _;
use kube::Client;
use serde::Deserialize;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::{AbortHandle, JoinSet};

use crate::widget;

/// An object in a state.
#[derive(Clone, Debug)]
pub(crate) struct Sighting {
    /// Its name.
    pub(crate) name: String,
    /// `status.revision`; 0 without one.
    pub(crate) revision: u64,
    /// Which of the watched servers.
    pub(crate) server: usize,
    /// When.
    pub(crate) at: Instant,
}

/// Watches on all Widgets of some servers, from now on. Dropping it ends them.
pub(crate) struct Sightings {
    receiver: UnboundedReceiver<Sighting>,
    _watches: JoinSet<()>,
}

/// Which events count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Added,
    Modified,
}

impl Sightings {
    /// Begins to watch; what happens after this returns is seen.
    pub(crate) async fn begin(clients: &[&Client], kind: Kind) -> anyhow::Result<Self> {
        let (sender, receiver) = unbounded_channel();
        let mut watches = JoinSet::new();
        for (server, client) in clients.iter().enumerate() {
            follow(client, server, kind, sender.clone(), &mut watches).await?;
        }
        Ok(Self { receiver, _watches: watches })
    }

    /// The first `count` sightings that `wanted` says yes to, by name.
    ///
    /// # Errors
    /// When some are missing after `deadline`; says how many.
    pub(crate) async fn collect(
        &mut self,
        count: usize,
        deadline: Duration,
        wanted: impl Fn(&Sighting) -> bool,
    ) -> anyhow::Result<HashMap<String, Sighting>> {
        let mut seen: HashMap<String, Sighting> = HashMap::with_capacity(count);
        let all = async {
            while seen.len() < count {
                let sighting = self.receiver.recv().await.context("the watches ended")?;
                if wanted(&sighting) {
                    seen.entry(sighting.name.clone()).or_insert(sighting);
                }
            }
            anyhow::Ok(())
        };
        let in_time = tokio::time::timeout(deadline, all).await;
        match in_time {
            Ok(done) => done.map(|()| seen),
            Err(_) => anyhow::bail!("{} of {count} were seen within {deadline:?}", seen.len()),
        }
    }
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    object: Object<'a>,
}

#[derive(Deserialize)]
struct Object<'a> {
    #[serde(borrow)]
    metadata: Metadata<'a>,
    #[serde(default)]
    status: Status,
}

#[derive(Deserialize)]
struct Metadata<'a> {
    #[serde(borrow, default)]
    name: Cow<'a, str>,
}

#[derive(Default, Deserialize)]
struct Status {
    #[serde(default)]
    revision: u64,
}

async fn follow(
    client: &Client,
    server: usize,
    kind: Kind,
    sender: UnboundedSender<Sighting>,
    watches: &mut JoinSet<()>,
) -> anyhow::Result<AbortHandle> {
    #[derive(Deserialize)]
    struct List {
        metadata: kube::core::ListMeta,
    }
    let list: List = client.request(http::Request::get(format!("{}?limit=1", widget::ALL)).body(Vec::new())?).await?;
    let version = list.metadata.resource_version.context("a list without a version")?;
    let path = format!("{}?watch=1&resourceVersion={version}", widget::ALL);
    let stream = client.request_stream(http::Request::get(path).body(Vec::new())?).await?;
    Ok(watches.spawn(async move {
        let mut stream = pin!(stream);
        let mut line = Vec::new();
        // A broken watch is noticed by who waits for its sightings.
        while stream.read_until(b'\n', &mut line).await.is_ok_and(|length| length > 0) {
            let at = Instant::now();
            if let Ok(event) = serde_json::from_slice::<Event<'_>>(&line) {
                let counts = match kind {
                    Kind::Added => event.kind == "ADDED",
                    Kind::Modified => event.kind == "MODIFIED",
                };
                let (name, revision) = (event.object.metadata.name.into_owned(), event.object.status.revision);
                if counts && sender.send(Sighting { name, revision, server, at }).is_err() {
                    return;
                }
            }
            line.clear();
        }
    }))
}
