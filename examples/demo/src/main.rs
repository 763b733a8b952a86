//! `demo`: all demos, and the programs that they start. One binary, because each more would take as long to link again.
//!
//! Nothing happens here. What a subcommand does is in the folder of its example.

use std::process::ExitCode;

use certs_example::{cert_check, cert_provider};
use clap::Parser;
use example_stage::{pod_runner, show, show::Options};
use generic_example::generic_provider;
use migration_example::{keyvalue_migrate, keyvalue_provider};

/// Demos of the resource broker on real API servers, and the programs that they start.
#[derive(Parser)]
#[command(version, propagate_version = true)]
enum Demo {
    /// Shows the resource broker at work.
    Certs(Options),
    /// Moves a key-value store to another provider while it is in use.
    Migration(Options),
    /// Places machines, databases and clusters.
    Generic(Options),
    /// Shows two tenants, what they and a provider may try, and what comes of it.
    MultiTenant(Options),
    /// Lets graphs and the broker work together.
    Graphs(Options),
    /// Defines a kind once, and serves it in many clusters.
    Distributor(Options),
    /// Copies the template of a provider, and has it serve.
    Provider(Options),
    CertProvider(cert_provider::Args),
    CertCheck(cert_check::Args),
    GenericProvider(generic_provider::Args),
    KeyvalueProvider(keyvalue_provider::Args),
    KeyvalueMigrate(keyvalue_migrate::Args),
    PodRunner(pod_runner::Args),
}

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    match Demo::parse() {
        Demo::Certs(options) => return Ok(Box::pin(show("certs", options, certs_example::demo::play)).await),
        Demo::Migration(options) => {
            return Ok(Box::pin(show("migration", options, migration_example::demo::play)).await);
        }
        Demo::Generic(options) => return Ok(Box::pin(show("generic", options, generic_example::demo::play)).await),
        Demo::MultiTenant(options) => {
            return Ok(Box::pin(show("multi-tenant", options, multi_tenant_example::play)).await);
        }
        Demo::Graphs(options) => return Ok(Box::pin(show("graphs", options, graphs_example::play)).await),
        Demo::Distributor(options) => {
            return Ok(Box::pin(show("distributor", options, distributor_example::play)).await);
        }
        Demo::Provider(options) => return Ok(Box::pin(show("provider", options, provider_example::play)).await),
        Demo::CertProvider(args) => Box::pin(cert_provider::run(args)).await?,
        Demo::CertCheck(args) => cert_check::run(&args)?,
        Demo::GenericProvider(args) => Box::pin(generic_provider::run(args)).await?,
        Demo::KeyvalueProvider(args) => Box::pin(keyvalue_provider::run(args)).await?,
        Demo::KeyvalueMigrate(args) => Box::pin(keyvalue_migrate::run(args)).await?,
        Demo::PodRunner(args) => Box::pin(pod_runner::run(args)).await?,
    }
    Ok(ExitCode::SUCCESS)
}
