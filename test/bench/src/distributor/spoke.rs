//! Spokes: clusters that take CRDs, and in which nobody makes anything. Each looks like an API server of its own, with an
//! address, a uid and open watches, and all of them are in this process.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::serve::Listener as _;
use futures::{Stream, stream};
use harness::wait_for;
use http::header::{ACCEPT, CONTENT_TYPE};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::extra::{allow_files, kubeconfig};
use crate::listener::{Proof, Tls};
use crate::merge::merge;
use crate::query::{is_watch, parameter};
use crate::recording::KUBE_SYSTEM;

const JSON: &str = "application/json";
const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// Longest body of a write.
const BODY: usize = 4 << 20;

/// What was asked of all spokes.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    reads: AtomicUsize,
    watches: AtomicUsize,
    writes: AtomicUsize,
    /// What was asked, but for the names of objects, and how often.
    kinds: Mutex<BTreeMap<String, usize>>,
}

/// How often they were asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Reads, without watches.
    pub(crate) reads: usize,
    pub(crate) watches: usize,
    pub(crate) writes: usize,
}

impl Counts {
    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            reads: self.reads - before.reads,
            watches: self.watches - before.watches,
            writes: self.writes - before.writes,
        }
    }

    pub(crate) fn all(self) -> usize {
        self.reads + self.watches + self.writes
    }
}

/// CRDs of a spoke, and what has happened to them.
#[derive(Default)]
struct Held {
    version: usize,
    crds: BTreeMap<String, Value>,
    events: Vec<(usize, &'static str, Value)>,
}

/// How spokes answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// At once.
    Orderly,
    /// Each request after [`SLOW`].
    Slow,
    /// Lists and watches of anything but CRDs with what nobody can read, page after page.
    Broken,
}

/// What a slow one takes for an answer.
const SLOW: Duration = Duration::from_secs(5);

struct Spoke {
    manner: Manner,
    uid: String,
    held: Mutex<Held>,
    changes: watch::Sender<()>,
    asked: Arc<Asked>,
    /// Answers of a real API server to what is asked of kinds that every cluster has.
    documents: Arc<BTreeMap<String, Bytes>>,
}

/// Spokes. Dropping them ends them.
pub(crate) struct Spokes {
    all: Vec<Arc<Spoke>>,
    asked: Arc<Asked>,
    _servers: JoinSet<()>,
    /// A kubeconfig for each.
    pub(crate) kubeconfigs: Vec<String>,
}

impl Spokes {
    /// So many.
    pub(crate) async fn start(
        count: usize,
        manner: Manner,
        documents: Arc<BTreeMap<String, Bytes>>,
    ) -> anyhow::Result<Self> {
        allow_files();
        let proof = Proof::make()?;
        let (asked, mut servers) = (Arc::<Asked>::default(), JoinSet::new());
        let (mut all, mut kubeconfigs) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for number in 0..count {
            let spoke = Arc::new(Spoke {
                manner,
                uid: format!("00000000-0000-4000-{:04x}-{number:012x}", 0x8000 + manner as usize),
                held: Mutex::new(Held { version: 1, ..Held::default() }),
                changes: watch::Sender::new(()),
                asked: Arc::clone(&asked),
                documents: Arc::clone(&documents),
            });
            let listener = Tls::bind(&proof).await?;
            kubeconfigs.push(kubeconfig(listener.local_addr()?, &proof.authority_pem));
            let router = Router::new().fallback(answer).with_state(Arc::clone(&spoke));
            servers.spawn(async move {
                // It goes on until it is dropped.
                let _ = axum::serve(listener, router).await;
            });
            all.push(spoke);
        }
        Ok(Self { all, asked, _servers: servers, kubeconfigs })
    }

    /// How often all of them were asked so far.
    pub(crate) fn counts(&self) -> Counts {
        let load = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
        let Asked { reads, watches, writes, .. } = &*self.asked;
        Counts { reads: load(reads), watches: load(watches), writes: load(writes) }
    }

    /// Waits until all of them have been asked for something.
    pub(crate) async fn until_asked(&self, deadline: Duration) -> anyhow::Result<()> {
        wait_for(deadline, "all spokes to be asked for something", async || {
            let asked = self.counts().reads;
            anyhow::ensure!(asked >= self.all.len(), "{asked} requests");
            Ok(())
        })
        .await
    }

    /// What was asked so far, and how often.
    pub(crate) fn kinds(&self) -> BTreeMap<String, usize> {
        self.asked.kinds.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many have so many CRDs.
    pub(crate) fn with_crds(&self, count: usize) -> usize {
        self.all.iter().filter(|spoke| spoke.held().crds.len() == count).count()
    }
}

impl Spoke {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, counter: &AtomicUsize, what: &str, path: &str) {
        counter.fetch_add(1, Ordering::Relaxed);
        // Each RGD has a group, or a kind, of its own.
        let path: String = path.chars().filter(|each| !each.is_ascii_digit()).collect();
        let mut kinds = self.asked.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        *kinds.entry(format!("{what} {path}")).or_default() += 1;
    }

    /// Discovery of a group and version that CRDs define.
    fn discovery(&self, path: &str) -> Option<Value> {
        let (group, version) =
            path.strip_prefix("/apis/")?.split_once('/').filter(|(_, version)| !version.contains('/'))?;
        let held = self.held();
        let of = held.crds.values().filter(|crd| crd["spec"]["group"] == group);
        let resources = of.flat_map(|crd| {
            let (names, namespaced) = (&crd["spec"]["names"], crd["spec"]["scope"] == "Namespaced");
            let plural = names["plural"].as_str().unwrap_or_default();
            ["", "/status"].map(|sub| {
                json!({"name": format!("{plural}{sub}"), "kind": names["kind"], "namespaced": namespaced, "verbs": ["get"]})
            })
        });
        let resources: Vec<Value> = resources.collect();
        let list =
            json!({"kind": "APIResourceList", "groupVersion": format!("{group}/{version}"), "resources": resources});
        (!resources.is_empty()).then_some(list)
    }

    /// Applies a CRD, which is served at once.
    fn apply(&self, name: &str, body: &Value) -> Value {
        let mut held = self.held();
        held.version += 1;
        let version = held.version;
        let before = held.crds.get(name);
        let kind = if before.is_some() { "MODIFIED" } else { "ADDED" };
        let spec = before.map(|crd| crd["spec"].clone());
        let generation = before.and_then(|crd| crd["metadata"]["generation"].as_u64()).unwrap_or_default();
        let mut crd =
            before.cloned().unwrap_or_else(|| json!({"metadata": {"uid": format!("{}-{version}", self.uid)}}));
        merge(&mut crd, body);
        crd["metadata"]["resourceVersion"] = version.to_string().into();
        let is_new = spec.is_none_or(|spec| spec != crd["spec"]);
        crd["metadata"]["generation"] = (generation + u64::from(is_new)).into();
        let condition = |of: &str, why: &str| json!({"type": of, "status": "True", "reason": why, "message": why});
        let conditions = [condition("NamesAccepted", "NoConflicts"), condition("Established", "InitialNamesAccepted")];
        crd["status"] = json!({"conditions": conditions, "acceptedNames": crd["spec"]["names"]});
        held.crds.insert(name.to_owned(), crd.clone());
        held.events.push((version, kind, crd.clone()));
        drop(held);
        self.changes.send_replace(());
        crd
    }

    /// The list at a path: CRDs, or nothing of whatever it is.
    fn list(&self, path: &str, name: Option<&str>, metadata_only: bool) -> Value {
        let held = self.held();
        let wanted = |held: &&str| path == CRDS && name.is_none_or(|name| name == *held);
        let crds = held.crds.iter().filter(|(held, _)| wanted(&held.as_str()));
        let crds = crds.map(|(_, crd)| shown(crd, metadata_only));
        let kind = if metadata_only { "PartialObjectMetadataList" } else { "List" };
        let version = held.version.to_string();
        json!({"kind": kind, "apiVersion": "v1", "metadata": {"resourceVersion": version}, "items": crds.collect::<Vec<_>>()})
    }

    /// What has happened to CRDs since, line by line, and to nothing else.
    fn events(
        self: &Arc<Self>,
        path: &str,
        since: usize,
        metadata_only: bool,
    ) -> impl Stream<Item = Result<String, Infallible>> + use<> {
        let is_of_crds = path == CRDS;
        let state = (Arc::clone(self), self.changes.subscribe(), since);
        stream::unfold(state, move |(spoke, mut changes, mut since)| async move {
            loop {
                changes.mark_unchanged();
                let lines: String = {
                    let held = spoke.held();
                    let news = held.events.iter().filter(|(version, ..)| is_of_crds && *version > since);
                    let line = |(_, kind, crd): &(usize, &str, Value)| {
                        format!("{}\n", json!({"type": kind, "object": shown(crd, metadata_only)}))
                    };
                    let lines = news.map(line).collect();
                    since = held.version;
                    lines
                };
                if !lines.is_empty() {
                    return Some((Ok(lines), (spoke, changes, since)));
                }
                changes.changed().await.ok()?;
            }
        })
    }
}

/// An object, or its metadata.
fn shown(crd: &Value, metadata_only: bool) -> Value {
    if !metadata_only {
        return crd.clone();
    }
    json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": crd["metadata"]})
}

async fn answer(State(spoke): State<Arc<Spoke>>, request: Request) -> Response {
    let (path, query) = (request.uri().path().to_owned(), request.uri().query().unwrap_or_default().to_owned());
    let accept = request.headers().get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let metadata_only = accept.contains("as=PartialObjectMetadata");
    if spoke.manner == Manner::Slow {
        tokio::time::sleep(SLOW).await;
    }
    let json = |body: Body| ([(CONTENT_TYPE, JSON)], body).into_response();
    let value = |value: &Value| json(Body::from(value.to_string()));
    let asked = &spoke.asked;
    let name = path.strip_prefix(CRDS).and_then(|rest| rest.strip_prefix('/'));
    if *request.method() == Method::PATCH {
        spoke.count(&asked.writes, "write", &path);
        let Ok(body) = to_bytes(request.into_body(), BODY).await else {
            return StatusCode::BAD_REQUEST.into_response();
        };
        return match (name, serde_json::from_slice::<Value>(&body)) {
            (Some(name), Ok(body)) => value(&spoke.apply(name, &body)),
            _ => missing(),
        };
    }
    if *request.method() != Method::GET {
        spoke.count(&asked.writes, "write", &path);
        return missing();
    }
    if is_watch(&query) {
        spoke.count(&asked.watches, "watch", &path);
        if spoke.manner == Manner::Broken && path != CRDS {
            return json(Body::from("{\"type\":\"ADDED\",\"object\":{\"metadata\":{\n".repeat(1_000)));
        }
        let since = parameter(&query, "resourceVersion").and_then(|version| version.parse().ok()).unwrap_or_default();
        return json(Body::from_stream(spoke.events(&path, since, metadata_only)));
    }
    spoke.count(&asked.reads, "read", &path);
    if path == KUBE_SYSTEM {
        let metadata = json!({"name": "kube-system", "uid": spoke.uid, "resourceVersion": "1"});
        return value(&json!({"kind": "Namespace", "apiVersion": "v1", "metadata": metadata}));
    }
    if let Some(document) = spoke.documents.get(&path) {
        return json(Body::from(document.clone()));
    }
    if let Some(name) = name {
        return spoke.held().crds.get(name).map_or_else(missing, value);
    }
    if let Some(list) = spoke.discovery(&path) {
        return value(&list);
    }
    if accept.contains("as=PartialObjectMetadataList") || parameter(&query, "limit").is_some() {
        let name = parameter(&query, "fieldSelector").and_then(|text| text.strip_prefix("metadata.name%3D"));
        return value(&spoke.list(&path, name, metadata_only));
    }
    missing()
}

fn missing() -> Response {
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404});
    (StatusCode::NOT_FOUND, [(CONTENT_TYPE, JSON)], status.to_string()).into_response()
}
