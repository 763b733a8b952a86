//! Who asked the API server for what: the audit log, read back and counted.
//!
//! The server writes one line per request when it has answered, and for a watch one line when it begins. Which is why
//! a count is exact only after [`AuditLog::settle`].

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use serde::Deserialize;

use crate::cluster::Cluster;
use crate::port::random;
use crate::users::LAB;
use crate::wait_for;

/// Query parameter of the requests that [`AuditLog::settle`] makes, and by which they are left out of counts.
const MARKER: &str = "harness-settle";
const SETTLE_DEADLINE: Duration = Duration::from_secs(20);

/// Everything at `Metadata` level, but for the API server's requests to itself. `RequestReceived` would only say every
/// request twice.
pub(crate) const POLICY: &str = "\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  users: [system:apiserver]
- level: Metadata
";

/// A position in an audit log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    /// Bytes from the beginning of the file.
    offset: u64,
}

impl Mark {
    /// The beginning of every log.
    pub const START: Self = Self { offset: 0 };
}

/// One request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEvent {
    /// Name of the user.
    pub user: String,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`; for paths that are no
    /// resources (`/version`, `/openapi/v3`, discovery) the HTTP method in small letters.
    pub verb: String,
    /// API group; empty for the core group and for paths that are no resources.
    pub group: String,
    /// Plural name; empty for paths that are no resources.
    pub resource: String,
    /// `status`, …; mostly empty.
    pub subresource: String,
    /// Namespace; empty where there is none.
    pub namespace: String,
    /// Object's name; empty for a list, a watch and mostly for a create.
    pub name: String,
    /// HTTP status of the answer.
    pub code: u16,
    /// What the answer says where the request failed; mostly empty.
    pub message: String,
    /// The client's `User-Agent`.
    pub user_agent: String,
    /// Path and query.
    pub uri: String,
    /// When the request arrived, by the server's clock.
    pub received: Timestamp,
    /// When it was answered; for a watch, when it began.
    pub timestamp: Timestamp,
}

impl AuditEvent {
    /// Whether the verb changes something, successful or not.
    pub fn is_write(&self) -> bool {
        !matches!(self.verb.as_str(), "get" | "list" | "watch" | "head" | "options")
    }
}

/// Requests in the order of the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditEvents(Vec<AuditEvent>);

impl AuditEvents {
    /// Those of one user.
    #[must_use]
    pub fn of(&self, user: &str) -> Self {
        self.only(|event| event.user == user)
    }

    /// Those that change something: see [`AuditEvent::is_write`].
    #[must_use]
    pub fn writes(&self) -> Self {
        self.only(AuditEvent::is_write)
    }

    /// Those that only read, watches included.
    #[must_use]
    pub fn reads(&self) -> Self {
        self.only(|event| !event.is_write())
    }

    /// Those on one resource, by its plural name (`certificates`), whatever the group and subresource.
    #[must_use]
    pub fn on(&self, resource: &str) -> Self {
        self.only(|event| event.resource == resource)
    }

    /// Those for which `keep` is true.
    #[must_use]
    pub fn only(&self, keep: impl Fn(&AuditEvent) -> bool) -> Self {
        Self(self.0.iter().filter(|event| keep(event)).cloned().collect())
    }

    /// How many, by user and verb.
    pub fn counts(&self) -> BTreeMap<(String, String), usize> {
        let mut counts = BTreeMap::new();
        for event in &self.0 {
            *counts.entry((event.user.clone(), event.verb.clone())).or_default() += 1;
        }
        counts
    }
}

impl Deref for AuditEvents {
    type Target = [AuditEvent];

    fn deref(&self) -> &[AuditEvent] {
        &self.0
    }
}

impl IntoIterator for AuditEvents {
    type Item = AuditEvent;
    type IntoIter = std::vec::IntoIter<AuditEvent>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// The audit log of one cluster.
#[derive(Clone, Debug)]
pub struct AuditLog {
    path: PathBuf,
    cluster: Cluster,
}

impl AuditLog {
    pub(crate) fn new(path: PathBuf, cluster: Cluster) -> Self {
        Self { path, cluster }
    }

    /// The file, as the API server writes it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The end of the log as it is now. Answered requests may still be missing from it: [`AuditLog::settle`] is exact.
    pub fn mark(&self) -> Mark {
        // No file yet: nothing was asked yet.
        let offset = self.path.metadata().map_or(0, |metadata| metadata.len());
        Mark { offset }
    }

    /// Waits until the log holds every request that was answered before this call, and returns the mark behind them.
    ///
    /// It makes requests of its own as user `lab` and waits for their lines. Two, one after the other: the server may
    /// still be writing the line of a long answer that its client has read.
    ///
    /// # Errors
    /// When the API server does not answer, or its line is not there after some seconds.
    pub async fn settle(&self) -> anyhow::Result<Mark> {
        let client = self.cluster.client(LAB).await?;
        self.marker(&client).await?;
        self.marker(&client).await
    }

    /// Makes one request that can be recognised, and returns the mark behind its line.
    async fn marker(&self, client: &Client) -> anyhow::Result<Mark> {
        let start = self.mark();
        let marker = format!("{MARKER}={:016x}", random());
        let request = http::Request::get(format!("/livez/ping?{marker}")).body(Vec::new())?;
        client.request_text(request).await.context("the marker request failed, so the audit log cannot be settled")?;
        wait_for(SETTLE_DEADLINE, "the marker in the audit log", async || {
            let lines = self.lines_since(start)?;
            let mut offset = start.offset;
            for line in lines.split_inclusive('\n') {
                offset += line.len() as u64;
                if line.contains(&marker) {
                    return Ok(Mark { offset });
                }
            }
            anyhow::bail!("{} bytes without it", lines.len())
        })
        .await
    }

    /// The requests in the log behind `mark`, without those of [`AuditLog::settle`].
    ///
    /// A watch counts when it begins; the line about its end is left out, so that one begun before the mark is not
    /// taken for a new one when it ends.
    ///
    /// # Errors
    /// When the log cannot be read, or holds a line that is no audit event.
    pub fn requests_since(&self, mark: Mark) -> anyhow::Result<AuditEvents> {
        let mut events = Vec::new();
        for line in self.lines_since(mark)?.lines() {
            let line: Line = serde_json::from_str(line).with_context(|| format!("not an audit event: {line}"))?;
            let counted_stage = if line.verb == "watch" { "ResponseStarted" } else { "ResponseComplete" };
            let ours = line.user.username == LAB && line.request_uri.contains(MARKER);
            if line.stage == counted_stage && !ours {
                events.push(line.into());
            }
        }
        Ok(AuditEvents(events))
    }

    /// [`AuditLog::settle`], then [`AuditLog::requests_since`]: every request answered after `mark` and before this call.
    pub async fn settled_since(&self, mark: Mark) -> anyhow::Result<AuditEvents> {
        self.settle().await?;
        self.requests_since(mark)
    }

    /// The whole lines behind a mark; one that is still being written is left for later.
    fn lines_since(&self, mark: Mark) -> anyhow::Result<String> {
        let read = || {
            let mut file = File::open(&self.path)?;
            file.seek(SeekFrom::Start(mark.offset))?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            Ok::<_, std::io::Error>(bytes)
        };
        let mut bytes = match read() {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", self.path.display()));
            }
        };
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        bytes.truncate(whole);
        String::from_utf8(bytes).context("the audit log is not UTF-8")
    }
}

/// A line of the log: `Event` of `audit.k8s.io/v1`, as far as it is read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    stage: String,
    #[serde(rename = "requestURI")]
    request_uri: String,
    verb: String,
    user: LineUser,
    #[serde(default)]
    user_agent: String,
    #[serde(default)]
    object_ref: ObjectRef,
    #[serde(default)]
    response_status: ResponseStatus,
    request_received_timestamp: Timestamp,
    stage_timestamp: Timestamp,
}

#[derive(Deserialize)]
struct LineUser {
    #[serde(default)]
    username: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ObjectRef {
    api_group: String,
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ResponseStatus {
    code: u16,
    message: String,
}

impl From<Line> for AuditEvent {
    fn from(line: Line) -> Self {
        Self {
            user: line.user.username,
            verb: line.verb,
            group: line.object_ref.api_group,
            resource: line.object_ref.resource,
            subresource: line.object_ref.subresource,
            namespace: line.object_ref.namespace,
            name: line.object_ref.name,
            code: line.response_status.code,
            message: line.response_status.message,
            user_agent: line.user_agent,
            uri: line.request_uri,
            received: line.request_received_timestamp,
            timestamp: line.stage_timestamp,
        }
    }
}
