//! `Selection`: objects of a kind that a test waits for.

use std::{collections::BTreeMap, time::Duration};

use futures::StreamExt as _;
use harness::wait_for;
use kube::{
    Api,
    api::{DynamicObject, ListParams, WatchEvent, WatchParams},
};

use crate::{DEADLINE, Object};

/// After so long is looked anew, although nothing came: what was seen last is then told, should it be the end.
const LISTENS: Duration = Duration::from_secs(5);

/// Objects of a kind, by their fields.
///
/// Whoever asks for them again and again takes processors' time from what it waits for: what happens to them is heard from a
/// watch.
pub(crate) struct Selection {
    api: Api<DynamicObject>,
    fields: String,
}

impl Selection {
    /// Of `api`, those of which the fields are so (`metadata.name=a`).
    pub(crate) fn new(api: Api<DynamicObject>, fields: String) -> Self {
        Self { api, fields }
    }

    /// Waits until `look` comes to something; what it says otherwise is told where that never happens.
    pub(crate) async fn until<T>(&self, what: &str, look: impl Fn(&[Object]) -> anyhow::Result<T>) -> T {
        let waited = wait_for(DEADLINE, what, async || self.listen(&look).await);
        waited.await.unwrap_or_else(|error| panic!("{error:#}"))
    }

    /// The same for some seconds.
    async fn listen<T>(&self, look: impl Fn(&[Object]) -> anyhow::Result<T>) -> anyhow::Result<T> {
        let listed = self.api.list(&ListParams::default().fields(&self.fields)).await?;
        let version = listed.metadata.resource_version.unwrap_or_default();
        let all = listed.items.into_iter().map(Object::from);
        let mut all: BTreeMap<String, Object> = all.map(|object| (object.name().to_owned(), object)).collect();
        let seen = |all: &BTreeMap<String, Object>| look(&all.values().cloned().collect::<Vec<_>>());
        let mut said = match seen(&all) {
            Ok(fact) => return Ok(fact),
            Err(said) => said,
        };
        let params = WatchParams::default().fields(&self.fields);
        let listening = async {
            let mut events = Box::pin(self.api.watch(&params, &version).await?);
            while let Some(event) = events.next().await {
                match event? {
                    WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                        let object = Object::from(object);
                        all.insert(object.name().to_owned(), object);
                    }
                    WatchEvent::Deleted(object) => _ = all.remove(Object::from(object).name()),
                    WatchEvent::Bookmark(_) => continue,
                    WatchEvent::Error(status) => anyhow::bail!("{}", status.message),
                }
                match seen(&all) {
                    Ok(fact) => return Ok(Some(fact)),
                    Err(error) => said = error,
                }
            }
            Ok(None)
        };
        match tokio::time::timeout(LISTENS, listening).await {
            Ok(Ok(Some(fact))) => Ok(fact),
            Ok(Err(error)) => Err(error),
            Ok(Ok(None)) | Err(_) => Err(said),
        }
    }
}
