//! What `/healthz`, `/readyz` and `/metrics` say.

use std::sync::atomic::Ordering;

use runtime_process::serve::Probed;

use crate::{context::Context, metrics::METRICS};

impl Probed for Context {
    fn health(&self) -> Result<(), String> {
        Ok(())
    }

    /// Ready once the Brokers could be listed, also while another process leads.
    fn ready(&self) -> Result<String, String> {
        if self.ready.load(Ordering::Relaxed) {
            Ok(String::new())
        } else {
            Err("Brokers could not be listed yet: is their CRD installed, and may they be listed?\n".into())
        }
    }

    fn metrics(&self) -> Option<String> {
        METRICS.encode().ok()
    }
}
