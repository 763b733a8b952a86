//! How a program begins and ends.

use std::{io, process::ExitCode, time::Duration};

use futures::future::join_all;
use tokio::{
    runtime::Builder,
    signal::unix::{Signal, SignalKind, signal},
    task::JoinHandle,
    time::timeout,
};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

/// How long what cannot be cancelled (name resolution, a credential plugin) may keep the process from ending.
const LINGER: Duration = Duration::from_millis(200);

/// How long the release of the Lease may take; afterwards it expires by itself.
const RELEASE: Duration = Duration::from_secs(2);

/// Runs a program to its end. `threads` serve its sockets; `None`: as many as there are processors.
pub fn run(threads: Option<usize>, program: impl Future<Output = anyhow::Result<()>>) -> ExitCode {
    // One TLS provider for the whole process; it can only be set once, here.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Builder::new_multi_thread();
    if let Some(threads) = threads {
        builder.worker_threads(threads);
    }
    let runtime = match builder.enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            error!("no threads to be had: {error}");
            return ExitCode::FAILURE;
        }
    };
    let ended = runtime.block_on(program);
    runtime.shutdown_timeout(LINGER);
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            error!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

/// What tells a program to end.
#[derive(Debug)]
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// From now on neither SIGTERM nor SIGINT ends the process by itself.
    ///
    /// # Errors
    /// The system does not let us.
    pub fn catch() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// The name of the first that comes.
    pub async fn first(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}

/// What is to be ended, in this order.
#[derive(Debug)]
pub struct Ending {
    /// Nothing new is begun.
    pub stop: CancellationToken,
    /// Machines at work.
    pub work: Vec<JoinHandle<()>>,
    /// How long writes in hand may take.
    pub patience: Duration,
    /// Until then the Lease covers the last writes; then it is released.
    pub release: CancellationToken,
    /// The election.
    pub election: JoinHandle<()>,
}

impl Ending {
    /// Waits for a signal, then ends all.
    pub async fn after(self, mut signals: Signals) {
        info!("{}: finishing the writes in hand", signals.first().await);
        self.now().await;
    }

    /// Ends all.
    pub async fn now(self) {
        self.stop.cancel();
        wait(join_all(self.work), self.patience, "writes in hand").await;
        self.release.cancel();
        wait(self.election, RELEASE, "the release of the lease").await;
        info!("bye");
    }
}

async fn wait<F: Future>(ending: F, limit: Duration, what: &str) {
    if timeout(limit, ending).await.is_err() {
        warn!("gave up waiting for {what}");
    }
}
