//! Removing what a test made, where there is so much of it that others would notice.

use futures::future::join_all;
use harness::wait_for;
use kube::api::{DeleteParams, ListParams};

use crate::{Kind, Place, Scene};

/// Deleting thousands of objects takes its time.
const DEADLINE: std::time::Duration = std::time::Duration::from_secs(90);

impl Scene<'_> {
    /// Deletes all objects of a kind in its namespace of `consumers`, and waits until they and their copies are gone.
    pub async fn clear(&self, kind: &Kind, consumers: &[&Place]) {
        let waited = consumers.iter().map(async |consumer| {
            let api = consumer.api(kind, self.ns());
            let what = format!("all {} of {} in {} to be gone", kind.plural, self.ns(), consumer.name());
            let gone = wait_for(DEADLINE, &what, async || {
                api.delete_collection(&DeleteParams::default(), &ListParams::default()).await?;
                let left = api.list_metadata(&ListParams::default()).await?.items.len();
                anyhow::ensure!(left == 0, "{left} left");
                Ok(())
            });
            gone.await.unwrap_or_else(|error| panic!("{error:#}"));
        });
        join_all(waited).await;
    }
}
