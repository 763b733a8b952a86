//! `model-apiserver`: the model of `test/sim` as a program, for end-to-end tests that need nothing of a real API server.
//!
//! It takes the flags of `kube-apiserver` that the harness gives, and does with them what that does: it serves TLS, tells users
//! apart by their tokens, lets them do what RBAC says, and writes an audit log. What it holds is in memory; SIGTERM has it write
//! all of that to a file and end at once, and with that file it begins again. `test/sim/tests/conformance` holds the model to a
//! real API server, `test/harness/tests/clusters.rs` the program.
//!
//! It knows nothing of what is tested.

mod audit;
mod data;
mod listener;
mod review;
mod roles;
mod service;
mod users;

use std::{
    fs,
    hash::{BuildHasher as _, RandomState},
    net::{Ipv4Addr, SocketAddr},
    panic,
    path::PathBuf,
    process,
    sync::Arc,
};

use anyhow::Context as _;
use clap::Parser;
use sim::{ApiServer, Clock, Journal};
use tokio::{
    signal::unix::{SignalKind, signal},
    time::{Duration, interval},
};

use crate::{audit::Audit, listener::Tls, service::Front, users::Users};

/// How long an object may be, in bytes: etcd's limit of a request, less what surrounds the object in one.
const LONGEST: usize = 1_572_864 - 512;

/// How many changes it can tell of those who come late: as etcd does of five minutes, and its cache of some thousands.
const REMEMBERED: usize = 2_000;

/// How often it forgets what is older.
const FORGETS: Duration = Duration::from_secs(1);

/// A model of an API server.
#[derive(Debug, Parser)]
struct Options {
    /// Where it listens.
    #[arg(long, default_value = "127.0.0.1")]
    bind_address: Ipv4Addr,
    /// Its port.
    #[arg(long)]
    secure_port: u16,
    /// Its certificate and that of its authority, in PEM.
    #[arg(long)]
    tls_cert_file: PathBuf,
    /// The key to it, in PEM.
    #[arg(long)]
    tls_private_key_file: PathBuf,
    /// Users: a line `token,name,uid,"group,group"` each.
    #[arg(long)]
    token_auth_file: PathBuf,
    /// Where it writes who has asked for what.
    #[arg(long)]
    audit_log_path: PathBuf,
    /// What it holds when it begins, if the file is there; it is taken away then, and written at SIGTERM.
    #[arg(long)]
    data_file: PathBuf,
    /// What a controller manager does, too: namespaces are emptied, and garbage is collected.
    #[arg(long)]
    controllers: bool,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let told = panic::take_hook();
    panic::set_hook(Box::new(move |panicked| {
        told(panicked);
        // Nobody is to be answered from what is half changed.
        process::abort();
    }));
    let mut end = signal(SignalKind::terminate()).context("signals")?;
    let journal = Journal::default();
    // Servers of a lab have no uid in common.
    let seed = RandomState::new().hash_one(options.secure_port);
    let server = ApiServer::within("model", seed, Clock::of_the_machine(), &journal);
    server.limit(LONGEST);
    data::take(&server, &options.data_file).context("--data-file")?;
    let users = Users::read(&fs::read_to_string(&options.token_auth_file).context("--token-auth-file")?)?;
    let audit = Audit::append(&options.audit_log_path)?;
    let address = SocketAddr::from((options.bind_address, options.secure_port));
    let tls = Tls::bind(address, &options.tls_cert_file, &options.tls_private_key_file).await?;
    let front = Arc::new(Front { server: server.clone(), users, audit });
    let controllers =
        async { if options.controllers { server.run_controllers().await } else { server.run_definitions().await } };
    tokio::select! {
        ended = axum::serve(tls, service::router(front)) => ended.context("it cannot serve"),
        () = controllers => anyhow::bail!("its controllers ended"),
        () = forget(&server, &journal) => Ok(()),
        _ = end.recv() => data::leave(&server, &options.data_file).context("--data-file"),
    }
}

/// Lets go, again and again, of what nobody asks for any more.
async fn forget(server: &ApiServer, journal: &Journal) {
    let mut tick = interval(FORGETS);
    loop {
        tick.tick().await;
        server.remember(REMEMBERED);
        journal.take();
    }
}
