//! `Liar`: an API server of our own over a real socket, which answers as a test wants it to.
//!
//! Without rules it is honest and empty: it has the namespace `kube-system`, serves its kinds, lists nothing, and its
//! watches are silent; writes are forbidden. In front of a real API server ([`Liar::before`]) it hands on what no rule
//! speaks of. Plain HTTP on loopback: brokers need `--allow-local-credentials`, which [`Liar::args`] sets.

use std::{
    collections::HashMap,
    fs,
    path::Path,
    sync::{Arc, Mutex},
};

use futures::FutureExt as _;
use http::{Method, Request};
use http_body_util::BodyExt as _;
use kube::{Client, client::Body};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

use crate::{Kind, Place};

/// What was asked.
#[derive(Debug, Clone)]
pub struct Asked {
    /// `GET`, `PATCH`, …
    pub method: Method,
    /// Without the query.
    pub path: String,
    /// The query, without `?`.
    pub query: String,
    /// `Content-Type` and `Accept`, where they were sent.
    headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Asked {
    /// Whether it asks for a watch.
    pub fn is_watch(&self) -> bool {
        self.query.contains("watch=1")
    }

    /// A parameter of the query, as it was sent (escaped).
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
    }
}

/// A piece of an answer's body.
#[derive(Clone)]
pub enum Part {
    /// These bytes.
    Text(Arc<str>),
    /// These bytes so many times.
    Repeat(Arc<str>, usize),
    /// Nothing more, and the connection stays open.
    Hang,
}

/// What is answered.
#[derive(Clone)]
pub struct Lie {
    /// HTTP status.
    pub code: u16,
    /// The body, piece by piece.
    pub body: Vec<Part>,
}

impl Lie {
    /// 200 with this JSON.
    pub fn json(value: &Value) -> Self {
        Self { code: 200, body: vec![Part::Text(value.to_string().into())] }
    }

    /// An error as API servers answer it.
    pub fn status(code: u16, message: &str) -> Self {
        let body = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "message": message});
        Self { code, body: vec![Part::Text(body.to_string().into())] }
    }

    /// 200 with `head`, `piece` so often that it makes `bytes` bytes, and `tail`.
    pub fn long(head: &str, piece: &str, bytes: usize, tail: &str) -> Self {
        let times = bytes / piece.len();
        Self { code: 200, body: vec![text(head), Part::Repeat(piece.into(), times), text(tail)] }
    }

    /// 200 with these lines, and then silence: a watch.
    pub fn lines(lines: &[Value]) -> Self {
        let mut body: Vec<Part> = lines.iter().map(|line| text(&format!("{line}\n"))).collect();
        body.push(Part::Hang);
        Self { code: 200, body }
    }

    /// 200, and a line that never ends.
    pub fn endless_line() -> Self {
        let head = r#"{"type":"ADDED","object":{"spec":""#;
        Self { code: 200, body: vec![text(head), Part::Repeat("x".repeat(1 << 16).into(), usize::MAX)] }
    }
}

fn text(text: &str) -> Part {
    Part::Text(text.into())
}

type Rule = Arc<dyn Fn(&Asked) -> Option<Lie> + Send + Sync>;

struct State {
    kinds: Vec<Kind>,
    identity: String,
    upstream: Option<Client>,
    rules: Mutex<Vec<Rule>>,
    /// How often each path was asked for.
    asked: Mutex<HashMap<String, usize>>,
}

/// A fake API server. Dropping it ends it.
pub struct Liar {
    name: String,
    address: String,
    state: Arc<State>,
    task: JoinHandle<()>,
}

impl Drop for Liar {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Liar {
    /// One that brokers call `name`, and that serves `kinds` (namespaced, with a status).
    pub async fn start(name: &str, kinds: &[Kind]) -> Self {
        Self::begin(name, kinds, None).await
    }

    /// One in front of a real API server, where it acts as the user `broker`.
    pub async fn before(name: &str, place: &Place) -> Self {
        let client = place.cluster.client("broker").await.unwrap();
        Self::begin(name, &[], Some(client)).await
    }

    async fn begin(name: &str, kinds: &[Kind], upstream: Option<Client>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let identity = format!("liar-{name}-{address}");
        let state =
            State { kinds: kinds.to_vec(), identity, upstream, rules: Mutex::default(), asked: Mutex::default() };
        let state = Arc::new(state);
        let serving = Arc::clone(&state);
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let state = Arc::clone(&serving);
                // A client that goes away breaks the answer off: nothing to tell.
                connections.spawn(async move { state.serve(stream).await.unwrap_or_default() });
                while connections.try_join_next().is_some() {}
            }
        });
        Self { name: name.to_owned(), address, state, task }
    }

    /// A rule: what it answers counts, the latest rule first; `None` leaves it to the others.
    pub fn rule(&self, rule: impl Fn(&Asked) -> Option<Lie> + Send + Sync + 'static) -> &Self {
        self.state.rules.lock().unwrap().push(Arc::new(rule));
        self
    }

    /// Answers this to `GET` of a path, but not to watches.
    pub fn on(&self, path: &str, lie: Lie) -> &Self {
        let path = path.to_owned();
        self.rule(move |asked| {
            (asked.method == Method::GET && asked.path == path && !asked.is_watch()).then(|| lie.clone())
        })
    }

    /// Answers this to watches of a path.
    pub fn on_watch(&self, path: &str, lie: Lie) -> &Self {
        let path = path.to_owned();
        self.rule(move |asked| (asked.path == path && asked.is_watch()).then(|| lie.clone()))
    }

    /// Forgets all rules: from now on it is honest.
    pub fn repent(&self) {
        self.state.rules.lock().unwrap().clear();
    }

    /// How many requests it has got.
    pub fn asked(&self) -> usize {
        self.state.asked.lock().unwrap().values().sum()
    }

    /// How many requests for a path (without its query) it has got.
    pub fn asked_for(&self, path: &str) -> usize {
        self.state.asked.lock().unwrap().get(path).copied().unwrap_or_default()
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A kubeconfig for it.
    pub fn kubeconfig(&self) -> String {
        format!(
            "apiVersion: v1
kind: Config
clusters: [{{name: liar, cluster: {{server: 'http://{}'}}}}]
users: [{{name: broker, user: {{token: none}}}}]
contexts: [{{name: liar, context: {{cluster: liar, user: broker}}}}]
current-context: liar
",
            self.address
        )
    }

    /// Arguments that make it a cluster of a role (`consumer` or `provider`); the kubeconfig is written to `folder`.
    pub fn args(&self, role: &str, folder: &Path) -> Vec<String> {
        fs::create_dir_all(folder).unwrap();
        let file = folder.join(format!("{}.kubeconfig", self.name));
        fs::write(&file, self.kubeconfig()).unwrap();
        vec!["--allow-local-credentials".to_owned(), format!("--{role}-kubeconfig"), file.display().to_string()]
    }
}

impl State {
    /// Serves one connection, request by request.
    async fn serve(&self, stream: TcpStream) -> anyhow::Result<()> {
        let mut stream = BufReader::new(stream);
        while let Some(asked) = read(&mut stream).await? {
            *self.asked.lock().unwrap().entry(asked.path.clone()).or_default() += 1;
            let rules = self.rules.lock().unwrap().clone();
            if let Some(lie) = rules.iter().rev().find_map(|rule| rule(&asked)) {
                answer(stream.get_mut(), &lie).await?;
            } else if let Some(upstream) = &self.upstream {
                hand_on(stream.get_mut(), upstream, asked).await?;
            } else {
                answer(stream.get_mut(), &self.honest(&asked)).await?;
            }
        }
        Ok(())
    }

    fn honest(&self, asked: &Asked) -> Lie {
        if asked.method != Method::GET {
            return Lie::status(403, "this API server takes no writes");
        }
        if asked.path == "/api/v1/namespaces/kube-system" {
            let metadata = json!({"name": "kube-system", "uid": self.identity, "resourceVersion": "1"});
            return Lie::json(&json!({"kind": "Namespace", "apiVersion": "v1", "metadata": metadata}));
        }
        if asked.is_watch() {
            return Lie::lines(&[]);
        }
        if let Some(group_version) = asked.path.strip_prefix("/apis/")
            && group_version.split('/').count() == 2
        {
            return self.discovery(group_version);
        }
        if asked.query.contains("limit=") {
            return Lie::json(&list(&[], "1", ""));
        }
        let body =
            json!({"kind": "Status", "code": 404, "message": "not found", "details": {"name": "x", "kind": "x"}});
        Lie { code: 404, ..Lie::json(&body) }
    }

    fn discovery(&self, group_version: &str) -> Lie {
        let kinds = self.kinds.iter().filter(|kind| kind.api_version() == group_version);
        let resources: Vec<Value> = kinds
            .flat_map(|kind| {
                ["", "/status"].map(|sub| {
                    let name = format!("{}{sub}", kind.plural);
                    json!({"name": name, "singularName": "", "kind": kind.kind, "namespaced": true, "verbs": []})
                })
            })
            .collect();
        if resources.is_empty() {
            return Lie { code: 404, body: vec![text("404 page not found")] };
        }
        Lie::json(&json!({"kind": "APIResourceList", "groupVersion": group_version, "resources": resources}))
    }
}

/// A page of a list.
pub fn list(items: &[Value], version: &str, next: &str) -> Value {
    json!({"kind": "List", "metadata": {"resourceVersion": version, "continue": next}, "items": items})
}

/// One request; `None`: the client has gone.
async fn read(stream: &mut BufReader<TcpStream>) -> anyhow::Result<Option<Asked>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if stream.read(&mut byte).await? == 0 {
            return Ok(None);
        }
        head.extend_from_slice(&byte);
    }
    let head = String::from_utf8(head)?;
    let mut lines = head.lines();
    let mut first = lines.next().unwrap_or_default().split(' ');
    let method = first.next().unwrap_or_default().parse()?;
    let target = first.next().unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let fields: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = fields.iter().find(|(name, _)| name == "content-length").and_then(|(_, value)| value.parse().ok());
    let mut body = vec![0; length.unwrap_or_default()];
    stream.read_exact(&mut body).await?;
    let kept = |name: &str| matches!(name, "content-type" | "accept");
    let headers = fields.into_iter().filter(|(name, _)| kept(name)).collect();
    Ok(Some(Asked { method, path: path.to_owned(), query: query.to_owned(), headers, body }))
}

async fn begin(stream: &mut TcpStream, code: u16) -> anyhow::Result<()> {
    let head = format!("HTTP/1.1 {code} X\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n");
    Ok(stream.write_all(head.as_bytes()).await?)
}

async fn chunk(stream: &mut TcpStream, bytes: &[u8]) -> anyhow::Result<()> {
    if bytes.is_empty() {
        // An empty chunk would be the end.
        return Ok(());
    }
    stream.write_all(format!("{:x}\r\n", bytes.len()).as_bytes()).await?;
    stream.write_all(bytes).await?;
    Ok(stream.write_all(b"\r\n").await?)
}

async fn answer(stream: &mut TcpStream, lie: &Lie) -> anyhow::Result<()> {
    begin(stream, lie.code).await?;
    for part in &lie.body {
        match part {
            Part::Text(text) => chunk(stream, text.as_bytes()).await?,
            Part::Repeat(piece, times) => {
                // Many pieces at once: a chunk of a few bytes each would make the test slow, not the broker.
                let together = ((1 << 16) / piece.len().max(1)).clamp(1, *times);
                let block = piece.repeat(together);
                for _ in 0..times / together {
                    chunk(stream, block.as_bytes()).await?;
                }
                chunk(stream, piece.repeat(times % together).as_bytes()).await?;
            }
            Part::Hang => {
                // Until the client goes.
                let _ = stream.read(&mut [0]).await?;
                anyhow::bail!("the client has gone");
            }
        }
    }
    Ok(stream.write_all(b"0\r\n\r\n").await?)
}

/// To the real API server, and its answer back as it comes.
async fn hand_on(stream: &mut TcpStream, upstream: &Client, asked: Asked) -> anyhow::Result<()> {
    let target = if asked.query.is_empty() { asked.path } else { format!("{}?{}", asked.path, asked.query) };
    let mut request = Request::builder().method(asked.method).uri(target);
    for (name, value) in &asked.headers {
        request = request.header(name, value);
    }
    let response = upstream.send(request.body(Body::from(asked.body))?).boxed().await?;
    begin(stream, response.status().as_u16()).await?;
    let mut body = response.into_body();
    loop {
        let frame = tokio::select! {
            frame = body.frame() => frame,
            // The client has gone: so must the watch behind it.
            _ = stream.readable() => match stream.try_read(&mut [0]) {
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => continue,
                _ => anyhow::bail!("the client has gone"),
            },
        };
        let Some(frame) = frame else { break };
        if let Ok(data) = frame?.into_data() {
            chunk(stream, &data).await?;
        }
    }
    Ok(stream.write_all(b"0\r\n\r\n").await?)
}
