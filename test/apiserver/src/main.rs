//! `model-apiserver`: the model of `test/sim` as a program, for end-to-end tests that need nothing of a real API server.
//!
//! It takes the flags of `kube-apiserver` that the harness gives, and does with them what that does: it serves TLS, tells users
//! apart by their tokens, refuses whoever is none of them, and writes an audit log. What it holds is in memory; SIGTERM has it
//! write all of that to a file and end at once, and with that file it begins again. `test/sim/tests/conformance` holds the
//! model to a real API server.
//!
//! It knows nothing of what is tested.
#![allow(clippy::expect_used)]

mod access;
mod audit;
mod listener;
mod service;

use std::{
    fs,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::Arc,
    time::SystemTime,
};

use anyhow::Context as _;
use clap::Parser;
use sim::{ApiServer, Clock, Journal};
use tokio::{
    signal::unix::{SignalKind, signal},
    time::{Duration, interval},
};

use crate::{access::Users, audit::Audit, listener::Tls, service::Front};

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
    /// What it holds when it begins, if the file is there; it is written at SIGTERM.
    #[arg(long)]
    data_file: PathBuf,
    /// Namespaces are emptied and garbage is collected, as a controller manager does.
    #[arg(long)]
    controllers: bool,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let mut end = signal(SignalKind::terminate()).context("signals")?;
    let journal = Journal::default();
    let server = begin(&options, &journal)?;
    server.limit(LONGEST);
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
        _ = end.recv() => fs::write(&options.data_file, serde_json::to_vec(&server.saved())?).context("--data-file"),
    }
}

/// The API server with what it held before.
fn begin(options: &Options, journal: &Journal) -> anyhow::Result<ApiServer> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).context("the clock")?;
    let clock = Clock::starting(i64::try_from(now.as_secs())?);
    // No two begin in the same nanosecond, and nothing follows from when.
    let seed = u64::try_from(now.as_nanos() % u128::from(u64::MAX))? ^ u64::from(options.secure_port).rotate_right(16);
    match fs::read(&options.data_file) {
        Ok(saved) => ApiServer::restored("model", seed, clock, journal, &serde_json::from_slice(&saved)?)
            .map_err(|why| anyhow::anyhow!("--data-file holds no data of a model: {why}")),
        Err(_) => Ok(ApiServer::within("model", seed, clock, journal)),
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
