//! `Side`: the model, or the real API server.

use std::{collections::HashMap, sync::Arc, time::Duration};

use harness::{Cluster, Lab, wait_for};
use http::{Request, header};
use http_body_util::BodyExt as _;
use kube::client::Body;
use runtime_fleet::dial::{Content, Sends};
use serde_json::{Value, json};
use sim::ApiServer;
use tower::ServiceExt as _;

use crate::{
    canonical::Canonical,
    sequence::{JSON, LAST, Sequence, Step},
};

const LIMIT: Duration = Duration::from_mins(1);

#[derive(Clone)]
pub(crate) struct Side {
    pub(crate) sends: Sends,
    /// The model, whose controllers work when they are told to.
    pub(crate) model: Option<ApiServer>,
    /// The real API server, and where its store is.
    pub(crate) real: Option<Arc<(Cluster, Lab)>>,
    /// Garbage is collected: by a controller manager, which other servers have not.
    pub(crate) collects: bool,
}

/// What was said to a step.
pub(crate) struct Said {
    pub(crate) step: String,
    pub(crate) answer: Value,
}

/// A sequence on its way through one side.
struct Run<'a> {
    side: &'a Side,
    namespace: &'a str,
    answers: HashMap<String, Value>,
    watches: HashMap<String, Events>,
}

/// The events of a watch, line by line.
struct Events {
    body: Option<Content>,
    rest: Vec<u8>,
}

impl Events {
    async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                return Some(serde_json::from_slice(&line).unwrap());
            }
            let frame = tokio::time::timeout(LIMIT, self.body.as_mut()?.frame()).await.expect("an event in time");
            match frame {
                Some(Ok(frame)) => self.rest.extend(frame.into_data().unwrap_or_default()),
                Some(Err(_)) | None => self.body = None,
            }
        }
    }

    /// All but bookmarks, up to the last object or the end.
    async fn told(&mut self) -> Vec<Value> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            let annotations = &event["object"]["metadata"]["annotations"];
            if event["type"] == "BOOKMARK" && annotations["k8s.io/initial-events-end"].is_null() {
                continue;
            }
            let is_last = event["object"]["metadata"]["name"] == LAST;
            events.push(event);
            if is_last {
                break;
            }
        }
        // How far a bookmark has come is the API server's own.
        for event in events.iter_mut().filter(|event| event["type"] == "BOOKMARK") {
            event["object"]["metadata"]["resourceVersion"] = json!("*");
        }
        events
    }
}

impl Side {
    pub(crate) async fn open(&self, request: Request<Body>) -> (u16, Content) {
        let response = self.sends.clone().oneshot(request).await.expect("an answer");
        (response.status().as_u16(), response.into_body())
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> (u16, Value) {
        let (code, body) = self.open(request).await;
        let bytes = body.collect().await.expect("a whole answer").to_bytes();
        let text = || json!(String::from_utf8_lossy(&bytes).trim());
        (code, serde_json::from_slice(&bytes).unwrap_or_else(|_| text()))
    }

    pub(crate) async fn get(&self, path: &str) -> (u16, Value) {
        self.send(request("GET", path, JSON, JSON, &Value::Null)).await
    }

    /// What this side says to each step, in the form in which it is compared.
    pub(crate) async fn run(&self, sequence: &Sequence, namespace: &str) -> Vec<Said> {
        let mut run = Run { side: self, namespace, answers: HashMap::new(), watches: HashMap::new() };
        let mut canonical = Canonical::default();
        let mut said = Vec::new();
        for (at, step) in sequence.steps.iter().enumerate() {
            let (step, answer) = run.step(at, step).await;
            said.push(Said { step, answer: canonical.of(answer) });
        }
        said
    }
}

pub(crate) fn request(method: &str, path: &str, content_type: &str, accept: &str, body: &Value) -> Request<Body> {
    let bytes = if body.is_null() { Vec::new() } else { serde_json::to_vec(body).unwrap() };
    let request = Request::builder().method(method).uri(path);
    let request = request.header(header::CONTENT_TYPE, content_type).header(header::ACCEPT, accept);
    request.header(header::USER_AGENT, "conformance/1").body(Body::from(bytes)).unwrap()
}

/// The schema of a kind, with what it refers to in place, and without descriptions.
fn published(document: &Value, kind: &str) -> Option<Value> {
    let schemas = document["components"]["schemas"].as_object()?;
    let is_of = |schema: &&Value| {
        schema["x-kubernetes-group-version-kind"].as_array().into_iter().flatten().any(|of| of["kind"] == kind)
    };
    schemas.values().find(is_of).map(|schema| inline(schema, schemas))
}

fn inline(schema: &Value, all: &serde_json::Map<String, Value>) -> Value {
    match schema {
        Value::Object(fields) => {
            if let Some(target) = fields.get("$ref").and_then(Value::as_str) {
                return inline(&all[target.rsplit('/').next().unwrap()], all);
            }
            let told = fields.iter().filter(|(name, value)| !(*name == "description" && value.is_string()));
            told.map(|(name, value)| (name.clone(), inline(value, all))).collect()
        }
        Value::Array(items) => items.iter().map(|item| inline(item, all)).collect(),
        other => other.clone(),
    }
}

impl Run<'_> {
    fn fill(&self, text: &str) -> String {
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            filled.push_str(before);
            let (reference, after) = after.split_once('}').expect("a closing brace");
            let (answer, pointer) = reference.split_once('#').expect("a pointer");
            let found = self.answers.get(answer).and_then(|answer| answer.pointer(pointer));
            let none = if pointer.ends_with("uid") { "11111111-2222-4333-8444-555555555555" } else { "1" };
            filled.push_str(found.and_then(Value::as_str).unwrap_or(none));
            rest = after;
        }
        filled.push_str(rest);
        filled.replace("{ns}", self.namespace)
    }

    fn fill_value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => json!(self.fill(text)),
            Value::Array(items) => items.iter().map(|item| self.fill_value(item)).collect(),
            Value::Object(fields) => {
                fields.iter().map(|(name, value)| (self.fill(name), self.fill_value(value))).collect()
            }
            other => other.clone(),
        }
    }

    async fn step(&mut self, at: usize, step: &Step) -> (String, Value) {
        match step {
            Step::Call { method, path, content_type, accept, body } => {
                let (path, body) = (self.fill(path), self.fill_value(body));
                let (code, answer) = self.side.send(request(method, &path, content_type, accept, &body)).await;
                self.answers.insert(at.to_string(), answer.clone());
                if code < 300 && answer["kind"] != "Status" && answer["metadata"]["uid"].is_string() {
                    let collection = path.split('?').next().unwrap_or_default();
                    let name = answer["metadata"]["name"].as_str().unwrap_or_default();
                    let steps: Vec<&str> =
                        collection.split('/').filter(|step| !["status", name].contains(step)).collect();
                    self.answers.insert(format!("{}/{name}", steps.last().unwrap()), answer.clone());
                }
                (format!("{method} {path} {body}"), json!({"code": code, "body": answer}))
            }
            Step::Until { path, pointer, value } => {
                let path = self.fill(path);
                (format!("until {path} has {value} at {pointer}"), self.until(&path, pointer, value).await)
            }
            Step::Published { path, kind } => {
                let found = async || {
                    let (_, document) = self.side.get(path).await;
                    published(&document, kind).ok_or("it is not published")
                };
                let schema = wait_for(LIMIT, kind, found).await.unwrap();
                (format!("what {path} says of {kind}"), schema)
            }
            Step::Watch { name, path, accept } => {
                let path = self.fill(path);
                let (code, body) = self.side.open(request("GET", &path, JSON, accept, &Value::Null)).await;
                let mut said = json!({"code": code});
                if code >= 300 {
                    let bytes = body.collect().await.unwrap().to_bytes();
                    said["body"] = serde_json::from_slice(&bytes).unwrap_or_default();
                } else {
                    self.watches.insert(name.clone(), Events { body: Some(body), rest: Vec::new() });
                }
                (format!("watch {path}"), said)
            }
            Step::Told { name, path, body } => {
                let path = self.fill(path);
                let (code, answer) = self.side.send(request("POST", &path, JSON, JSON, &self.fill_value(body))).await;
                assert!(code == 201, "the last object: {answer}");
                let events = self.watches.get_mut(name).expect("a watch").told().await;
                (format!("what watch {name} tells"), json!(events))
            }
            Step::Ended { name } => {
                let events = self.watches.get_mut(name).expect("a watch").told().await;
                (format!("what watch {name} tells until it ends"), json!(events))
            }
            Step::Forget => {
                if let Some(model) = &self.side.model {
                    model.restore(&model.saved()).unwrap();
                }
                if let Some((cluster, lab)) = self.side.real.as_deref() {
                    // What etcd has forgotten an API server remembers until it ends.
                    lab.compact().await.unwrap();
                    cluster.start_again().await.unwrap();
                }
                ("what was is forgotten".to_owned(), Value::Null)
            }
        }
    }

    /// Where the model is asked, its controllers have done all they can; elsewhere they are waited for.
    async fn until(&self, path: &str, pointer: &str, value: &Value) -> Value {
        if let Some(model) = &self.side.model {
            model.settle();
            if self.side.collects {
                model.collect_garbage();
                model.settle();
            }
        }
        let look = async || {
            let (code, answer) = self.side.get(path).await;
            let found = answer.pointer(pointer).cloned().unwrap_or_default();
            let reached = if value.is_null() { code == 404 } else { code == 200 && found == *value };
            if reached { Ok(answer) } else { Err(format!("{code}: {answer}")) }
        };
        let limit = if self.side.model.is_some() { Duration::from_millis(1) } else { LIMIT };
        let reached = wait_for(limit, path, look).await;
        match reached {
            Ok(answer) => json!({"reached": true, "kind": answer["kind"]}),
            Err(error) => json!({"reached": false, "error": error.to_string()}),
        }
    }
}
