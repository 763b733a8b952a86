//! What one decision about a Migration looks at, and what comes out of it.

use std::{collections::BTreeSet, time::Duration};

use broker_api::{ClusterName, MigrationState};
use runtime_cel::expression::Evaluator;
use runtime_effect::{
    interest::Interest, kind::Kind, note::Note, now::Now, reach::Reach, seen::Seen, serving::Serving, view::View,
};

use super::configuration::Configuration;
use crate::{
    assignment::{KeyRing, Maker},
    decision::Write,
    memory::Memory,
    movement::Movement,
    snapshot::OriginKey,
};

/// The configuration that a Migration would run by if it began now.
#[derive(Debug, Clone, Copy)]
pub enum Applicable<'a> {
    /// Not all configurations are known.
    Unknown,
    /// None: there is nothing to do but the move itself.
    None,
    /// This one.
    Found(&'a Configuration),
    /// One that is not valid: what is wrong.
    Invalid(&'a str),
}

/// The objects of stages, and what they are made from, looked up on demand.
pub trait StageView {
    /// Whether objects of a namespace can be seen at all.
    fn reaches(&self, namespace: &str) -> bool;
    /// Whether and how the compute cluster serves a kind.
    fn serving(&self, kind: &Kind) -> Serving;
    /// An object in the compute cluster that carries the label `migration-id`.
    fn object(&self, kind: &Kind, namespace: &str, name: &str) -> Seen;
    /// All objects in the compute cluster that are labelled with this id, of the kinds that are watched.
    fn all(&self, id: &str) -> Vec<(Kind, View)>;
    /// Whether all labelled objects of these kinds are known. A kind that is not served has none.
    fn all_known(&self, kinds: &BTreeSet<Kind>) -> bool;
    /// A related object in a provider.
    fn source(&self, provider: &ClusterName, kind: &Kind, namespace: &str, name: &str) -> Seen;
}

/// All that one decision looks at.
pub struct Observed<'a> {
    /// The moment.
    pub now: Now,
    /// The Migration.
    pub object: &'a View,
    /// What is known of the move that it is about.
    pub movement: Movement,
    /// The origin whose copy moves, and its uid, if that is known.
    pub origin: Option<(&'a OriginKey, &'a str)>,
    /// The configuration for its kinds, as it is now. Counts only until the Migration begins.
    pub applicable: Applicable<'a>,
    /// The copy that is left.
    pub from: Seen,
    /// The copy that takes over.
    pub to: Seen,
    /// The coordination cluster, where the Migration is.
    pub coordination: ClusterName,
    /// The compute cluster, where stages run; may be the coordination cluster.
    pub compute: ClusterName,
    /// How it stands with the compute cluster.
    pub compute_reach: Reach,
    /// The objects of stages.
    pub stage: &'a dyn StageView,
    /// Kinds that related objects may have.
    pub related_kinds: &'a [Kind],
    /// Further namespaces that templates may name, besides the Migration's and the configuration's.
    pub stage_namespaces: &'a [String],
    /// Who made the Migration, as far as that is proven.
    pub maker: Maker,
    /// Signing keys.
    pub ring: &'a KeyRing,
    /// Evaluates expressions.
    pub evaluator: &'a Evaluator,
    /// What earlier decisions about this Migration left.
    pub memory: &'a Memory,
    /// How long it is kept once it has ended, in milliseconds.
    pub ttl_millis: u64,
}

/// What to do about one Migration now.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Decided {
    /// In this order; after the first failure no more. Then it is observed and decided again.
    pub writes: Vec<Write>,
    /// Where it stands, as far as is written.
    pub state: MigrationState,
    /// Kinds of stage objects to watch in the compute cluster.
    pub watches: BTreeSet<Kind>,
    /// What it recorded does not count: whatever is watched for it by now goes on being watched.
    pub distrusts: bool,
    /// Related objects in providers to listen to.
    pub interests: Vec<Interest>,
    /// To tell on the Migration now.
    pub notes: Vec<Note>,
    /// Look again after this time, even if nothing changes.
    pub again: Option<Duration>,
    /// Stages that end with these writes: name, how many milliseconds they took, and whether they succeeded.
    pub ended_stages: Vec<(String, u64, bool)>,
    /// Why it fails with these writes: CamelCase word, for metrics.
    pub failed: Option<&'static str>,
}
