//! `Snapshot`: all that one decision looks at, for one origin, at one moment.

use std::{collections::BTreeMap, fmt, sync::Arc};

use broker_api::{ClusterName, condition, keys};
use kube::core::GroupVersionKind;
use serde_json::Value;

use crate::{
    acceptance::{Acceptance, Applicant},
    assignment::{KeyRing, Subject},
    expression::Evaluator,
    memory::Memory,
    movement::{Configured, Lane, MigrationView},
    naming::NameLimit,
    schema::Schema,
};

/// A consumer object, by where it is. What has been there before under this name has the same key.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OriginKey {
    /// Consumer cluster.
    pub cluster: ClusterName,
    /// Its kind; shared among all origins of that kind.
    pub gvk: Arc<Kind>,
    /// Namespace.
    pub namespace: Arc<str>,
    /// Name.
    pub name: Arc<str>,
}

/// A group, version and kind that is ordered, so that keys are.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Kind {
    /// API group; empty for the core group.
    pub group: String,
    /// API version.
    pub version: String,
    /// Kind.
    pub kind: String,
}

impl Kind {
    /// As the Kubernetes client has it.
    pub fn to_gvk(&self) -> GroupVersionKind {
        GroupVersionKind::gvk(&self.group, &self.version, &self.kind)
    }

    /// `v1`, or `group/version`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }
}

impl From<&GroupVersionKind> for Kind {
    fn from(gvk: &GroupVersionKind) -> Self {
        Self { group: gvk.group.clone(), version: gvk.version.clone(), kind: gvk.kind.clone() }
    }
}

impl fmt::Display for OriginKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}/{}", self.cluster, self.gvk.kind, self.namespace, self.name)
    }
}

impl OriginKey {
    /// What signatures about the object with this uid speak of.
    pub fn subject<'a>(&'a self, uid: &'a str) -> Subject<'a> {
        Subject {
            cluster: &self.cluster,
            group: &self.gvk.group,
            kind: &self.gvk.kind,
            namespace: &self.namespace,
            name: &self.name,
            uid,
        }
    }
}

/// Why an object's content could not be taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unread {
    /// It nests deeper than what can be walked.
    Nested,
    /// It holds more values than are taken in.
    Complex,
}

impl Unread {
    /// The reason in conditions and Events.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Nested => condition::UNREADABLE,
            Self::Complex => condition::TOO_COMPLEX,
        }
    }

    /// What is wrong with it, and what to do.
    pub fn why(self) -> &'static str {
        match self {
            Self::Nested => "it nests 128 levels deep or deeper and cannot be read; make it flatter",
            Self::Complex => "it holds more than 200000 values and is not read; make it smaller",
        }
    }
}

/// An object as it was seen.
#[derive(Debug, Clone, PartialEq)]
pub struct View {
    /// `metadata.uid`.
    pub uid: Box<str>,
    /// `metadata.resourceVersion`.
    pub resource_version: u64,
    /// Whether `metadata.deletionTimestamp` is set.
    pub deleting: bool,
    /// Whether we are among its appliers (`metadata.managedFields`).
    pub applied_by_us: bool,
    /// The whole object; where it is [`View::unread`], its metadata and what of its status is small.
    pub value: Arc<Value>,
    /// Why the rest of it is not known: nothing may be concluded from what is not there, and nothing written over it.
    pub unread: Option<Unread>,
    /// Whether its `status.conditions` are known, as they are but where it is [`View::unread`].
    pub conditions_known: bool,
}

impl View {
    fn mark<'a>(&'a self, map: &str, key: &str) -> Option<&'a str> {
        self.value.get("metadata")?.get(map)?.get(key)?.as_str()
    }

    /// An annotation.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.mark("annotations", key)
    }

    /// A label.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.mark("labels", key)
    }

    /// `metadata.generation`, 0 where the kind has none.
    pub fn generation(&self) -> i64 {
        self.value["metadata"]["generation"].as_i64().unwrap_or_default()
    }

    /// Its finalizers.
    pub fn finalizers(&self) -> impl Iterator<Item = &str> {
        self.value["metadata"]["finalizers"].as_array().into_iter().flatten().filter_map(Value::as_str)
    }

    /// Whether the broker's finalizer is on it.
    pub fn has_finalizer(&self) -> bool {
        self.finalizers().any(|finalizer| finalizer == keys::FINALIZER)
    }

    /// `status`, if there is one.
    pub fn status(&self) -> Option<&Value> {
        self.value.get("status").filter(|status| status.as_object().is_some_and(|fields| !fields.is_empty()))
    }

    /// Labels and annotations of the form `key: "true"`.
    pub fn annotated_true(&self, key: &str) -> bool {
        self.annotation(key) == Some(keys::TRUE)
    }
}

/// What is known of an object. `Unknown` is never `Absent`.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Seen {
    /// Nobody can tell: not listed yet, or not reachable.
    #[default]
    Unknown,
    /// There is none.
    Absent,
    /// There is one.
    Present(View),
}

impl Seen {
    /// The object, if there is one.
    pub fn present(&self) -> Option<&View> {
        match self {
            Self::Present(view) => Some(view),
            Self::Unknown | Self::Absent => None,
        }
    }
}

/// What a live read of an origin found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Confirmed {
    /// Nobody has read it.
    #[default]
    Unread,
    /// There is no such object.
    Absent,
    /// The object with this uid.
    Present(Box<str>),
}

/// Whether copies of a consumer may be deleted because their origins are not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Brake {
    /// They may.
    #[default]
    Free,
    /// So many have lost their origins at once that a person has to confirm it.
    Held,
    /// It is being looked at.
    Unknown,
}

/// How it stands with a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// Requests go through.
    Ready,
    /// It has only just been engaged and will soon be known.
    Settling,
    /// Requests have not gone through for some moments: nothing to place there, nothing to tell anybody yet.
    Lost(String),
    /// Requests do not go through, and why.
    Unreachable(String),
}

/// A kind as one cluster serves it.
#[derive(Debug, Clone)]
pub struct KindView {
    /// Plural resource name.
    pub plural: String,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// Whether `status` is a subresource.
    pub has_status: bool,
    /// What it can hold; [`Schema::any`] where that is not known.
    pub schema: Arc<Schema>,
}

/// Whether a cluster serves the origin's kind.
#[derive(Debug, Clone)]
pub enum Serving {
    /// Not asked yet.
    Unknown,
    /// It does not.
    Missing,
    /// It does.
    Served(KindView),
}

/// A provider, as it concerns one origin.
#[derive(Debug, Clone)]
pub struct Holder {
    /// Which provider.
    pub provider: ClusterName,
    /// How it stands.
    pub reach: Reach,
    /// For how many milliseconds requests have not gone through; 0 while they do.
    pub silent_millis: u64,
    /// Whether and how it serves the kind.
    pub serving: Serving,
    /// What is there under the copy's name.
    pub copy: Seen,
    /// Whether all its AcceptAPIs are known, and which of them speak of the origin's kind.
    pub acceptances_known: bool,
    /// Why its objects or AcceptAPIs cannot be listed, if that is so.
    pub trouble: Option<String>,
}

impl Holder {
    /// The copy, if there is one and requests about it go through. What was last seen of a provider that does not
    /// answer proves things, but nothing can be done about it.
    pub fn reachable_copy(&self) -> Option<&View> {
        self.copy.present().filter(|_| self.reach == Reach::Ready)
    }
}

/// The moment of a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Now {
    /// Milliseconds since 1970 by a steady clock: whatever happens to the wall clock, a difference of two is a duration.
    pub millis: u64,
    /// When the process started, by the same clock.
    pub started: u64,
    /// What the wall clock says, as RFC 3339 with whole seconds, as conditions have it.
    pub text: String,
}

/// How far an API server's clock may be ahead of ours for its stamps to be taken for what has just been.
const AHEAD_MILLIS: u64 = 60_000;

impl Now {
    /// How many milliseconds have passed since a stamp, as far as this process has seen. A stamp of an earlier process is by
    /// another clock: one from before the start, or from the future, counts from the start.
    pub fn since(&self, stamp: u64) -> u64 {
        let from = if stamp > self.millis { self.started } else { stamp.max(self.started) };
        self.millis.saturating_sub(from)
    }

    /// The same of a stamp by an API server's clock, which may be somewhat ahead of ours: what is later by no more than
    /// [`AHEAD_MILLIS`] has just been.
    pub fn since_theirs(&self, stamp: u64) -> u64 {
        let ahead = stamp.saturating_sub(self.millis);
        if (1..=AHEAD_MILLIS).contains(&ahead) { 0 } else { self.since(stamp) }
    }
}

/// The related objects of one origin, looked up on demand.
pub trait RelatedView {
    /// An object in a provider.
    fn source(&self, provider: &ClusterName, kind: &Kind, namespace: &str, name: &str) -> Seen;
    /// A related copy of ours in the consumer cluster.
    fn target(&self, kind: &Kind, namespace: &str, name: &str) -> Seen;
    /// All related copies in the consumer cluster that belong to the origin with this uid.
    fn owned(&self, uid: &str) -> Vec<(Kind, View)>;
    /// Whether all related copies in the consumer cluster are known.
    fn owned_known(&self) -> bool;
}

/// How long moves wait for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Milliseconds that a provider may be out of the configuration before its objects are placed anew.
    pub orphan_grace: u64,
    /// Milliseconds that a new copy may take to become ready before another provider is chosen.
    pub ready_timeout: u64,
}

/// What concerns moves of one origin.
pub struct Moves<'a> {
    /// The coordination cluster, where Migrations are; `None` where there is none yet.
    pub coordination: Option<ClusterName>,
    /// Migrations about this origin, oldest first.
    pub migrations: Vec<MigrationView>,
    /// Whether these are all.
    pub migrations_known: bool,
    /// Whether a MigrationConfiguration speaks of the origin's kind.
    pub configured: Configured,
    /// Whether the origin's namespace is one where no Migration may be: it holds what is the broker's own.
    pub reserved: bool,
    /// For how many milliseconds a provider that is not engaged has been out of the configuration; `None`: it may be in it.
    pub absent: &'a dyn Fn(&ClusterName) -> Option<u64>,
    /// Whether one more may move.
    pub may_move: &'a dyn Fn(&Lane) -> bool,
    /// How long they wait for what.
    pub patience: Patience,
}

/// How much of what providers say is brought to consumers, in bytes of JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Of a status.
    pub status: u64,
    /// Of one related resource.
    pub related: u64,
    /// Of all related resources of one object.
    pub related_total: u64,
}

/// How many objects of one consumer there may be.
pub struct Quota<'a> {
    /// How many may be placed at all; `None`: any number.
    pub most: Option<u64>,
    /// Whether one more may be placed.
    pub has_room: &'a dyn Fn() -> bool,
    /// Whether one more may be placed by this AcceptAPI, of this consumer.
    pub has_room_at: &'a dyn Fn(&Acceptance) -> bool,
}

#[expect(clippy::struct_excessive_bools, reason = "each says one thing of the moment, and any may be so with any")]
/// All that one decision looks at.
pub struct Snapshot<'a> {
    /// Which origin.
    pub key: &'a OriginKey,
    /// The moment.
    pub now: Now,
    /// How it stands with the consumer cluster.
    pub consumer: Reach,
    /// The kind there.
    pub consumer_kind: Serving,
    /// The labels that the platform has given to the consumer cluster; `None` where they cannot be read.
    pub consumer_labels: Option<Arc<BTreeMap<String, String>>>,
    /// The object itself.
    pub origin: Seen,
    /// What a live read has just found under the origin's name.
    pub confirmed: Confirmed,
    /// Whether copies at a provider may go because their origins are not there.
    pub brake: &'a dyn Fn(&ClusterName) -> Brake,
    /// The object is itself a copy that we made, in a cluster that is consumer and provider.
    pub is_copy: bool,
    /// Every engaged provider, in order of names.
    pub holders: Vec<Holder>,
    /// AcceptAPIs of all providers for the resource that the origin's kind is at their own provider.
    pub acceptances: &'a [Arc<Acceptance>],
    /// Whether an AcceptAPI has room for one more; `None`: what its provider holds is not known.
    pub has_room: &'a dyn Fn(&Acceptance) -> Option<bool>,
    /// Whether all that was there at the start has been looked at.
    pub synced: bool,
    /// Whether others wait for their turn: then what can wait does.
    pub busy: bool,
    /// How many objects the consumer may have.
    pub quota: Quota<'a>,
    /// How much of what providers say is brought.
    pub limits: Limits,
    /// What concerns moves.
    pub moves: Moves<'a>,
    /// Whether people are not told which providers refuse, and by which rules.
    pub brief: bool,
    /// Signing keys.
    pub ring: &'a KeyRing,
    /// Evaluates expressions.
    pub evaluator: &'a Evaluator,
    /// Kinds that related objects may have.
    pub related_kinds: &'a [Kind],
    /// Related objects.
    pub related: &'a dyn RelatedView,
    /// What earlier decisions left.
    pub memory: &'a Memory,
}

impl Snapshot<'_> {
    /// A provider by its name without role.
    pub fn holder(&self, provider: &str) -> Option<&Holder> {
        self.holders.iter().find(|holder| holder.provider.name() == provider)
    }

    /// The origin as AcceptAPIs judge it.
    pub fn applicant<'o>(&'o self, origin: &'o View) -> Applicant<'o> {
        Applicant {
            object: &origin.value,
            kind: &self.key.gvk,
            namespace: &self.key.namespace,
            consumer: &self.key.cluster,
            labels: self.consumer_labels.as_deref(),
        }
    }

    /// How long names of the origin's kind may be. Services become DNS labels.
    pub fn name_limit(&self) -> NameLimit {
        name_limit(&self.key.gvk)
    }
}

/// How long names of a kind may be.
pub fn name_limit(kind: &Kind) -> NameLimit {
    if kind.group.is_empty() && matches!(kind.kind.as_str(), "Service" | "Namespace") {
        NameLimit::Label
    } else {
        NameLimit::Subdomain
    }
}
