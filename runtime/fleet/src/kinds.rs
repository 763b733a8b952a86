//! Keeps asking an API server for the kinds that are wanted: at once, when a CRD changes, and now and then while one is missing.
//!
//! Kinds of one group and version are asked for together. The schema of a kind that comes from a CRD is read there: the
//! OpenAPI document of its group and version holds those of all others too, and grows with their number.

pub(crate) mod failures;
pub(crate) mod known;
pub(crate) mod wanted;

use std::{sync::Arc, time::Duration};

use futures::{StreamExt as _, stream};
use kube::core::GroupVersionKind;
use serde_json::Value;
use tokio::time::Instant;
use tracing::{info, warn};

use self::wanted::{GroupVersion, Listed, Reading};
use crate::{
    backoff::Backoff,
    blocking::computing,
    call::Answer,
    definition::{self, Definition},
    discover,
    error::CallError,
    hashed::HashSet,
    kind::{KindInfo, KindSchema, KindState, may_be_built_in, well_known},
    openapi,
    server::{Connection, Server},
};

/// How often a missing kind is asked for: a watch on CRDs tells of it at once, but not everywhere may we have one, and not
/// every kind comes from a CRD.
const FIRST_POLL: Duration = Duration::from_secs(3);
const SLOWEST_POLL: Duration = Duration::from_secs(30);

/// So many CRDs are read at once: each is small, and there may be hundreds.
const AT_ONCE: usize = 4;

pub(crate) async fn run(server: Arc<Server>) {
    let mut backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(10));
    let (mut poll, mut polled) = (FIRST_POLL, Instant::now());
    // Groups and versions of which not all was answered the last time.
    let mut troubled: HashSet<GroupVersion> = HashSet::default();
    loop {
        let connection = server.ready().await;
        let polls = polled.elapsed() >= poll;
        let due = server.kinds.due(polls);
        let mut failed = false;
        for (group, kinds) in in_turn(&due, &troubled) {
            let failures = if troubled.contains(&group) { backoff.failures() } else { 0 };
            // Seldom, and there is one of this for each server: what asking needs is held only meanwhile.
            let asked = Box::pin(ask(&server, &Arc::clone(&connection).after(failures), kinds)).await;
            let complete = asked.as_ref().is_ok_and(|complete| *complete);
            failed |= !complete;
            for gvk in kinds {
                server.kinds.failures.note(gvk, asked.as_ref().err().map(|error| error as _));
                if asked.is_err() {
                    // What was not answered was not looked at.
                    server.kinds.ask_again(gvk);
                }
            }
            if let Err(error) = asked {
                let (group, version) = &group;
                warn!(cluster = %server.name(), group, version, %error, "discovery failed, trying again");
                if error.suspects_cluster() {
                    server.suspect(&connection);
                }
            }
            if complete {
                troubled.remove(&group);
            } else {
                troubled.insert(group);
            }
        }
        if polls {
            polled = Instant::now();
            poll = (poll * 2).min(SLOWEST_POLL);
        }
        let crds_watched = server.kinds.crds.is_complete();
        let wait = if failed {
            Some(backoff.wait())
        } else {
            // Where nothing was asked for, nothing has worked.
            if !due.is_empty() {
                backoff.reset();
            }
            let missing = server.kinds.misses();
            poll = if !missing {
                FIRST_POLL
            } else if crds_watched {
                SLOWEST_POLL
            } else {
                poll
            };
            let poll = missing.then(|| poll.saturating_sub(polled.elapsed()));
            // What was found may have to be looked at again, too.
            [poll, server.kinds.next()].into_iter().flatten().min()
        };
        tokio::select! {
            () = server.kinds.asked.notified() => {}
            () = sleep(wait) => {}
        }
    }
}

/// The kinds of each group and version. One that takes its time, or never answers, holds up no other: it comes last.
fn in_turn<'a>(
    due: &'a [GroupVersionKind],
    troubled: &HashSet<GroupVersion>,
) -> Vec<(GroupVersion, &'a [GroupVersionKind])> {
    let same = |one: &GroupVersionKind, next: &GroupVersionKind| one.group == next.group && one.version == next.version;
    let named = |kinds: &'a [GroupVersionKind]| ((kinds[0].group.clone(), kinds[0].version.clone()), kinds);
    let mut all: Vec<_> = due.chunk_by(same).map(named).collect();
    all.sort_by_key(|(group, _)| troubled.contains(group));
    all
}

/// Without end, where there is nothing to wait for.
pub(crate) async fn sleep(wait: Option<Duration>) {
    match wait {
        Some(wait) => tokio::time::sleep(wait).await,
        None => std::future::pending().await,
    }
}

/// Asks for kinds of one group and version, and for the schemas of those that are new or have changed, where anybody asks for
/// these. False: some schemas are to be asked for again.
async fn ask(server: &Arc<Server>, connection: &Connection, kinds: &[GroupVersionKind]) -> Result<bool, CallError> {
    let asks_all = server.conventions().reads_core_schemas;
    let is_known = |gvk: &GroupVersionKind| {
        let asks = asks_all && server.kinds.asks_for_schema(gvk);
        !asks && well_known(gvk).is_some()
    };
    let (known, asked): (Vec<_>, Vec<_>) = kinds.iter().cloned().partition(is_known);
    for info in known.iter().filter_map(well_known) {
        let reading = if asks_all { Reading::Unasked } else { Reading::Document(None) };
        server.set_kind(&info.gvk.clone(), &KindState::Found(Arc::new(info)), &reading);
    }
    let mut found = discover::kinds(&connection.caller, &asked).await?;
    let (mut defined, mut published) = (Vec::new(), Vec::new());
    for gvk in &asked {
        let Some(info) = found.remove(gvk) else {
            if server.kinds.state(gvk) != KindState::Missing {
                info!(cluster = %server.name(), kind = %gvk.kind, group = %gvk.group, version = %gvk.version,
                    "the kind is not served (yet); waiting for its CRD");
            }
            let first = server.kinds.state(gvk) == KindState::Unknown;
            server.set_kind(gvk, &KindState::Missing, &Reading::Nothing);
            if first && server.kinds.defines_any_of(&gvk.group) {
                // A CRD may be there for a moment before its kind is served, and have told of itself before it was asked for.
                server.kinds.ask_again(gvk);
            }
            continue;
        };
        let info = Arc::new(info);
        if !server.kinds.asks_for_schema(gvk) {
            server.set_kind(gvk, &KindState::Found(info), &Reading::Unasked);
            continue;
        }
        match server.kinds.definition_of(&info) {
            listed if !server.kinds.wants_schema(gvk, listed) => {
                server.set_kind(gvk, &KindState::Found(info), &Reading::Nothing);
            }
            Listed::Absent if may_be_built_in(&gvk.group) => published.push(info),
            // The watch on CRDs may be behind whoever has just made one.
            Listed::Absent | Listed::Unknown | Listed::Version(_) => defined.push(info),
        }
    }
    let look = Look { server, connection };
    let reads = defined.into_iter().map(async |info| (definition::read(&connection.caller, &info).await, info));
    let mut reads = std::pin::pin!(stream::iter(reads).buffer_unordered(AT_ONCE));
    let mut complete = true;
    while let Some((read, info)) = reads.next().await {
        match look.take_definition(read, &info).await {
            Taken::Yes => {}
            Taken::Elsewhere => published.push(info),
            Taken::Later => complete = false,
        }
    }
    Ok(look.take_published(published).await && complete)
}

/// What came of reading a kind's CRD.
enum Taken {
    /// The schema was taken in.
    Yes,
    /// It has to be looked for in the OpenAPI document.
    Elsewhere,
    /// It may be had in a moment.
    Later,
}

/// One look at a group and version.
struct Look<'a> {
    server: &'a Arc<Server>,
    connection: &'a Connection,
}

impl Look<'_> {
    /// Takes in what was read of a kind's CRD.
    async fn take_definition(&self, read: Result<Answer, CallError>, info: &Arc<KindInfo>) -> Taken {
        let answer = match read {
            Ok(answer) => answer,
            Err(error) if is_passing(&error) => {
                self.unreadable(info, &error);
                return Taken::Later;
            }
            // We may not read CRDs, or there are none here.
            Err(_) => return Taken::Elsewhere,
        };
        let (server, found) = (Arc::clone(self.server), Arc::clone(info));
        // Whoever is told compiles the schema, and others' sockets must not wait for that.
        let taken = computing(move || {
            let read = definition::parse(&answer, &found);
            drop(answer);
            let Ok(Some(Definition { version, schema })) = read else { return read.map(|_| false) };
            server.set_kind(&found.gvk.clone(), &KindState::Found(found), &Reading::Definition(version, schema));
            Ok(true)
        });
        match taken.await.map_err(|error| error.to_string()).flatten() {
            Ok(true) => Taken::Yes,
            Ok(false) => Taken::Elsewhere,
            Err(error) => {
                warn!(cluster = %self.server.name(), kind = %info.gvk.kind, error, "the CRD cannot be used");
                Taken::Elsewhere
            }
        }
    }

    /// Reads the OpenAPI document for kinds that do not come from a CRD that we can read. False: it may be had in a moment.
    async fn take_published(&self, kinds: Vec<Arc<KindInfo>>) -> bool {
        let Some(first) = kinds.first() else { return true };
        let document = match openapi::document(&self.connection.caller, &first.gvk.group, &first.gvk.version).await {
            Ok(document) => document,
            Err(error) => {
                for info in &kinds {
                    self.unreadable(info, &error);
                }
                return !is_passing(&error);
            }
        };
        let Some(document) = document else {
            for info in &kinds {
                take_schema(self.server, info, Ok(None));
            }
            return true;
        };
        let (server, wanted) = (Arc::clone(self.server), kinds.clone());
        let taken = computing(move || {
            openapi::each_schema(&document, &wanted, |info, schema| take_schema(&server, info, schema))
        });
        if let Err(error) = taken.await.map_err(|error| error.to_string()).flatten() {
            for info in &kinds {
                take_schema(self.server, info, Err(error.clone()));
            }
        }
        true
    }

    /// The schema cannot be had at this moment.
    fn unreadable(&self, info: &Arc<KindInfo>, error: &CallError) {
        if is_passing(error) {
            let state = KindState::Found(Arc::clone(info));
            self.server.set_kind(&info.gvk, &state, &Reading::Unread);
            self.server.kinds.ask_again(&info.gvk);
        } else {
            take_schema(self.server, info, Err(error.to_string()));
        }
        if error.suspects_cluster() {
            self.server.suspect(self.connection);
        }
    }
}

/// Whether the same request may be answered in a moment.
fn is_passing(error: &CallError) -> bool {
    error.suspects_cluster() || matches!(error, CallError::Throttled { .. })
}

/// A schema that cannot be had must not keep the kind from being served: what was known of it stays, and where nothing was,
/// everything is taken to fit.
fn take_schema(server: &Server, info: &Arc<KindInfo>, schema: Result<Option<Value>, String>) {
    let state = KindState::Found(Arc::clone(info));
    match schema {
        Ok(schema) => {
            let first = server.kinds.is_new(&info.gvk);
            let published = schema.is_some();
            server.set_kind(&info.gvk, &state, &Reading::Document(schema.map(KindSchema::new)));
            if !published && first {
                // The OpenAPI document of a new CRD is published a moment after discovery.
                server.refresh_kind(&info.gvk);
            }
        }
        Err(error) => {
            warn!(cluster = %server.name(), kind = %info.gvk.kind, error, "no schema to be had");
            server.set_kind(&info.gvk, &state, &Reading::Nothing);
        }
    }
}

#[cfg(test)]
#[path = "kinds_tests.rs"]
mod tests;
