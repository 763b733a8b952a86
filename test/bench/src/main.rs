//! `make bench`: what the broker and resource-graphs cost and how fast they are, on real API servers of their own. What follows is
//! of the broker; see [`graphs`] for the other, and [`scale`] for the broker with more clusters than there can be real ones.
//!
//! The clusters, the load, the provider's controller and the measuring are in this process; the broker is a process of
//! its own. All share the machine, so the API servers' CPU time bounds the throughput: the goal for a burst is
//! therefore relative to what one API server takes in the same run (the *ceiling*: every object costs one create by a
//! person and two writes by the broker, so at best a third of it is copied).
//!
//! What is timed:
//! - create→copy: from the moment the answer to the create was read here, to the moment the copy's ADDED event was read
//!   here, from a watch on the provider. That holds the broker's watch, its decision, its two writes, and one watch
//!   event of the provider's API server.
//! - status→consumer: from the answer to the provider's status write to the MODIFIED event of the origin with it.
//! - requests: the API servers' audit logs, where the broker is a user of its own.
//! - a move: from the edit of an AcceptAPI to the event of the origin that says that it has come to its end.
//! - condition→Migration: from the answer to the write that makes a condition true to the event of the Migration that has
//!   gone on.
//! - CPU and memory: `/proc`.
//! - one decision: the broker's own metric of it.

mod broker;
mod distributor;
mod extra;
mod graphs;
mod latency;
mod listener;
mod load;
mod merge;
mod options;
mod parts;
mod probe;
mod provider;
mod query;
mod recording;
mod report;
mod rogue;
mod scale;
mod sighting;
mod stage;
mod staged;
mod tally;
mod usage;
mod watch;
mod widget;

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser as _;

use crate::options::{Options, Part};
use crate::parts::Bench;
use crate::report::Report;

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let options = Options::parse();
    let load_average = usage::load_average()?;
    let mut report = Box::pin(measure(&options)).await?;
    if load_average > 1.0 {
        report.remark(format!("the load average was {load_average:.1} before the bench began"));
    }
    if cfg!(debug_assertions) {
        report.remark("a debug build: the numbers say little");
    }
    println!("{report}");
    let path = file()?;
    report.write(&path)?;
    println!("{} goals missed; all numbers are in {}", report.missed(), path.display());
    Ok(if options.check && report.missed() > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

async fn measure(options: &Options) -> anyhow::Result<Report> {
    let mut report = Report::new(options.quick);
    if options.wants_any(&Part::STAYING) {
        let bench = Box::pin(Bench::start(options.sizes(), report)).await?;
        report = Box::pin(bench.run_staying(options)).await?;
    }
    if options.wants_any(&Part::MOVING) {
        let bench = Box::pin(Bench::start(options.sizes(), report)).await?;
        report = Box::pin(bench.run_moving(options)).await?;
    }
    if options.wants(Part::Hostile) {
        let bench = Box::pin(Bench::start_hostile(options.sizes(), report)).await?;
        report = Box::pin(bench.run_hostile()).await?;
    }
    if options.wants_any(&Part::GROWING) {
        let bench = Box::pin(Bench::start(options.sizes(), report)).await?;
        report = Box::pin(bench.run_growing(options)).await?;
    }
    report = Box::pin(graphs::run(options, report)).await?;
    if options.wants(Part::Distributor) {
        report = Box::pin(distributor::run(options.sizes(), report)).await?;
    }
    if options.wants(Part::Scale) {
        report = Box::pin(scale::run(options, report)).await?;
    }
    Ok(report)
}

/// `bench.json` in the directory for build results, which is where this program is: `target/release/bench`.
fn file() -> anyhow::Result<std::path::PathBuf> {
    let program = std::env::current_exe()?;
    let target = program.parent().and_then(Path::parent).context("this program has no directory")?;
    Ok(target.join("bench.json"))
}
