//! `Snapshot`: all that one decision looks at, for one origin, at one moment.

use std::{collections::BTreeMap, fmt, sync::Arc};

use broker_api::ClusterName;
use runtime_cel::expression::Evaluator;
pub use runtime_effect::step::{Confirmed, Live};
use runtime_effect::{
    interest::Interest, kind::Kind, now::Now, reach::Reach, seen::Seen, serving::Serving, view::View,
};

use crate::{
    acceptance::{Acceptance, Applicant},
    assignment::{KeyRing, OriginRef},
    memory::OriginMemory,
    movement::{Configured, MigrationView, Route},
    naming::NameLimit,
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

impl fmt::Display for OriginKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}/{}", self.cluster, self.gvk.kind, self.namespace, self.name)
    }
}

impl OriginKey {
    /// Where the object is.
    pub fn place(&self) -> Interest {
        Interest {
            cluster: self.cluster.clone(),
            kind: (*self.gvk).clone(),
            namespace: self.namespace.to_string(),
            name: self.name.to_string(),
        }
    }

    /// What signatures about the object with this uid speak of.
    pub fn subject<'a>(&'a self, uid: &'a str) -> OriginRef<'a> {
        OriginRef {
            cluster: &self.cluster,
            group: &self.gvk.group,
            kind: &self.gvk.kind,
            namespace: &self.namespace,
            name: &self.name,
            uid,
        }
    }
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
    /// Whether they are as they were last seen. Where their kind is not served, or they may not be listed, nobody can say: such
    /// a provider keeps what it has and gets nothing new.
    pub acceptances_served: bool,
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
    pub may_move: &'a dyn Fn(&Route) -> bool,
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
    /// What a live read has just found: of the origin, or of a copy.
    pub confirmed: Option<Confirmed>,
    /// Whether copies at a provider may go because their origins are not there.
    pub brake: &'a dyn Fn(&ClusterName) -> Brake,
    /// The object is itself a copy that we made, in a cluster that is consumer and provider.
    pub is_copy: bool,
    /// Engaged providers, in order of names. Left out may be, and nothing is decided otherwise without it, a provider that is
    /// known to hold nothing under the copy's name, all of whose AcceptAPIs are known, of which none is among `acceptances`,
    /// that is not [`Reach::Settling`], and that neither the origin's annotations nor `migrations` name. Of one that is ready
    /// and does not serve the kind the first two are known.
    pub holders: Vec<Holder>,
    /// Providers at which there may be a copy that was to be made, and that nobody has seen.
    pub hidden: &'a [ClusterName],
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
    pub memory: &'a OriginMemory,
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
