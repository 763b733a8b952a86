//! Watches of this process' own.
//!
//! An event is timed when its line is complete, before anything of it is parsed.

use std::pin::pin;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use futures::AsyncBufReadExt as _;
use kube::Client;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

/// What is read of an object.
pub(crate) trait Watched: DeserializeOwned + Send + 'static {
    /// Path of all objects of the kind.
    fn path() -> String;

    /// `metadata.resourceVersion`.
    fn version(&self) -> &str;
}

/// Sorts of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum Kind {
    Added,
    Modified,
    Deleted,
}

/// An event.
#[derive(Debug)]
pub(crate) struct Seen<T> {
    pub(crate) kind: Kind,
    /// The object after it.
    pub(crate) object: T,
    /// Which of the watched servers.
    pub(crate) server: usize,
    /// When.
    pub(crate) at: Instant,
}

/// Watches on all objects of a kind on some servers, from now on. Dropping it ends them.
pub(crate) struct Watches<T> {
    receiver: UnboundedReceiver<Seen<T>>,
    _watches: JoinSet<()>,
}

impl<T: Watched> Watches<T> {
    /// Begins to watch for these sorts of events; what happens after this returns is seen.
    pub(crate) async fn begin(clients: &[&Client], kinds: &'static [Kind]) -> anyhow::Result<Self> {
        let (sender, receiver) = unbounded_channel();
        let mut watches = JoinSet::new();
        for (server, client) in clients.iter().enumerate() {
            let watch = Watch::new((*client).clone(), server, kinds, sender.clone()).await?;
            watches.spawn(watch.run());
        }
        Ok(Self { receiver, _watches: watches })
    }

    /// The next event; `None`: nothing has come for `patience`.
    ///
    /// # Errors
    /// When all watches have ended.
    pub(crate) async fn next(&mut self, patience: Duration) -> anyhow::Result<Option<Seen<T>>> {
        match tokio::time::timeout(patience, self.receiver.recv()).await {
            Ok(seen) => seen.context("the watches ended").map(Some),
            Err(_) => Ok(None),
        }
    }
}

#[derive(Deserialize)]
struct Event<T> {
    #[serde(rename = "type")]
    kind: Kind,
    object: T,
}

/// One watch. The API server ends watches that it takes for too slow, so it goes on where it was.
struct Watch<T> {
    client: Client,
    server: usize,
    kinds: &'static [Kind],
    sender: UnboundedSender<Seen<T>>,
    version: String,
}

impl<T: Watched> Watch<T> {
    /// From what there is now.
    async fn new(
        client: Client,
        server: usize,
        kinds: &'static [Kind],
        sender: UnboundedSender<Seen<T>>,
    ) -> anyhow::Result<Self> {
        #[derive(Deserialize)]
        struct List {
            metadata: kube::core::ListMeta,
        }
        let list: List = client.request(http::Request::get(format!("{}?limit=1", T::path())).body(Vec::new())?).await?;
        let version = list.metadata.resource_version.context("a list without a version")?;
        Ok(Self { client, server, kinds, sender, version })
    }

    /// Until nobody listens, or the API server is gone; the latter is noticed by who waits for events.
    async fn run(mut self) {
        while let Ok(true) = self.session().await {}
    }

    /// Whether to go on.
    async fn session(&mut self) -> anyhow::Result<bool> {
        let path = format!("{}?watch=1&resourceVersion={}", T::path(), self.version);
        let stream = self.client.request_stream(http::Request::get(path).body(Vec::new())?).await?;
        let mut stream = pin!(stream);
        let mut line = Vec::new();
        while stream.read_until(b'\n', &mut line).await? > 0 {
            let at = Instant::now();
            let Event { kind, object } = serde_json::from_slice::<Event<T>>(&line)?;
            object.version().clone_into(&mut self.version);
            let wanted = self.kinds.contains(&kind);
            if wanted && self.sender.send(Seen { kind, object, server: self.server, at }).is_err() {
                return Ok(false);
            }
            line.clear();
        }
        Ok(true)
    }
}
