//! Who cannot be reached keeps what he has (I5): not to know is no reason to go elsewhere.

use std::collections::BTreeSet;

use sim::{AFTER_ALL, Entry};

use super::{Away, Step, assigned, done_to, policy};

/// See the module.
#[derive(Default)]
pub(super) struct Loyalty {
    away: Away,
    /// Providers of which something was said that may make objects go: in their AcceptAPI, by the platform, or with the kind of
    /// either.
    parted: BTreeSet<String>,
    /// Somebody wants his share of what others have.
    shares: bool,
    /// Origins of which somebody has written what only the broker may.
    forged: BTreeSet<String>,
    /// What comes next was written long ago.
    strays: bool,
}

impl Loyalty {
    /// What is told beside changes.
    pub(super) fn hear(&mut self, entry: &Entry, what: &str) {
        self.strays |= what.starts_with(AFTER_ALL);
        self.away.hear(&entry.server, what);
        let says = policy(what);
        self.shares |= says.is_some_and(|(_, says)| says == "Rebalancing");
        let parts = says
            .map(|(provider, _)| provider)
            .or_else(|| done_to("Leave", what))
            .or_else(|| done_to("Uninstall", what))
            .or_else(|| done_to("Withdraw", what));
        self.parted.extend(parts.map(str::to_owned));
    }

    /// What the broker does.
    pub(super) fn check(&self, step: &Step<'_>) -> Result<(), String> {
        let (Some(before), Some(after)) = (step.before(), step.after().filter(|_| step.is_about_origin())) else {
            return Ok(());
        };
        let ([was, went], [is, goes]) = (assigned(before), assigned(after));
        let leaves = is != was && is != went || goes != went && !goes.is_empty() && goes != was;
        let uid = after["metadata"]["uid"].as_str().unwrap_or_default();
        let excused = self.strays || self.shares || self.parted.contains(&was) || self.forged.contains(uid);
        if leaves && !is.is_empty() && self.away.has(&was) && !excused {
            return Err(format!("nobody can see what {was} has, and nobody has said that it is to go"));
        }
        Ok(())
    }

    /// Takes a step in.
    pub(super) fn take(&mut self, step: &Step<'_>) {
        self.strays = false;
        self.forged.extend(step.forges().map(str::to_owned));
    }
}
