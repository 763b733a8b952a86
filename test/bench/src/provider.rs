//! The providers' controllers: a copy that is new is served at once, with a Secret, which goes when the copy has gone, or
//! with a status alone.

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::sighting::{Kind, Sighting, Sightings};
use crate::widget;

/// Copies that one controller works on at once.
const WORKERS: usize = 16;
const FOREVER: Duration = Duration::from_hours(24);

/// What a copy is served with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Serving {
    /// A Secret, and a status that names it.
    Secret,
    /// A status.
    Status,
}

/// Works on what appears from now on. Dropping it ends it.
pub(crate) struct Controllers {
    _tasks: JoinSet<()>,
}

impl Controllers {
    /// One for each provider.
    pub(crate) async fn start(providers: &[Client; 2], serving: Serving) -> anyhow::Result<Self> {
        let mut tasks = JoinSet::new();
        for (number, provider) in providers.iter().enumerate() {
            let sightings = Sightings::begin(&[provider], &[Kind::Added, Kind::Deleted]).await?;
            tasks.spawn(run(provider.clone(), number, serving, sightings));
        }
        Ok(Self { _tasks: tasks })
    }
}

async fn run(provider: Client, number: usize, serving: Serving, mut sightings: Sightings) {
    let places = Arc::new(Semaphore::new(WORKERS));
    let mut work = JoinSet::new();
    while let Ok(Some(sighting)) = sightings.next(FOREVER).await {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let provider = provider.clone();
        work.spawn(async move {
            // Who waits for the copy to be served sees that it is not; this says why.
            if let Err(error) = serve(&provider, number, serving, &sighting).await {
                eprintln!("bench: provider {number}: {}: {error:#}", sighting.name);
            }
            drop(place);
        });
        while work.try_join_next().is_some() {}
    }
}

async fn serve(provider: &Client, number: usize, serving: Serving, sighting: &Sighting) -> anyhow::Result<()> {
    if serving == Serving::Status {
        return match sighting.kind {
            Kind::Added => widget::write_status(provider, &sighting.name, 1).await,
            Kind::Modified | Kind::Deleted => Ok(()),
        };
    }
    if sighting.kind == Kind::Deleted {
        return widget::delete_secret(provider, &sighting.name).await;
    }
    widget::create_secret(provider, &sighting.name, number).await?;
    widget::write_status_with_secret(provider, &sighting.name, 0).await
}
