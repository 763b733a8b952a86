//! Clusters come and go while the broker runs: kubeconfig files in directories, and Secrets with a role label.
//!
//! All tests share one broker, to which no cluster is given at its start.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod directory;
mod secrets;
mod telling;

use std::{fs, path::PathBuf};

use e2e::{Broker, BrokerSetup, DEADLINE, Object, Place, Shared, World, kind::CERTIFICATE};
use futures::FutureExt as _;
use harness::wait_for;
use tokio::sync::RwLock;

/// A consumer.
const HOMER: &str = "homer";
/// A consumer or a provider.
const BART: &str = "bart";
/// A provider.
const ARIADNE: &str = "ariadne";
/// Another provider.
const THESEUS: &str = "theseus";

/// Namespace of cluster Secrets.
const SECRETS: &str = "clusters";

/// Annotation on an origin: which provider serves it.
const PROVIDER: &str = "broker.platform-mesh.io/provider-cluster";

static WORLD: Shared = Shared::new(|| start().boxed_local());

/// Held for writing by tests that take away what others use.
static PEACE: RwLock<()> = RwLock::const_new(());

async fn start() -> World {
    let world = World::modelled(&[HOMER, BART], &[ARIADNE, THESEUS], &[CERTIFICATE]).await;
    world.hub.make_namespace(SECRETS).await;
    world.consumer(BART).apply(&e2e::kind::ACCEPT_API.crd().to_string()).await;
    for role in ["consumer", "provider"] {
        fs::create_dir_all(folder(&world, role)).unwrap();
    }
    let args = ["consumer", "provider"]
        .into_iter()
        .flat_map(|role| [format!("--{role}-kubeconfig-dir"), folder(&world, role).display().to_string()]);
    let args = args.chain(["--cluster-secrets-namespace".to_owned(), SECRETS.to_owned()]).collect();
    let setup = BrokerSetup {
        name: "broker",
        coordination: Some(&world.hub),
        kinds: &[CERTIFICATE],
        args,
        ..BrokerSetup::default()
    };
    let broker = Broker::start(&world.lab, &setup).await;
    engage(&world, "consumer", world.consumer(HOMER), HOMER, "broker");
    engage(&world, "provider", world.provider(ARIADNE), ARIADNE, "broker");
    let waiting = wait_for(DEADLINE, "the first clusters to be engaged", async || {
        let metrics = broker.metrics().await?;
        let ready =
            |role: &str| metrics.contains(&format!("resource_broker_clusters{{role=\"{role}\",state=\"Ready\"}} 1"));
        anyhow::ensure!(ready("consumer") && ready("provider"), "{metrics}");
        Ok(())
    });
    waiting.await.unwrap();
    *world.broker().await = Some(broker);
    world
}

fn folder(world: &World, role: &str) -> PathBuf {
    world.lab.directory().join(format!("{role}s"))
}

/// The file of a cluster.
fn file(world: &World, role: &str, name: &str) -> PathBuf {
    folder(world, role).join(format!("{name}.kubeconfig"))
}

/// Puts a kubeconfig into a directory.
fn engage(world: &World, role: &str, place: &Place, name: &str, user: &str) {
    place.cluster.write_kubeconfig(user, &file(world, role, name)).unwrap();
}

/// Whether the object is placed and said so.
fn placed(seen: &Object) -> bool {
    seen.has("Brokered", "True", "Placed")
}

/// Waits until `/readyz` is 200 with a line that holds all `words`; returns the line.
async fn until_said(world: &World, words: &[&str]) -> String {
    let guard = world.broker().await;
    let broker = guard.as_ref().unwrap();
    let what = format!("/readyz to say {words:?}");
    let said = wait_for(DEADLINE, &what, async || {
        let (code, body) = broker.health("/readyz").await?;
        let line = body.lines().find(|line| words.iter().all(|word| line.contains(word)));
        match (code, line) {
            (200, Some(line)) => Ok(line.to_owned()),
            _ => Err(anyhow::anyhow!("{code} {body}")),
        }
    });
    said.await.unwrap_or_else(|error| panic!("{error:#}"))
}

/// The value of a metric without labels, or with exactly these.
async fn metric(world: &World, name: &str) -> Option<f64> {
    let guard = world.broker().await;
    let metrics = guard.as_ref().unwrap().metrics().await.unwrap();
    let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.and_then(|value| value.parse().ok())
}

/// Waits until a metric has a value.
async fn until_metric(world: &World, name: &str, value: f64) {
    let what = format!("{name} to be {value}");
    let waited = wait_for(DEADLINE, &what, async || match metric(world, name).await {
        Some(seen) if (seen - value).abs() < 1e-9 => Ok(()),
        seen => Err(format!("{seen:?}")),
    });
    waited.await.unwrap();
}
