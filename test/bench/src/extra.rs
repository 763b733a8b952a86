//! Extras: clusters in which nothing happens. Each looks like an API server of its own, with an address, a uid and open
//! watches, and all of them are in this process.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::serve::Listener as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use futures::{Stream, stream};
use http::header::{ACCEPT, CONTENT_TYPE};
use rustix::process::{Resource, getrlimit, setrlimit};
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::listener::{Proof, Tls};
use crate::query::{is_watch, parameter};
use crate::recording::{KUBE_SYSTEM, Recording};
use crate::report::{Goal, Report, ratio};
use crate::stage::Stage;

const JSON: &str = "application/json";
/// How often a watch says how far it is, as API servers do.
pub(crate) const BOOKMARK: Duration = Duration::from_mins(1);
/// How long a watch lasts whose client does not say.
const WATCH: Duration = Duration::from_mins(30);

/// Definitions are looked for in all clusters by `kubectl broker graphs`; none of these serves any.
const DEFINITIONS: &str = "/apis/kro.run/v1alpha1/resourcegraphdefinitions";

/// Where `kubectl broker doctor` asks for each right that the broker needs.
const REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

/// What the idle clusters of each sort answer.
struct Recordings {
    consumer: Arc<Recording>,
    /// With AcceptAPIs that concern nobody, and without any.
    providers: [Arc<Recording>; 2],
}

/// What was asked of the idle clusters.
#[derive(Debug, Default)]
struct Asked {
    watches: AtomicUsize,
    reads: AtomicUsize,
    /// What they have no answer to: a write, or a path that was not recorded.
    unexpected: AtomicUsize,
    /// Each sort of these.
    examples: Mutex<BTreeSet<String>>,
}

/// Idle clusters. Dropping it ends them.
pub(crate) struct Extras {
    recordings: Recordings,
    proof: Proof,
    consumers: PathBuf,
    providers: PathBuf,
    clusters: Vec<Arc<Extra>>,
    asked: Arc<Asked>,
    servers: JoinSet<()>,
}

/// One of them.
struct Extra {
    recording: Arc<Recording>,
    uid: String,
    watches: AtomicUsize,
    asked: Arc<Asked>,
}

impl Extras {
    /// None yet. What they will answer is what the stage's clusters do now.
    pub(crate) async fn rehearse(stage: &Stage) -> anyhow::Result<Self> {
        allow_files();
        let provider = Recording::of_provider(&stage.controllers[1]).await?;
        let recordings = Recordings {
            consumer: Arc::new(Recording::of_consumer(&stage.person).await?),
            providers: [Arc::new(provider.that_accepts_nothing()), Arc::new(provider)],
        };
        let directory = stage.lab.directory().join("extras");
        let (consumers, providers) = (directory.join("consumers"), directory.join("providers"));
        for directory in [&consumers, &providers] {
            fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))?;
        }
        let proof = Proof::make()?;
        let (clusters, asked, servers) = Default::default();
        Ok(Self { recordings, proof, consumers, providers, clusters, asked, servers })
    }

    /// Flags by which the broker engages them.
    pub(crate) fn flags(&self) -> Vec<String> {
        let directories =
            [("--consumer-kubeconfig-dir", &self.consumers), ("--provider-kubeconfig-dir", &self.providers)];
        directories.iter().flat_map(|(flag, path)| [(*flag).to_owned(), path.display().to_string()]).collect()
    }

    /// Flags by which `kubectl broker` knows them.
    pub(crate) fn flags_of_people(&self) -> anyhow::Result<Vec<String>> {
        let mut flags = Vec::new();
        for (flag, folder) in [("--consumer-kubeconfig", &self.consumers), ("--provider-kubeconfig", &self.providers)] {
            for file in fs::read_dir(folder)? {
                flags.extend([flag.to_owned(), file?.path().display().to_string()]);
            }
        }
        Ok(flags)
    }

    /// Starts further ones until there are so many: every other one is a consumer.
    pub(crate) async fn grow(&mut self, count: usize) -> anyhow::Result<()> {
        while self.clusters.len() < count {
            let number = self.clusters.len();
            let (recording, directory) = match number % 4 {
                0 | 2 => (&self.recordings.consumer, &self.consumers),
                1 => (&self.recordings.providers[0], &self.providers),
                _ => (&self.recordings.providers[1], &self.providers),
            };
            let extra = Arc::new(Extra {
                recording: Arc::clone(recording),
                uid: format!("00000000-0000-4000-8000-{number:012x}"),
                watches: AtomicUsize::default(),
                asked: Arc::clone(&self.asked),
            });
            let listener = Tls::bind(&self.proof).await?;
            let file = directory.join(format!("extra-{number:04}.kubeconfig"));
            fs::write(&file, kubeconfig(listener.local_addr()?, &self.proof.authority_pem))
                .with_context(|| format!("cannot write {}", file.display()))?;
            let router = Router::new().fallback(answer).with_state(Arc::clone(&extra));
            self.servers.spawn(async move {
                // It goes on until it is dropped.
                let _ = axum::serve(listener, router).await;
            });
            self.clusters.push(extra);
        }
        Ok(())
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.clusters.len()
    }

    /// How many have a watch that is open.
    pub(crate) fn watched(&self) -> usize {
        self.clusters.iter().filter(|extra| extra.watches.load(Ordering::Relaxed) > 0).count()
    }

    /// Watches that are open at all of them.
    pub(crate) fn watches(&self) -> usize {
        self.clusters.iter().map(|extra| extra.watches.load(Ordering::Relaxed)).sum()
    }

    /// Requests that were answered so far, watches included.
    pub(crate) fn requests(&self) -> usize {
        self.asked.reads.load(Ordering::Relaxed) + self.asked.watches.load(Ordering::Relaxed)
    }

    /// Nothing was written to them, and nothing else asked to which there was no answer.
    pub(crate) fn judge(&self, report: &mut Report, part: &'static str) {
        let unexpected = ratio(self.asked.unexpected.load(Ordering::Relaxed), 1);
        report.judge(part, "requests that idle clusters did not expect", unexpected, "", Goal::Exactly(0.0));
        for example in self.asked.examples.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            report.remark(format!("an idle cluster did not expect {example}"));
        }
    }
}

/// A thousand clusters take several thousand sockets, here and in the broker, which inherits the limit.
pub(crate) fn allow_files() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Where it may not be raised, connections fail, and clusters that were not watched are an error later.
    let _ = setrlimit(Resource::Nofile, limit);
}

pub(crate) fn kubeconfig(address: SocketAddr, authority_pem: &str) -> String {
    let server = json!({
        "server": format!("https://{address}"),
        "certificate-authority-data": BASE64.encode(authority_pem),
    });
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "extra", "cluster": server}],
        "users": [{"name": "broker", "user": {"token": "nobody-looks-at-it"}}],
        "contexts": [{"name": "extra", "context": {"cluster": "extra", "user": "broker"}}],
        "current-context": "extra",
    })
    .to_string()
}

async fn answer(State(extra): State<Arc<Extra>>, request: Request) -> Response {
    let (path, query) = (request.uri().path(), request.uri().query().unwrap_or_default());
    let accept = request.headers().get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let metadata_only = accept.contains("as=PartialObjectMetadata");
    let is_watch = is_watch(query);
    let count = |counter: &AtomicUsize| counter.fetch_add(1, Ordering::Relaxed);
    let json = |body: Body| ([(CONTENT_TYPE, JSON)], body).into_response();
    if request.method() == Method::GET {
        if path == KUBE_SYSTEM {
            count(&extra.asked.reads);
            return json(Body::from(extra.kube_system()));
        }
        if is_watch && let Some(line) = extra.recording.bookmark(path, metadata_only) {
            count(&extra.asked.watches);
            let watch = Open::new(&extra);
            return json(Body::from_stream(bookmarks(line, lasting(query), watch)));
        }
        if accept.contains("as=APIGroupDiscoveryList")
            && let Some(body) = extra.recording.discovery(path)
        {
            count(&extra.asked.reads);
            return json(Body::from(body));
        }
        if !is_watch && let Some(body) = extra.recording.answer(path, metadata_only) {
            count(&extra.asked.reads);
            return json(Body::from(body));
        }
    }
    if request.method() == Method::POST && path == REVIEWS {
        count(&extra.asked.reads);
        let (kind, version) = ("SelfSubjectAccessReview", "authorization.k8s.io/v1");
        let review = json!({"kind": kind, "apiVersion": version, "spec": {}, "status": {"allowed": true}});
        return json(Body::from(review.to_string()));
    }
    // An object of which a person knows no more than its name is looked for everywhere.
    let looks_for = (request.method() == Method::GET).then(|| collection(path)).flatten();
    let is_served =
        |collection: String| [false, true].iter().any(|one| extra.recording.answer(&collection, *one).is_some());
    let is_list = request.method() == Method::GET && !is_watch && path == DEFINITIONS;
    if is_list || looks_for.is_some_and(is_served) {
        count(&extra.asked.reads);
    } else {
        count(&extra.asked.unexpected);
        let example = format!("{} {path} ({accept})", request.method());
        extra.asked.examples.lock().unwrap_or_else(PoisonError::into_inner).insert(example);
    }
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404});
    (StatusCode::NOT_FOUND, [(CONTENT_TYPE, JSON)], status.to_string()).into_response()
}

/// The path of all objects of a kind, of that of one in a namespace.
fn collection(path: &str) -> Option<String> {
    let (version, object) = path.split_once("/namespaces/")?;
    let [_namespace, plural, _name] = object.split('/').collect::<Vec<_>>()[..] else { return None };
    Some(format!("{version}/{plural}"))
}

impl Extra {
    fn kube_system(&self) -> String {
        let metadata = json!({"name": "kube-system", "uid": self.uid, "resourceVersion": "1"});
        json!({"kind": "Namespace", "apiVersion": "v1", "metadata": metadata}).to_string()
    }
}

/// A watch while it is open.
struct Open(Arc<Extra>);

impl Open {
    fn new(extra: &Arc<Extra>) -> Self {
        extra.watches.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(extra))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.watches.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How long a watch shall last.
pub(crate) fn lasting(query: &str) -> Duration {
    parameter(query, "timeoutSeconds").and_then(|seconds| seconds.parse().ok()).map_or(WATCH, Duration::from_secs)
}

/// The same line every minute, to its end. `watch` is dropped with it.
pub(crate) fn bookmarks<W>(line: String, lasts: Duration, watch: W) -> impl Stream<Item = Result<String, Infallible>> {
    let end = Instant::now() + lasts;
    stream::unfold((line, watch), move |(line, watch)| async move {
        let next = Instant::now() + BOOKMARK;
        sleep_until(next.min(end)).await;
        (next < end).then(|| (Ok(line.clone()), (line, watch)))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use futures::StreamExt as _;

    use super::*;

    fn extra() -> Arc<Extra> {
        let (recording, watches, asked) = Default::default();
        Arc::new(Extra { recording, uid: "u".to_owned(), watches, asked })
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_tells_how_far_it_is_until_its_time_is_over() {
        let extra = extra();
        let lines = bookmarks("x\n".to_owned(), Duration::from_secs(150), Open::new(&extra));
        assert_eq!(extra.watches.load(Ordering::Relaxed), 1);
        assert_eq!(lines.count().await, 2);
        assert_eq!(extra.watches.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_watch_lasts_as_long_as_was_asked() {
        assert_eq!(lasting("watch=1&timeoutSeconds=250&resourceVersion=1"), Duration::from_secs(250));
        assert_eq!(lasting("watch=1"), WATCH);
    }

    #[test]
    fn an_object_is_one_of_its_kind() {
        let all = collection("/apis/bench.example.org/v1/namespaces/bench/widgets/warm-00000");
        assert_eq!(all.as_deref(), Some("/apis/bench.example.org/v1/widgets"));
        assert_eq!(collection("/api/v1/namespaces/kube-system"), None);
        assert_eq!(collection("/api/v1/namespaces/a/pods/b/log"), None);
    }

    #[tokio::test]
    async fn a_write_is_not_expected() {
        let extra = extra();
        let write = Request::patch(KUBE_SYSTEM).body(Body::empty()).unwrap();
        assert_eq!(answer(State(Arc::clone(&extra)), write).await.status(), StatusCode::NOT_FOUND);
        assert_eq!(extra.asked.unexpected.load(Ordering::Relaxed), 1);
        let read = Request::get(KUBE_SYSTEM).body(Body::empty()).unwrap();
        assert_eq!(answer(State(Arc::clone(&extra)), read).await.status(), StatusCode::OK);
        assert_eq!(extra.asked.unexpected.load(Ordering::Relaxed), 1);
    }
}
