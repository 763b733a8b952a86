//! All clusters that are stubs, in this process.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde_json::json;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::asked::Asked;
use super::change::{Change, Role};
use super::kind::Kind;
use super::layout::{COMMON, LOST, Layout, accept_all, accept_lost, name};
use super::stub::Stub;
use crate::extra::kubeconfig;
use crate::listener::Proof;
use crate::recording::Recording;
use crate::stage::Stage;
use crate::widget;

/// Stubs. Dropping it ends them.
pub(super) struct Stubs {
    consumers: Vec<Arc<Stub>>,
    providers: Vec<Arc<Stub>>,
    /// Where the kubeconfigs are, by flag.
    directories: [(&'static str, PathBuf); 2],
    /// What was asked of all of them.
    pub(super) asked: Arc<Asked>,
    changes: UnboundedReceiver<Change>,
    _servers: JoinSet<()>,
}

/// What is needed to begin one.
struct Beginning {
    proof: Proof,
    asked: Arc<Asked>,
    changes: UnboundedSender<Change>,
    servers: JoinSet<()>,
    /// How many there are.
    count: usize,
}

impl Beginning {
    /// So many, each with a kubeconfig in a directory.
    async fn begin(
        &mut self,
        role: Role,
        count: usize,
        recording: &Arc<Recording>,
        directory: &Path,
    ) -> anyhow::Result<Vec<Arc<Stub>>> {
        fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))?;
        let mut stubs = Vec::with_capacity(count);
        for number in 0..count {
            let stub = Stub::new(role, self.count, recording, &self.asked, self.changes.clone());
            self.count += 1;
            let address = stub.serve(&self.proof, &mut self.servers).await?;
            let file = directory.join(format!("stub-{number:04}.kubeconfig"));
            fs::write(&file, kubeconfig(address, &self.proof.authority_pem))
                .with_context(|| format!("cannot write {}", file.display()))?;
            stubs.push(stub);
        }
        Ok(stubs)
    }
}

impl Stubs {
    /// Starts them, with all their objects. What they answer of what they do not hold is what the stage's clusters do now.
    pub(super) async fn start(stage: &Stage, layout: &Layout) -> anyhow::Result<Self> {
        let of_consumer = Arc::new(Recording::of_consumer(&stage.person).await?);
        let of_provider = Arc::new(Recording::of_provider(&stage.controllers[1]).await?);
        let home = stage.lab.directory().join("stubs");
        let directories = [
            ("--consumer-kubeconfig-dir", home.join("consumers")),
            ("--provider-kubeconfig-dir", home.join("providers")),
        ];
        let (sender, changes) = unbounded_channel();
        let (asked, servers) = (Arc::<Asked>::default(), JoinSet::new());
        let mut beginning =
            Beginning { proof: Proof::make()?, asked: Arc::clone(&asked), changes: sender, servers, count: 0 };
        let [(_, consumers), (_, providers)] = &directories;
        let consumers = beginning.begin(Role::Consumer, layout.consumers, &of_consumer, consumers).await?;
        let providers = beginning.begin(Role::Provider, layout.providers, &of_provider, providers).await?;
        let mut stubs = Self { consumers, providers, directories, asked, changes, _servers: beginning.servers };
        stubs.fill(layout)?;
        Ok(stubs)
    }

    /// Makes all objects, as if they had been there for long.
    fn fill(&mut self, layout: &Layout) -> anyhow::Result<()> {
        for (part, count) in [(LOST, layout.lost), (COMMON, layout.common)] {
            for number in 0..count {
                let object = serde_json::from_slice(&widget::body(&name(part, number)))?;
                self.consumer_of(number).make(Kind::Widget, object)?;
            }
        }
        for (position, provider) in self.providers.iter().enumerate() {
            let accepts = if position == 0 { accept_lost() } else { accept_all() };
            provider.make(Kind::AcceptApi, accepts)?;
        }
        self.forget();
        Ok(())
    }

    /// Where an object of a part is, by its number.
    fn consumer_of(&self, number: usize) -> &Stub {
        &self.consumers[number % self.consumers.len()]
    }

    /// The provider that is lost.
    pub(super) fn lost(&self) -> &Stub {
        &self.providers[0]
    }

    /// Flags by which the broker engages them.
    pub(super) fn flags(&self) -> Vec<String> {
        self.directories.iter().flat_map(|(flag, path)| [(*flag).to_owned(), path.display().to_string()]).collect()
    }

    /// Copies at all of them.
    pub(super) fn copies(&self) -> usize {
        self.providers.iter().map(|stub| stub.store().count(Kind::Widget)).sum()
    }

    /// A person edits an object of [`COMMON`].
    pub(super) fn edit(&self, number: usize, replicas: usize) -> anyhow::Result<()> {
        self.consumer_of(number).edit(&name(COMMON, number), json!({"spec": {"replicas": replicas}}))
    }

    /// Forgets all changes so far: the broker has been told of them, and nobody asks what they were.
    pub(super) fn forget(&mut self) {
        for stub in self.consumers.iter().chain(&self.providers) {
            stub.store().forget();
        }
        while self.changes.try_recv().is_ok() {}
    }

    /// The next change.
    ///
    /// # Errors
    /// When there is none for so long.
    pub(super) async fn next(&mut self, patience: Duration) -> anyhow::Result<Change> {
        let next = timeout(patience, self.changes.recv()).await;
        next.with_context(|| format!("nothing has changed for {patience:?}"))?.context("the stubs have ended")
    }

    /// How long after a moment something was asked for last; nothing: it was before.
    pub(super) fn last_after(&self, moment: Instant) -> Duration {
        self.asked.last().map_or(Duration::ZERO, |last| last.saturating_duration_since(moment))
    }
}
