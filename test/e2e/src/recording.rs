//! `Recording`: all that happens to objects of a kind in a namespace, in order, without a gap.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::TryStreamExt as _;
use harness::wait_for;
use kube::api::{ListParams, WatchEvent, WatchParams};
use tokio::task::JoinHandle;

use crate::{DEADLINE, Kind, Object, Place};

/// One change.
#[derive(Debug, Clone)]
pub struct Change {
    /// The object, as it was last seen if it was deleted.
    pub object: Object,
    /// Whether it was deleted.
    pub deleted: bool,
}

/// A watch that keeps all that it was told. Dropping it ends it.
pub struct Recording {
    place: Place,
    kind: Kind,
    namespace: String,
    changes: Arc<Mutex<Vec<Change>>>,
    task: JoinHandle<()>,
}

impl Recording {
    /// Records from now on; what is there already comes first.
    pub async fn begin(place: &Place, kind: &Kind, namespace: &str) -> Self {
        let api = place.api(kind, namespace);
        let listed = api.list(&ListParams::default()).await.unwrap();
        let version = listed.metadata.resource_version.clone().unwrap_or_default();
        let there = listed.items.into_iter().map(|object| Change { object: object.into(), deleted: false });
        let changes = Arc::new(Mutex::new(there.collect::<Vec<_>>()));
        let kept = Arc::clone(&changes);
        let task = tokio::spawn(async move {
            let told = api.watch(&WatchParams::default(), &version).await.unwrap();
            told.try_for_each(async |event| {
                let change = match event {
                    WatchEvent::Added(object) | WatchEvent::Modified(object) => (object, false),
                    WatchEvent::Deleted(object) => (object, true),
                    WatchEvent::Bookmark(_) => return Ok(()),
                    WatchEvent::Error(error) => panic!("a recording ended: {error:?}"),
                };
                let change = Change { object: change.0.into(), deleted: change.1 };
                kept.lock().unwrap_or_else(PoisonError::into_inner).push(change);
                Ok(())
            })
            .await
            .unwrap();
        });
        Self { place: place.clone(), kind: *kind, namespace: namespace.to_owned(), changes, task }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Change>> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All changes up to this moment, once the watch has told of them.
    pub async fn changes(&self) -> Vec<Change> {
        let all = self.place.list(&self.kind, &self.namespace).await;
        let what = format!("the recording of {} in {} to catch up", self.kind.plural, self.place.name());
        let told = wait_for(DEADLINE, &what, async || {
            assert!(!self.task.is_finished(), "{what}: its watch ended");
            let kept = self.lock();
            let missing = all.iter().find(|object| {
                !kept.iter().any(|change| {
                    change.object.uid() == object.uid()
                        && (change.deleted || change.object.version() == object.version())
                })
            });
            match missing {
                None => Ok(kept.clone()),
                Some(object) => Err(object.to_string()),
            }
        });
        told.await.unwrap_or_else(|error| panic!("{error:#}"))
    }

    /// The changes of the object of this name.
    pub async fn of(&self, name: &str) -> Vec<Change> {
        let mut changes = self.changes().await;
        changes.retain(|change| change.object.name() == name);
        changes
    }

    /// What `look` sees in the object of this name, one after the other, without repeats.
    pub async fn course(&self, name: &str, look: impl Fn(&Object) -> String) -> Vec<String> {
        let mut course: Vec<String> = self.of(name).await.iter().map(|change| look(&change.object)).collect();
        course.dedup();
        course
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.task.abort();
    }
}
