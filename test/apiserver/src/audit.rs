//! `Audit`: who asked for what, a line each, as kube-apiserver writes them.

use std::{
    fs::{File, OpenOptions},
    io::Write as _,
    path::Path,
    sync::{Mutex, PoisonError},
    time::SystemTime,
};

use anyhow::Context as _;
use http::{HeaderMap, Method, header, request::Parts};
use k8s_openapi::jiff::{Timestamp, fmt::temporal::DateTimePrinter};
use serde_json::{Value, json};
use sim::Target;

use crate::roles::within;

/// An audit log.
#[derive(Debug)]
pub(crate) struct Audit(Mutex<File>);

/// A request, before it is answered.
#[derive(Debug)]
pub(crate) struct Entry(Value);

impl Entry {
    /// What is asked, by whom, from now on.
    pub(crate) fn of(head: &Parts, target: Option<&Target>, user: &str) -> Self {
        let verb = target.map_or_else(|| head.method.as_str().to_lowercase(), |target| verb(target, head));
        let mut entry = json!({
            "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Metadata",
            "requestURI": head.uri.path_and_query().map(ToString::to_string),
            "verb": verb, "user": {"username": user}, "userAgent": text(&head.headers),
            "requestReceivedTimestamp": now(),
        });
        if let Some(target) = target {
            let Target { group, version, plural, name, subresource, .. } = target;
            entry["objectRef"] = json!({"apiGroup": group, "apiVersion": version, "resource": plural,
                "subresource": subresource, "namespace": within(target), "name": name});
        }
        Self(entry)
    }

    /// What is to be done.
    pub(crate) fn verb(&self) -> &str {
        self.0["verb"].as_str().unwrap_or_default()
    }
}

fn text(headers: &HeaderMap) -> &str {
    headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

fn verb(target: &Target, head: &Parts) -> String {
    let all = target.name.is_empty();
    let query = head.uri.query().unwrap_or_default();
    let watches = sim::watches(query);
    let verb = match head.method {
        Method::GET if watches => "watch",
        Method::GET if all => "list",
        Method::GET => "get",
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE if all => "deletecollection",
        Method::DELETE => "delete",
        ref other => return other.as_str().to_lowercase(),
    };
    verb.to_owned()
}

/// With microseconds, all six of them.
fn now() -> String {
    let now = Timestamp::try_from(SystemTime::now()).unwrap_or_default();
    DateTimePrinter::new().precision(Some(6)).timestamp_to_string(&now)
}

impl Audit {
    /// Goes on with a file, or begins it.
    pub(crate) fn append(path: &Path) -> anyhow::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path).context("--audit-log-path")?;
        Ok(Self(Mutex::new(file)))
    }

    /// A request was answered, or, of a watch, begins to be.
    pub(crate) fn add(&self, Entry(mut entry): Entry, code: u16, message: &str) {
        let stage = if entry["verb"] == "watch" { "ResponseStarted" } else { "ResponseComplete" };
        entry["stage"] = json!(stage);
        entry["stageTimestamp"] = json!(now());
        entry["responseStatus"] = json!({"code": code});
        if !message.is_empty() {
            entry["responseStatus"]["message"] = json!(message);
        }
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // In one piece: whoever reads takes only whole lines.
        if let Err(error) = file.write_all(format!("{entry}\n").as_bytes()) {
            eprintln!("the audit log cannot be written: {error}");
        }
    }
}
