//! `ApiServer`: one API server of a world, and the service that requests to it go through.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    convert::Infallible,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures::stream;
use http::{Method, Response, header};
use http_body::Frame;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::Bytes;
use kube::client::Body;
use runtime_fleet::dial::{Content, Sends, sends};
use serde_json::{Value, json};
use tokio::{
    sync::watch,
    time::{Instant, timeout_at},
};
use tower::BoxError;

use crate::{
    answer::Answer,
    changes::{Changes, kinds_of},
    clock::Clock,
    discovery::discover,
    failure::Failure,
    history::{Event, Key},
    journal::{Change, Deed, Entry, Journal},
    openapi::publish,
    request::{Request, Target},
    resource::Storage,
    state::State,
    verbs::{BOOKMARK, Call, Line, News, Watching},
};

/// In whose name the controllers of every cluster act.
const CONTROLLERS: &str = "controllers";

/// An API server. Cloning it yields the same one.
#[derive(Clone)]
pub struct ApiServer(Arc<Inner>);

struct Inner {
    name: String,
    clock: Clock,
    journal: Journal,
    state: Mutex<State>,
    changes: Changes,
}

impl fmt::Debug for ApiServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiServer").field("name", &self.0.name).finish_non_exhaustive()
    }
}

impl ApiServer {
    /// One that holds nothing but the namespaces that every cluster has. All that looks random follows from `seed`.
    pub fn new(name: &str, seed: u64, clock: Clock) -> Self {
        Self::within(name, seed, clock, &Journal::default())
    }

    /// Lets go of all that it holds.
    pub(crate) fn empty(&self) {
        *self.state() = State::new(0, self.0.clock);
    }

    /// The same, in a world that keeps this journal.
    pub fn within(name: &str, seed: u64, clock: Clock, journal: &Journal) -> Self {
        Self::holding(name, clock, journal, State::new(seed, clock))
    }

    /// Holds what was [saved](ApiServer::saved), and nothing else, as one that has ended and begins again.
    ///
    /// # Errors
    /// It is nothing that one has saved.
    pub fn restore(&self, saved: &Value) -> Result<(), String> {
        let mut state = self.state();
        *state = state.restored(saved)?;
        drop(state);
        self.0.changes.wake();
        Ok(())
    }

    /// Refuses to keep objects that are longer than this, in bytes, as etcd does.
    pub fn limit(&self, longest: usize) {
        self.state().longest = Some(longest);
    }

    /// All that it holds. What has happened before is not in it.
    pub fn saved(&self) -> Value {
        self.state().saved()
    }

    /// The same, which holds something already.
    pub(crate) fn holding(name: &str, clock: Clock, journal: &Journal, state: State) -> Self {
        let changes = Changes::from(state.history.revision());
        let (name, journal) = (name.to_owned(), journal.clone());
        Self(Arc::new(Inner { name, clock, journal, state: Mutex::new(state), changes }))
    }

    /// Its name in its world.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Sends requests to it.
    pub fn sends(&self) -> Sends {
        let server = self.clone();
        sends(tower::service_fn(move |request: http::Request<Body>| {
            let server = server.clone();
            async move { server.serve(request).await }
        }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something with all that is held, and tells of it.
    fn change<T>(&self, by: &str, act: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state();
        let before = state.history.revision();
        let done = act(&mut state);
        let revision = state.history.revision();
        let mut kinds = BTreeSet::new();
        for event in state.history.since(before).cloned() {
            kinds.extend(kinds_of(&event));
            let Event { storage, key, before, after, .. } = event;
            let resource = storage.to_string();
            let change = Change { resource, namespace: key.namespace, name: key.name, before, after };
            let (server, by) = (self.0.name.clone(), by.to_owned());
            self.0.journal.add(Entry { at: self.0.clock.passed(), server, by, deed: Deed::Change(change) });
        }
        drop(state);
        self.0.changes.tell(revision, &kinds);
        done
    }

    /// Lets the controllers of CRDs and namespaces work until they have nothing to do.
    pub fn settle(&self) {
        self.change(CONTROLLERS, |state| while state.settle_definitions() | state.settle_namespaces() {});
    }

    /// Lets the collector of garbage work until it has nothing to do.
    pub fn collect_garbage(&self) {
        self.change(CONTROLLERS, |state| while state.collect() {});
    }

    /// Forgets what has happened: watches and continue tokens of before end.
    pub fn compact(&self) {
        self.change(CONTROLLERS, |state| state.history.compact());
        // Who is behind is told at once.
        self.0.changes.wake();
    }

    /// Forgets all that has happened but for so many changes.
    pub fn remember(&self, changes: usize) {
        let forgets = self.state().history.remember(changes);
        if forgets {
            // Who is behind is told at once.
            self.0.changes.wake();
        }
    }

    /// All that it holds, by resource, namespace and name: as it tells it, and as it is kept where no version is served.
    pub fn contents(&self) -> BTreeMap<(String, String, String), Arc<Value>> {
        let state = self.state();
        let mut contents = BTreeMap::new();
        for storage in state.storages() {
            let resource = state.kinds.all().find(|resource| resource.keeps(&storage));
            for (key, object) in state.kept(&storage) {
                let told = resource.map_or_else(|| Arc::clone(object), |resource| resource.told(object));
                contents.insert((storage.to_string(), key.namespace.clone(), key.name.clone()), told);
            }
        }
        contents
    }

    /// Whether it holds the object that a path leads to.
    pub fn holds(&self, target: &Target) -> bool {
        let state = self.state();
        let found = state.resource(&target.group, &target.version, &target.plural);
        found.is_some_and(|resource| {
            state.get(&resource.storage(), &Key::new(&target.namespace, &target.name)).is_some()
        })
    }

    /// The objects of a kind that it holds, such as `things.example.org`, by namespace and name.
    pub fn objects(&self, resource: &str) -> BTreeMap<(String, String), Arc<Value>> {
        let (state, storage) = (self.state(), Storage::of(resource));
        let held = state.kept(&storage);
        held.map(|(key, object)| ((key.namespace.clone(), key.name.clone()), Arc::clone(object))).collect()
    }

    /// Tells of its revision whenever something has changed.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.0.changes.of_all()
    }

    /// The same, for whoever looks at the objects of one kind only.
    pub fn changes_of(&self, resource: &str) -> watch::Receiver<u64> {
        self.0.changes.of(&Storage::of(resource))
    }

    /// How far it has come.
    pub fn revision(&self) -> u64 {
        self.state().history.revision()
    }

    /// Lets all controllers work whenever something has changed. Never ends by itself.
    pub async fn run_controllers(&self) {
        let work = || {
            self.settle();
            self.collect_garbage();
        };
        self.whenever_it_changes(work).await;
    }

    /// Lets only those work that belong to the API server itself: kinds are established, and withdrawn with their objects.
    /// Never ends by itself.
    pub async fn run_definitions(&self) {
        self.whenever_it_changes(|| self.change(CONTROLLERS, |state| while state.settle_definitions() {})).await;
    }

    async fn whenever_it_changes(&self, work: impl Fn()) {
        let mut changes = self.changes();
        let mut looked = None;
        loop {
            // What they do themselves is looked at, too.
            let now = self.revision();
            if looked.is_none_or(|revision| self.state().has_work_since(revision)) {
                work();
            }
            looked = Some(now);
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    async fn serve(&self, request: http::Request<Body>) -> Result<Response<Content>, BoxError> {
        let (head, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        let request = Request::new(head.method, &head.uri, &head.headers, body.to_vec());
        let answer = self.change(request.manager(), |state| answer(state, &request));
        let (code, kind, content) = match answer {
            Answer::Json(code, value) => (code, "application/json", whole(serde_json::to_vec(&value)?)),
            Answer::Object(code, object) => (code, "application/json", whole(serde_json::to_vec(&*object)?)),
            Answer::Text(code, text) => (code, "text/plain; charset=utf-8", whole(text.into())),
            Answer::Watch(watching) => (200, "application/json", self.stream(*watching)),
        };
        Ok(Response::builder().status(code).header(header::CONTENT_TYPE, kind).body(content)?)
    }

    /// The events of a watch, a line each, as they come.
    fn stream(&self, watching: Watching) -> Content {
        let changes = self.0.changes.of(&watching.storage());
        let started = Stream { server: self.clone(), watching, changes, waiting: VecDeque::new(), ended: false };
        let frames = stream::unfold(started, |mut stream| async move {
            let frame = Frame::data(Bytes::from(stream.next().await?));
            Some((Ok::<_, Infallible>(frame), stream))
        });
        StreamBody::new(frames).map_err(BoxError::from).boxed_unsync()
    }
}

fn whole(content: Vec<u8>) -> Content {
    Full::new(Bytes::from(content)).map_err(BoxError::from).boxed_unsync()
}

/// One watch's answer on its way.
struct Stream {
    server: ApiServer,
    watching: Watching,
    changes: watch::Receiver<u64>,
    waiting: VecDeque<Line>,
    ended: bool,
}

impl Stream {
    async fn next(&mut self) -> Option<Line> {
        // Whoever was not asked for a while has not heard of anything meanwhile.
        let mut follows = false;
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Some(event);
            }
            if self.ended {
                return None;
            }
            self.changes.mark_unchanged();
            if !self.look(follows) {
                self.wait().await;
                follows = true;
            }
        }
    }

    /// Whether there is something to tell.
    fn look(&mut self, follows: bool) -> bool {
        let news = self.watching.news(&self.server.state(), follows);
        match news {
            News::Events(events) => self.waiting.extend(events),
            News::End(last) => {
                self.waiting.extend(last);
                self.ended = true;
            }
            News::Nothing => return false,
        }
        true
    }

    async fn wait(&mut self) {
        let quiet = Instant::now() + BOOKMARK;
        let until = self.watching.until;
        let changed = timeout_at(until.min(quiet), self.changes.changed()).await;
        match changed {
            Ok(Ok(())) => {}
            Ok(Err(_)) => self.ended = true,
            Err(_) => {
                self.ended = Instant::now() >= until;
                // It says how far all kinds have come, of which nobody has woken us.
                if !self.look(true) && self.watching.bookmarks {
                    self.waiting.push_back(self.watching.bookmark(&Value::Null));
                }
            }
        }
    }
}

pub(crate) fn answer(state: &mut State, request: &Request) -> Answer {
    if let Some(target) = request.target() {
        let Some(resource) = state.resource(&target.group, &target.version, &target.plural) else {
            return Answer::NO_PATH;
        };
        if resource.namespaced
            && target.namespace.is_empty()
            && (!target.name.is_empty() || request.method == Method::POST)
            || !resource.namespaced && !target.namespace.is_empty()
        {
            return Answer::NO_PATH;
        }
        return Call::new(state, request, &target, resource).answer().unwrap_or_else(Answer::from);
    }
    if request.method != Method::GET {
        return Failure::bad_request("this path can only be read").into();
    }
    match &*request.path {
        "/healthz" | "/livez" | "/livez/ping" | "/readyz" => Answer::Text(200, "ok"),
        "/version" => Answer::Json(200, json!({"major": "1", "minor": "36", "gitVersion": "v1.36.3"})),
        path => {
            let found = discover(&state.kinds, path, request.media).or_else(|| publish(&state.kinds, path));
            found.unwrap_or(Answer::NO_PATH)
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tower::ServiceExt as _;

    use super::*;

    async fn ask(server: &ApiServer, path: &str) -> Value {
        let request = http::Request::get(path).body(Body::empty()).unwrap();
        let answer = server.sends().oneshot(request).await.unwrap();
        serde_json::from_slice(&answer.into_body().collect().await.unwrap().to_bytes()).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_forgotten_is_gone() {
        let server = ApiServer::new("a", 1, Clock::starting(0));
        let page = ask(&server, "/api/v1/namespaces?limit=1").await;
        let next = page["metadata"]["continue"].as_str().unwrap();
        let path = format!("/api/v1/namespaces?limit=1&continue={next}");
        assert_eq!(ask(&server, &path).await["items"].as_array().unwrap().len(), 1);
        let watch = format!("/api/v1/namespaces?watch=1&timeoutSeconds=1&resourceVersion={}", server.revision() - 1);
        assert_eq!(ask(&server, &watch).await["type"], "ADDED");
        server.change("me", |state| {
            state.delete(&crate::resource::Storage::new("", "namespaces"), &crate::history::Key::new("", "default"), "")
        });
        server.compact();
        assert_eq!(ask(&server, &path).await["code"], 410);
        let expired = ask(&server, &watch).await;
        assert_eq!((&expired["type"], &expired["object"]["reason"]), (&json!("ERROR"), &json!("Expired")));
    }
}
