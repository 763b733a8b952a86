//! When this process saw which Widget.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use kube::Client;
use serde::Deserialize;

use crate::watch::{Seen, Watched, Watches};
use crate::widget;

pub(crate) use crate::watch::Kind;

/// An object in a state.
#[derive(Clone, Debug)]
pub(crate) struct Sighting {
    /// Its name.
    pub(crate) name: String,
    /// `status.revision`; 0 without one.
    pub(crate) revision: u64,
    /// Of an origin: the provider that serves it.
    pub(crate) provider: Option<String>,
    /// Of an origin: the provider it moves to.
    pub(crate) moving_to: Option<String>,
    /// Which of the watched servers.
    pub(crate) server: usize,
    /// Which event it was.
    pub(crate) kind: Kind,
    /// When.
    pub(crate) at: Instant,
}

/// Watches on all Widgets of some servers, from now on. Dropping it ends them.
pub(crate) struct Sightings(Watches<Widget>);

impl Sightings {
    /// Begins to watch; what happens after this returns is seen.
    pub(crate) async fn begin(clients: &[&Client], kinds: &'static [Kind]) -> anyhow::Result<Self> {
        Watches::begin(clients, kinds).await.map(Self)
    }

    /// The next one; `None`: nothing has come for `patience`.
    pub(crate) async fn next(&mut self, patience: Duration) -> anyhow::Result<Option<Sighting>> {
        Ok(self.0.next(patience).await?.map(Sighting::from))
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
            let Some(sighting) = self.next(patience).await? else {
                anyhow::bail!("{} of {count} were seen, and nothing more for {patience:?}", seen.len());
            };
            if wanted(&sighting) {
                seen.entry(sighting.name.clone()).or_insert(sighting);
            }
        }
        Ok(seen)
    }
}

impl From<Seen<Widget>> for Sighting {
    fn from(Seen { kind, object, server, at }: Seen<Widget>) -> Self {
        let Metadata { name, annotations: Annotations { provider, moving_to }, .. } = object.metadata;
        Self { name, revision: object.status.revision, provider, moving_to, server, kind, at }
    }
}

#[derive(Deserialize)]
struct Widget {
    metadata: Metadata,
    #[serde(default)]
    status: Status,
}

impl Watched for Widget {
    fn path() -> String {
        widget::ALL.to_owned()
    }

    fn version(&self) -> &str {
        &self.metadata.resource_version
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    #[serde(default)]
    name: String,
    #[serde(default)]
    resource_version: String,
    #[serde(default)]
    annotations: Annotations,
}

#[derive(Default, Deserialize)]
struct Annotations {
    #[serde(rename = "broker.platform-mesh.io/provider-cluster")]
    provider: Option<String>,
    #[serde(rename = "broker.platform-mesh.io/new-provider-cluster")]
    moving_to: Option<String>,
}

#[derive(Default, Deserialize)]
struct Status {
    #[serde(default)]
    revision: u64,
}
