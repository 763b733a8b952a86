//! Objects that are watched.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::time::Instant;

use super::Call;
use crate::{
    answer::Answer,
    failure::{Cause, Failure},
    history::Event,
    media::Media,
    resource::{Resource, Storage},
    selector::Selector,
    state::State,
};

/// How long a watch lasts of which nothing is said.
const LASTING: Duration = Duration::from_mins(30);

/// A watch that tells of bookmarks does so after this time without news.
pub(crate) const BOOKMARK: Duration = Duration::from_mins(1);

/// A watch, and how far it has come.
#[derive(Debug)]
pub(crate) struct Watching {
    resource: Arc<Resource>,
    namespace: String,
    selector: Selector,
    media: Media,
    /// Everything up to this has been told.
    seen: u64,
    /// Told before anything else.
    first: VecDeque<Line>,
    pub(crate) bookmarks: bool,
    pub(crate) until: Instant,
}

/// An event as it is sent.
pub(crate) type Line = Vec<u8>;

fn line(event: &str, object: &Value) -> Line {
    let mut line = format!(r#"{{"type":"{event}","object":"#).into_bytes();
    // What is JSON can be written.
    let _ = serde_json::to_writer(&mut line, object);
    line.extend(b"}\n");
    line
}

/// What a watch has to tell.
pub(crate) enum News {
    Events(Vec<Line>),
    Nothing,
    /// This, and then it ends.
    End(Option<Line>),
}

impl Call<'_> {
    pub(super) fn watch(&mut self) -> Result<Answer, Failure> {
        let (query, resource) = (&self.request.query, Arc::clone(&self.resource));
        let selector = self.selector()?;
        let asks_first = query.is("sendInitialEvents");
        if asks_first && query.get("resourceVersionMatch") != "NotOlderThan" {
            let cause = Cause::forbidden("resourceVersionMatch", "it must be NotOlderThan with sendInitialEvents");
            return Err(Failure::invalid_options("ListOptions", cause));
        }
        let now = self.state.history.revision();
        let from = match query.get("resourceVersion") {
            "" | "0" => None,
            version => match version.parse::<u64>() {
                Ok(version) => Some(version),
                Err(error) => return Err(Failure::internal(format!("invalid resource version: {error}"))),
            },
        };
        let lasting =
            query.number("timeoutSeconds").filter(|seconds| *seconds > 0).map_or(LASTING, Duration::from_secs);
        let mut watching = Watching {
            resource,
            namespace: self.target.namespace.clone(),
            selector,
            media: self.request.media,
            seen: if asks_first { now } else { from.unwrap_or(now) },
            first: VecDeque::new(),
            bookmarks: query.is("allowWatchBookmarks"),
            until: Instant::now() + lasting,
        };
        if asks_first || from.is_none() && query.get("sendInitialEvents") != "false" {
            let storage = self.resource.storage();
            let held = self
                .state
                .kept(&storage)
                .filter(|(key, object)| self.is_within(key) && watching.selector.selects(object));
            let first: VecDeque<Line> = held.map(|(_, object)| watching.event("ADDED", object)).collect();
            watching.first = first;
        }
        if asks_first && watching.bookmarks {
            let bookmark = watching.bookmark(&json!({"k8s.io/initial-events-end": "true"}));
            watching.first.push_back(bookmark);
        }
        Ok(Answer::Watch(Box::new(watching)))
    }
}

impl Watching {
    /// Where the objects are kept that are watched.
    pub(crate) fn storage(&self) -> Storage {
        self.resource.storage()
    }

    /// What there is to tell now. Whoever `follows` has waited since it was asked last: it has missed nothing of other kinds.
    pub(crate) fn news(&mut self, state: &State, follows: bool) -> News {
        let (storage, history) = (self.storage(), &state.history);
        let reaches = if follows { history.reaches_of(&storage, self.seen) } else { history.reaches(self.seen) };
        if !reaches || self.seen < self.resource.since {
            let expired = Failure::expired(format!("too old resource version: {}", self.seen));
            return News::End(Some(line("ERROR", &expired.to_json())));
        }
        let mut events: Vec<Line> = self.first.drain(..).collect();
        let news = history.since(self.seen).filter(|event| event.storage == storage);
        events.extend(news.filter_map(|event| self.tell(event)));
        self.seen = self.seen.max(history.revision());
        // With its kind a watch ends, and when its CRD says something else, but not before it has told of what happened before.
        let Resource { group, version, plural, since, .. } = &*self.resource;
        let goes_on = || state.kinds.find(group, version, plural).is_some_and(|served| served.since == *since);
        match events.is_empty() {
            false => News::Events(events),
            true if goes_on() => News::Nothing,
            true => News::End(None),
        }
    }

    fn tell(&self, event: &Event) -> Option<Line> {
        if !self.namespace.is_empty() && event.key.namespace != self.namespace {
            return None;
        }
        let meant = |object: &&Arc<Value>| self.selector.selects(object);
        let (before, after) = (event.before.as_ref().filter(meant), event.after.as_ref().filter(meant));
        match (before, after) {
            (None, None) => None,
            (None, Some(after)) => Some(self.event("ADDED", after)),
            (Some(_), Some(after)) => Some(self.event("MODIFIED", after)),
            (Some(before), None) => {
                let mut gone = Value::clone(before);
                gone["metadata"]["resourceVersion"] = json!(event.revision.to_string());
                Some(self.event("DELETED", &Arc::new(gone)))
            }
        }
    }

    fn event(&self, name: &str, object: &Arc<Value>) -> Line {
        line(name, &self.media.show(&self.resource.told(object)))
    }

    /// How far everything has been told, with these annotations.
    pub(crate) fn bookmark(&self, annotations: &Value) -> Line {
        let mut object = json!({
            "kind": self.resource.kind, "apiVersion": self.resource.api_version(),
            "metadata": {"resourceVersion": self.seen.to_string()},
        });
        if !annotations.is_null() {
            object["metadata"]["annotations"] = annotations.clone();
        }
        line("BOOKMARK", &self.media.show(&Arc::new(object)))
    }
}
