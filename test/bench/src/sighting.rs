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
use tokio::task::JoinSet;

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
            let watch = Watch::new((*client).clone(), server, kind, sender.clone()).await?;
            watches.spawn(watch.run());
        }
        Ok(Self { receiver, _watches: watches })
    }

    /// The first `count` sightings that `wanted` says yes to, by name.
    ///
    /// # Errors
    /// When some are missing and nothing has come for `patience`; says how many.
    pub(crate) async fn collect(
        &mut self,
        count: usize,
        patience: Duration,
        wanted: impl Fn(&Sighting) -> bool,
    ) -> anyhow::Result<HashMap<String, Sighting>> {
        let mut seen: HashMap<String, Sighting> = HashMap::with_capacity(count);
        while seen.len() < count {
            let Ok(sighting) = tokio::time::timeout(patience, self.receiver.recv()).await else {
                anyhow::bail!("{} of {count} were seen, and nothing more for {patience:?}", seen.len());
            };
            let sighting = sighting.context("the watches ended")?;
            if wanted(&sighting) {
                seen.entry(sighting.name.clone()).or_insert(sighting);
            }
        }
        Ok(seen)
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
#[serde(rename_all = "camelCase")]
struct Metadata<'a> {
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    resource_version: Cow<'a, str>,
}

#[derive(Default, Deserialize)]
struct Status {
    #[serde(default)]
    revision: u64,
}

/// One watch. The API server ends watches that it takes for too slow, so it goes on where it was.
struct Watch {
    client: Client,
    server: usize,
    kind: Kind,
    sender: UnboundedSender<Sighting>,
    version: String,
}

impl Watch {
    /// From what there is now.
    async fn new(client: Client, server: usize, kind: Kind, sender: UnboundedSender<Sighting>) -> anyhow::Result<Self> {
        #[derive(Deserialize)]
        struct List {
            metadata: kube::core::ListMeta,
        }
        let list: List =
            client.request(http::Request::get(format!("{}?limit=1", widget::ALL)).body(Vec::new())?).await?;
        let version = list.metadata.resource_version.context("a list without a version")?;
        Ok(Self { client, server, kind, sender, version })
    }

    /// Until nobody listens, or the API server is gone; the latter is noticed by who waits for sightings.
    async fn run(mut self) {
        while let Ok(true) = self.session().await {}
    }

    /// Whether to go on.
    async fn session(&mut self) -> anyhow::Result<bool> {
        let path = format!("{}?watch=1&resourceVersion={}", widget::ALL, self.version);
        let stream = self.client.request_stream(http::Request::get(path).body(Vec::new())?).await?;
        let mut stream = pin!(stream);
        let mut line = Vec::new();
        while stream.read_until(b'\n', &mut line).await? > 0 {
            let at = Instant::now();
            let event: Event<'_> = serde_json::from_slice(&line)?;
            let metadata = event.object.metadata;
            self.version = metadata.resource_version.into_owned();
            let counts = match self.kind {
                Kind::Added => event.kind == "ADDED",
                Kind::Modified => event.kind == "MODIFIED",
            };
            let (name, revision) = (metadata.name.into_owned(), event.object.status.revision);
            if counts && self.sender.send(Sighting { name, revision, server: self.server, at }).is_err() {
                return Ok(false);
            }
            line.clear();
        }
        Ok(true)
    }
}
