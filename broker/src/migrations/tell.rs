//! What is told of Migrations: Events on them, and metrics.

use broker_api::keys;
use broker_core::migration::observed::Outcome;
use runtime_effect::note::Note;

use super::known::Known;
use crate::{
    broker::Broker,
    events::{About, is_news},
    metrics::{METRICS, ReasonLabels, ResultLabels},
};

impl Broker {
    /// Tells something on the Migration unless it was told a short time ago.
    pub(super) fn tell_migration(&self, known: &Known, note: &Note) {
        if self.migrations.remember(&known.key, |_, told| is_news(told, note)) != Some(true) {
            return;
        }
        let Some(hub) = self.hub() else { return };
        let about = About {
            cluster: hub.name().clone(),
            api_version: format!("{}/{}", keys::GROUP, self.watches.migrations.gvk.version),
            kind: self.watches.migrations.gvk.kind.clone(),
            namespace: known.key.namespace.to_string(),
            name: known.key.name.to_string(),
            uid: known.uid.to_string(),
        };
        self.recorder.send(about, note.clone());
    }
}

/// Counts what an outcome whose writes went through has ended.
pub(super) fn count(outcome: &Outcome) {
    for (_, millis, succeeded) in &outcome.ended_stages {
        let labels = ResultLabels { result: if *succeeded { "Succeeded" } else { "Failed" } };
        // Milliseconds below 2^53 are exact.
        #[expect(clippy::cast_precision_loss, reason = "durations of stages are far below 2^53 ms")]
        METRICS.stage_duration.get_or_create(&labels).observe(*millis as f64 / 1000.0);
    }
    if let Some(reason) = outcome.failed {
        METRICS.migration_failures.get_or_create(&ReasonLabels { reason: reason.into() }).inc();
    }
}
