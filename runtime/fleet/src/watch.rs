//! One watch: list, then follow, into one index. Each has its own backoff and fails alone.

mod editions;
pub(crate) mod spec;

use std::{borrow::Cow, pin::pin, sync::Arc, time::Duration};

use futures::FutureExt as _;
use http::Response;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::Instant;
use tracing::{debug, info, warn};

use self::editions::Editions;
pub use self::spec::WatchSpec;
use crate::{
    audience::Audience,
    backoff::Backoff,
    budget::{Bodies as _, Pending},
    call::{DEADLINE, JSON, LIST_LIMIT, get},
    dial::Content,
    error::{CallError, Status, cut},
    index::{Change, Doubt, Index, Source},
    kind::KindInfo,
    lines::{Lines, SILENCE},
    object::{Object, ObjectKey},
    outline::Outline,
    page::{Bad, ListMeta, kept, read_page},
    query::push_query,
    random::interleave,
    server::{Connection, Server},
};

/// A page of a list. Small objects come by the hundred; a page that gets too long is asked for again in smaller ones.
const PAGE: u32 = 500;

/// Bytes of a page below which the next may be larger again.
const SHORT: usize = LIST_LIMIT / 8;

fn endless() -> CallError {
    CallError::Invalid(
        "there are more objects than the cluster's share of the memory budget has room for, without what of their content \
         can be read again; raise --memory-budget, or remove some"
            .into(),
    )
}

/// So much of a watch is taken in before others have their turn.
const TURN_BYTES: usize = 256 << 10;
const TURN_EVENTS: usize = 64;

const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    object: &'a RawValue,
}

/// Follows what an index is of at its API server, for whoever is told of it, until nobody wants it any more.
pub(crate) async fn run(server: Arc<Server>, index: Arc<Index>, told: Arc<dyn Audience>) {
    let mut backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(15));
    let mut watch = Watch::new(&server, &index, &told);
    let mut editions = Editions::default();
    loop {
        let (connection, kind) = server.serving(&index.spec().gvk).await;
        let connection = connection.within(told.path()).after(backoff.failures());
        watch.meet(&connection);
        let (started, from, lists) = (Instant::now(), watch.version, watch.lists());
        let losses = index.losses();
        if lists && editions.list(server.kinds.edition_of(&kind), started) {
            index.mark_redefined();
        }
        let (mut replaced, mut lost) = (pin!(server.replaced(&connection)), pin!(server.lost(&index)));
        let ended = tokio::select! {
            ended = watch.session(&connection, &kind) => ended,
            () = editions.outdated(&server, &kind), if !lists => {
                watch.version = None;
                continue;
            }
            anew = &mut replaced => {
                // Its list may have been put in while others were still told that all is unknown.
                if anew {
                    watch.version = None;
                    watch.lose_sight();
                }
                continue;
            }
            // Another watch, or discovery, was told that the kind is not served: what this one still hears is no whole.
            () = &mut lost => {
                watch.version = None;
                watch.lose_sight();
                continue;
            }
        };
        // One that has too much to tell at a time ends watches that do not keep up, and goes on where they ended.
        let came_on = from.is_some() && watch.version > from;
        if came_on || !lists && started.elapsed() > Duration::from_secs(30) {
            backoff.reset();
        }
        match ended {
            // Whoever has put a list in tells of all of it, whatever happens meanwhile.
            Ok(Session::Listed(objects, version)) => {
                if version < index.progress() {
                    server.gone_back();
                    replaced.set(server.replaced(&connection));
                }
                watch.replace(objects, version, losses).await;
                watch.version = Some(version);
                editions.complete(version);
                // By then it may be known that it says nothing.
                if lost.now_or_never().is_some() || replaced.now_or_never() == Some(true) {
                    watch.version = None;
                    watch.index.doubt(Doubt::Old);
                    watch.lose_sight();
                }
                continue;
            }
            // The server ends watches now and then; one that ends them at once must not make us spin.
            Ok(Session::Followed) if started.elapsed() > Duration::from_secs(1) => continue,
            Ok(Session::Followed) => {}
            Err(error) => watch.failed(&connection, &error),
        }
        tokio::time::sleep(backoff.wait()).await;
    }
}

/// What a session was, seen from its end.
enum Session {
    /// This is all that there is, at this version.
    Listed(Vec<(ObjectKey, Arc<Object>)>, u64),
    /// The stream has come to its end.
    Followed,
}

struct Watch<'a> {
    server: &'a Arc<Server>,
    told: &'a Arc<dyn Audience>,
    index: &'a Arc<Index>,
    /// Where to go on; `None`: list first.
    version: Option<u64>,
    /// Objects of one page.
    page: u32,
    /// Events that could not be read.
    bad: Bad,
    /// Which connection was used last.
    generation: u64,
    /// After which of the server's returns it was asked whether it has come as far as what was seen.
    checked: u64,
    forbidden_since: Option<Instant>,
}

/// How long a watch may be forbidden before what it has seen counts as unknown: roles are replaced in moments.
const FORBIDDEN: Duration = Duration::from_mins(1);

impl<'a> Watch<'a> {
    /// One that has seen nothing yet.
    fn new(server: &'a Arc<Server>, index: &'a Arc<Index>, told: &'a Arc<dyn Audience>) -> Self {
        Self {
            server,
            told,
            index,
            version: None,
            page: PAGE,
            bad: Bad::default(),
            generation: 0,
            checked: 0,
            forbidden_since: None,
        }
    }

    /// An API server that does not say who it is may be another one on each connection: what a version of the one before
    /// means there, nobody knows.
    fn meet(&mut self, connection: &Connection) {
        if connection.identity.is_none() && connection.generation != self.generation {
            self.version = None;
        }
        self.generation = connection.generation;
    }

    /// Whether the API server was restored from a backup since it was seen last. It would never tell of what has happened
    /// since, but take a version that it has not come to for one to wait for.
    async fn is_restored(&self, connection: &Connection, kind: &KindInfo) -> Result<bool, CallError> {
        let Some(seen) = self.version else { return Ok(false) };
        let spec = self.index.spec();
        // Not by labels: whoever has few of them would have all objects looked through, and the version is the same.
        let mut path = format!("{}?limit=1", kind.collection_path(spec.namespace.as_deref()));
        spec.by_name(&mut path);
        let (_, answer) = connection.caller.call(get(&path, METADATA_LIST)?, LIST_LIMIT).await?;
        let now = list_version(&answer);
        let is_restored = now.is_some_and(|now| now < seen);
        if is_restored {
            warn!(cluster = %self.index.cluster(), kind = %spec.gvk.kind, seen, ?now,
                "this API server has gone back in time: all is listed again");
        }
        Ok(is_restored)
    }

    /// Whether a list is due.
    fn lists(&self) -> bool {
        self.version.is_none() || !self.index.is_complete()
    }

    /// Lists, where that is due, or follows to the end of a stream.
    async fn session(&mut self, connection: &Connection, kind: &Arc<KindInfo>) -> Result<Session, CallError> {
        let returns = self.server.returns();
        let is_restored = self.checked != returns && Box::pin(self.is_restored(connection, kind)).await?;
        self.checked = returns;
        if is_restored {
            // Before anything of this one is news to those who hold what others have seen.
            self.server.gone_back();
            return Err(CallError::Gone("the API server has gone back in time".into()));
        }
        if self.lists() {
            // Seldom, and all that it needs meanwhile would stay with the watch for good.
            let (objects, version) = Box::pin(self.list(connection, kind)).await?;
            return Ok(Session::Listed(objects, version));
        }
        self.follow(connection, kind).await?;
        Ok(Session::Followed)
    }

    fn failed(&mut self, connection: &Connection, error: &CallError) {
        let index = self.index;
        debug!(cluster = %index.cluster(), kind = %index.spec().gvk.kind, %error, "watch ended");
        match error {
            CallError::Gone(_) => self.version = None,
            CallError::KindMissing(_) => {
                self.version = None;
                self.lose_sight();
                self.server.kind_missing(&index.spec().gvk);
            }
            CallError::Forbidden(why) => {
                // What is held grows old, and nothing tells of it any more.
                if self.forbidden_since.get_or_insert_with(Instant::now).elapsed() > FORBIDDEN {
                    self.lose_sight();
                    self.version = None;
                }
                if self.troubled(why.clone()) {
                    warn!(cluster = %index.cluster(), kind = %index.spec().gvk.kind, %why,
                        "may not watch: grant list and watch on this kind in this cluster");
                }
            }
            // A CRD's storage starts with this; more requests would only make it last.
            CallError::Throttled { .. } => {}
            error if error.suspects_cluster() => {
                // Where etcd was restored, a version from before may never come again: silence starts over with a list.
                if index.silence().is_none_or(|silence| silence >= SILENCE) {
                    self.version = None;
                }
                self.server.suspect(connection);
            }
            error => {
                self.version = None;
                if self.troubled(error.to_string()) {
                    warn!(cluster = %index.cluster(), kind = %index.spec().gvk.kind, %error, "watch fails");
                }
            }
        }
    }

    /// Notes why nothing comes. Whether that is news; who waits for the first list is told.
    fn troubled(&self, why: String) -> bool {
        let news = self.index.set_trouble(Some(why));
        if news && !self.index.is_complete() {
            self.told.incomplete(self.index);
        }
        news
    }

    async fn list(
        &mut self,
        connection: &Connection,
        kind: &Arc<KindInfo>,
    ) -> Result<(Vec<(ObjectKey, Arc<Object>)>, u64), CallError> {
        loop {
            match self.pages(connection, kind).await {
                Err(CallError::TooLarge(_)) if self.page > 1 => self.page = (self.page / 8).max(1),
                other => return other,
            }
        }
    }

    async fn pages(
        &mut self,
        connection: &Connection,
        kind: &Arc<KindInfo>,
    ) -> Result<(Vec<(ObjectKey, Arc<Object>)>, u64), CallError> {
        let index = self.index;
        let spec = index.spec();
        let mut objects = Vec::new();
        let mut pending = Pending::new(index.share());
        let mut bad = Bad::default();
        let mut next = String::new();
        let mut version = 0;
        loop {
            let mut path = format!("{}?limit={}", kind.collection_path(spec.namespace.as_deref()), self.page);
            spec.selectors(&mut path);
            push_query(&mut path, "continue", &next);
            let accept = if spec.metadata_only { METADATA_LIST } else { JSON };
            let (_, answer) = connection.caller.call(get(&path, accept)?, LIST_LIMIT).await?;
            let bytes = answer.len();
            let page = read_page(self.told, self.server.conventions(), index, kind, answer).await?;
            bad.join(page.bad);
            pending.charge(page.cost);
            self.server.intake.take(bytes, page.objects.len()).await;
            objects.extend(page.objects);
            if !pending.relieve(&mut objects, index.may_drop()) {
                // What is held is old, and the next list has its place.
                index.doubt(Doubt::Old);
                index.forget_bodies();
                self.told.incomplete(index);
                return Err(endless());
            }
            if version == 0 {
                version = page
                    .version
                    .parse()
                    .map_err(|_| CallError::UnknownOutcome(format!("list at version {:?}", cut(&page.version))))?;
            }
            index.heard();
            if page.next.is_empty() {
                bad.tell(index);
                return Ok((objects, version));
            }
            if page.next == next {
                bad.tell(index);
                return Err(CallError::UnknownOutcome("the list does not end: its continue token repeats".into()));
            }
            next = page.next;
            if bytes < SHORT {
                self.page = (self.page * 2).min(PAGE);
            }
        }
    }

    /// Takes in a whole list, which was begun after so many losses.
    async fn replace(&self, objects: Vec<(ObjectKey, Arc<Object>)>, version: u64, losses: u64) {
        let first = !self.index.is_complete();
        let count = objects.len();
        self.told.listing(self.index);
        let changes = self.index.take_list(objects, version, losses);
        self.index.relieve();
        self.index.set_trouble(None);
        for (told, change) in changes.into_iter().enumerate() {
            // After a few it makes no difference.
            if told < 8 {
                interleave().await;
            }
            self.told.changed(self.index, &change, first);
        }
        interleave().await;
        if !self.index.is_complete() {
            // It was begun before what is there was doubted: another one follows.
            return;
        }
        if first {
            info!(cluster = %self.index.cluster(), kind = %self.index.spec().gvk.kind, objects = count, "index complete");
            self.told.completed(self.index);
        } else {
            self.told.caught_up(self.index);
        }
    }

    /// From now on nobody can say what there is.
    fn lose_sight(&self) {
        self.index.mark_incomplete();
        self.told.incomplete(self.index);
    }

    fn notify(&self, change: &Change) {
        self.told.changed(self.index, change, false);
    }

    /// Opens the stream from the version that was seen last.
    async fn open(&self, connection: &Connection, kind: &KindInfo) -> Result<Response<Content>, CallError> {
        let spec = self.index.spec();
        let version = self.version.unwrap_or_default();
        // Spread over 100 s, so that many watches do not end together.
        let timeout: u32 = crate::random::within(200..300);
        let mut path = format!(
            "{}?watch=1&allowWatchBookmarks=true&timeoutSeconds={timeout}&resourceVersion={version}",
            kind.collection_path(spec.namespace.as_deref())
        );
        spec.selectors(&mut path);
        let accept = if spec.metadata_only { METADATA } else { JSON };
        connection.caller.open(get(&path, accept)?, DEADLINE).await
    }

    async fn follow(&mut self, connection: &Connection, kind: &KindInfo) -> Result<(), CallError> {
        // Like the list: what it needs would stay as long as the stream.
        let response = Box::pin(self.open(connection, kind)).await?;
        self.index.heard();
        self.index.set_trouble(None);
        self.forbidden_since = None;
        let mut lines = Lines::new(response.into_body(), connection.caller.large().clone());
        let (mut bytes, mut events) = (0, 0);
        while let Some(line) = lines.next().await? {
            self.index.heard();
            bytes += line.len();
            events += 1;
            self.event(line, kind)?;
            if bytes > TURN_BYTES || events > TURN_EVENTS {
                self.server.intake.take(std::mem::take(&mut bytes), std::mem::take(&mut events)).await;
            }
        }
        Ok(())
    }

    fn event(&mut self, line: &[u8], kind: &KindInfo) -> Result<(), CallError> {
        let unreadable = |error: String| CallError::Gone(format!("unreadable watch event, listing again: {error}"));
        let event: Event<'_> = serde_json::from_slice(line).map_err(|error| unreadable(error.to_string()))?;
        let raw = event.object.get();
        if event.kind == "ERROR" {
            let raw = raw.as_bytes();
            let code = serde_json::from_slice::<Status>(raw).map_or(500, |status| status.code);
            return Err(CallError::from_response(code, None, raw));
        }
        let (api_version, conventions) = (kind.api_version(), self.server.conventions());
        let parsed = match Outline::read(raw) {
            // Most events tell of our own writes, and their answers have told that already.
            Ok(Outline { key, version, .. })
                if matches!(&*event.kind, "ADDED" | "MODIFIED") && self.index.knows(&key, version) =>
            {
                self.version = self.version.max(Some(version));
                return Ok(());
            }
            read => {
                read.and_then(|outline| Object::take_in(outline, Some((&api_version, &kind.gvk.kind)), conventions))
            }
        };
        let (key, object) = match parsed {
            Ok(parsed) => parsed,
            Err(error) if event.kind == "BOOKMARK" => {
                return list_version(raw.as_bytes())
                    .map(|v| self.bookmark(v))
                    .ok_or_else(|| unreadable(error.to_string()));
            }
            Err(error) => {
                self.bad.add(&error);
                self.bad.tell_now_and_then(self.index);
                return Ok(());
            }
        };
        let version = object.resource_version;
        let change = match &*event.kind {
            "ADDED" | "MODIFIED" => {
                let object = kept(&**self.told, self.index, &key, object);
                let change = self.index.upsert(key, object, Source::Watch);
                self.index.relieve();
                if self.index.share().is_full() {
                    // What comes next has no place: from now on nobody can say what there is.
                    self.lose_sight();
                    return Err(endless());
                }
                change
            }
            "DELETED" => self.index.remove(&key, version),
            "BOOKMARK" => {
                self.bookmark(version);
                return Ok(());
            }
            other => return Err(unreadable(format!("type {other:?}"))),
        };
        self.version = self.version.max(Some(version));
        if let Some(change) = change {
            self.notify(&change);
        }
        Ok(())
    }

    fn bookmark(&mut self, version: u64) {
        self.index.bookmark(version);
        self.version = self.version.max(Some(version));
    }
}

/// The version of a list, or of a bookmark, which is an object with nothing else.
fn list_version(raw: &[u8]) -> Option<u64> {
    #[derive(Deserialize)]
    struct Versioned<'a> {
        #[serde(borrow)]
        metadata: ListMeta<'a>,
    }
    serde_json::from_slice::<Versioned<'_>>(raw).ok()?.metadata.resource_version.parse().ok()
}

#[cfg(test)]
#[path = "watch_tests.rs"]
mod tests;
