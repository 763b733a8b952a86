//! `kubectl broker doctor`: what is not as it should be, in all clusters, and what to do about it. Reads only; each check is a
//! function from what was read to findings.

mod accept_api;
mod copy;
mod denied;
mod deployment;
mod facts;
mod finding;
mod hub;
mod kind;
mod lease;
mod migration;
mod origin;
mod reach;
mod read;
mod report;
mod secret;
mod signing;
mod twice;

use std::process::ExitCode;

use clap::Args;
use resource_broker::watch_kind::KindFlag;

pub(crate) use self::report::Report;
use self::{copy::Orphan, facts::Facts, finding::Finding};
use crate::{access::Access, output::Output, paint::Paint};

/// What is looked at, and how it is told.
#[derive(Debug, Clone, Args)]
pub(crate) struct Doctor {
    /// How it is printed
    #[arg(short, long, value_enum, default_value = "text")]
    output: Output,
    /// Namespace of the broker's own objects
    #[arg(long, value_name = "NAMESPACE", default_value = "resource-broker-system")]
    broker_namespace: String,
    /// Brokered kind, as Kind.version.group, beside those of the broker's flags; repeatable
    #[arg(long, value_name = "KIND.VERSION.GROUP", value_delimiter = ',')]
    watch_kind: Vec<KindFlag>,
}

/// Answers `doctor`: 1 where something does not work.
pub(crate) async fn doctor(access: &Access, asked: &Doctor) -> anyhow::Result<ExitCode> {
    let (facts, orphans) = read::read(access, asked).await?;
    let report = Report::of(facts.members.len() + 1, findings(&facts, &orphans));
    crate::print(&report.print(asked.output, Paint::of_output())?);
    Ok(if report.errors == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// All checks, in the order in which one explains the next.
fn findings(facts: &Facts, orphans: &[Orphan]) -> Vec<Finding> {
    let mut findings = hub::check(&facts.hub);
    if let Some(inside) = &facts.hub.inside {
        findings.extend(deployment::check(&facts.hub, inside));
        findings.extend(lease::check(facts, inside));
        findings.extend(signing::check(facts, inside));
        findings.extend(secret::check(facts, inside));
    }
    findings.extend(reach::check(facts));
    findings.extend(denied::check(facts));
    findings.extend(kind::check(facts));
    findings.extend(accept_api::check(facts));
    findings.extend(origin::check(facts));
    findings.extend(copy::check(facts, orphans));
    if let Some(inside) = &facts.hub.inside {
        findings.extend(migration::check(facts, inside));
    }
    findings
}
