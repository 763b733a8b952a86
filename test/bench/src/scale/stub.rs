//! A cluster that is no real API server, but has its address, its uid and its objects.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::serve::Listener as _;
use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::answer;
use super::asked::Asked;
use super::change::{Change, Role};
use super::kind::{Kind, Target};
use super::line::Lines;
use super::store::Store;
use crate::listener::Proof;
use crate::recording::Recording;
use crate::widget;

/// See the module.
pub(super) struct Stub {
    pub(super) role: Role,
    /// Which of all stubs.
    pub(super) number: usize,
    /// What it answers where it holds nothing itself: what a real one did.
    pub(super) recording: Arc<Recording>,
    pub(super) asked: Arc<Asked>,
    store: Mutex<Store>,
    /// Tells that there is something new in the store.
    news: watch::Sender<()>,
    silent: Arc<AtomicBool>,
}

impl Stub {
    /// An empty one.
    pub(super) fn new(
        role: Role,
        number: usize,
        recording: &Arc<Recording>,
        asked: &Arc<Asked>,
        changes: UnboundedSender<Change>,
    ) -> Arc<Self> {
        Arc::new(Self {
            role,
            number,
            recording: Arc::clone(recording),
            asked: Arc::clone(asked),
            store: Mutex::new(Store::new(role, number, changes)),
            news: watch::Sender::new(()),
            silent: Arc::default(),
        })
    }

    /// By which it is told from others.
    pub(super) fn uid(&self) -> String {
        format!("00000000-0000-4000-9000-{:012x}", self.number)
    }

    /// What it holds.
    pub(super) fn store(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells whoever watches that something may be new.
    pub(super) fn tell(&self) {
        self.news.send_replace(());
    }

    /// Hears whenever something may be new.
    pub(super) fn news(&self) -> watch::Receiver<()> {
        self.news.subscribe()
    }

    /// Makes an object, in the name of a person.
    pub(super) fn make(&self, kind: Kind, object: Value) -> anyhow::Result<()> {
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
        let (namespace, name) = (text("namespace"), text("name"));
        self.store().create(&Target::object(kind, &namespace, &name), object)?;
        self.tell();
        Ok(())
    }

    /// Edits a Widget, in the name of a person.
    pub(super) fn edit(&self, name: &str, patch: Value) -> anyhow::Result<()> {
        self.store().patch(&Target::object(Kind::Widget, widget::NAMESPACE, name), patch)?;
        self.tell();
        Ok(())
    }

    /// From now on it answers nobody.
    pub(super) fn fall_silent(&self) {
        self.silent.store(true, Ordering::Relaxed);
    }

    /// Listens at an address of its own, as long as `servers` are there.
    pub(super) async fn serve(
        self: &Arc<Self>,
        proof: &Proof,
        servers: &mut JoinSet<()>,
    ) -> anyhow::Result<SocketAddr> {
        let lines = Lines::bind(proof, Arc::clone(&self.silent)).await?;
        let address = lines.local_addr()?;
        let router = Router::new().fallback(answer::answer).with_state(Arc::clone(self));
        servers.spawn(async move {
            // It goes on until it is dropped.
            let _ = axum::serve(lines, router).await;
        });
        Ok(address)
    }
}
