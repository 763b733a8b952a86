//! What one decision about an RGD looks at.

use std::{collections::BTreeMap, sync::Arc};

use broker_api::ClusterName;
use runtime_effect::{kind::Kind, memory::Memory, now::Now, seen::Seen, view::View};
use serde_json::Value;

use super::{decision::Subject, instance::Instance};

/// All that one decision looks at. What is not known is `Unknown`, never absent.
#[derive(Debug, Clone)]
pub struct Snapshot<'a> {
    /// Where the RGD is, and all that is written about it.
    pub cluster: &'a ClusterName,
    /// Its name.
    pub name: &'a str,
    /// The RGD.
    pub rgd: &'a Seen,
    /// What came of compiling the spec of that very RGD.
    pub outcome: &'a Compilation,
    /// Its revisions.
    pub revisions: Revisions<'a>,
    /// The CRD that has the name of its own, see [`super::crd_name`]: the whole of it, whoever made it.
    pub crd: &'a Seen,
    /// The instances, asked for only while an RGD is deleted with [`Flags::allow_crd_deletion`].
    pub instances: Instances<'a>,
    /// How serving its instances goes.
    pub controller: Controller,
    /// How it gets to other clusters.
    pub distributed: &'a Distributed,
    /// Where an RGD that is being deleted is still to be taken away.
    pub elsewhere: &'a Elsewhere,
    /// What is remembered of its writes.
    pub memory: &'a Memory<Subject>,
    /// What the controller was started with.
    pub flags: Flags<'a>,
    /// The moment.
    pub now: &'a Now,
}

/// What the controller was started with.
#[derive(Debug, Clone, Copy)]
pub struct Flags<'a> {
    /// How many revisions of an RGD are kept; at least one is.
    pub max_revisions: usize,
    /// Numbers of revisions that stay, however old: some cluster runs them, or is to. `None`: nobody knows, and all stay.
    pub kept: Option<&'a [i64]>,
    /// Whether the CRD and all instances go with the RGD.
    pub allow_crd_deletion: bool,
    /// Version of the controller, as it is told on objects.
    pub version: &'a str,
}

/// What came of compiling a spec.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Compilation {
    /// It has not been compiled yet.
    #[default]
    Pending,
    /// It compiles.
    Compiled(Arc<Graph>),
    /// It does not, and will not until it is edited; for people.
    Invalid(String),
    /// It does not, and may once one of these kinds is served.
    WaitsFor {
        /// Kinds of which at least one is not served.
        kinds: Vec<Kind>,
        /// For people.
        message: String,
    },
}

impl Compilation {
    /// The graph, if it compiles.
    pub fn graph(&self) -> Option<&Graph> {
        match self {
            Self::Compiled(graph) => Some(graph),
            Self::Pending | Self::Invalid(_) | Self::WaitsFor { .. } => None,
        }
    }

    /// Why it does not compile, if that is known.
    pub fn problem(&self) -> Option<&str> {
        match self {
            Self::Invalid(message) | Self::WaitsFor { message, .. } => Some(message),
            Self::Pending | Self::Compiled(_) => None,
        }
    }
}

/// What decisions need to know of a compiled spec.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Graph {
    /// Ids of its nodes, those that others need before those.
    pub topological_order: Vec<String>,
    /// What each node depends on. Those that depend on nothing may be left out.
    pub dependencies: BTreeMap<String, Vec<String>>,
    /// The CRD that is wanted, as [`crate::crd::desired`] makes it.
    pub crd: Value,
}

/// What is known of an RGD's revisions.
#[derive(Debug, Clone, Copy, Default)]
pub enum Revisions<'a> {
    /// They are not listed yet.
    #[default]
    Unknown,
    /// All of which `spec.snapshot.name` is the RGD's name, in any order.
    Known {
        /// The revisions.
        list: &'a [Revision],
        /// They were read from the API server itself after the RGD was, not from what a watch has told so far.
        confirmed: bool,
    },
}

/// A GraphRevision, and what came of compiling its snapshot.
#[derive(Debug, Clone, PartialEq)]
pub struct Revision {
    /// The object.
    pub view: View,
    /// What came of compiling its snapshot. May be [`Compilation::Pending`] for good for those that nobody asks for, see
    /// [`super::Decision::compile`], and for the newest when it says what the RGD says.
    pub outcome: Compilation,
}

/// What is known of an RGD's instances.
#[derive(Debug, Clone, Copy, Default)]
pub enum Instances<'a> {
    /// Not listed.
    #[default]
    Unknown,
    /// All of them.
    Known(&'a [Instance]),
}

/// Other clusters from which an RGD that is being deleted is to be taken away first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Elsewhere {
    /// There are none.
    #[default]
    Nowhere,
    /// Not known yet.
    Unknown,
    /// Some of their names.
    In(String),
}

/// How an RGD gets to other clusters, as its condition says it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Distributed {
    /// It does not: nothing is said.
    #[default]
    Off,
    /// Not known yet: what was said stands.
    Unknown,
    /// To all of them.
    All(String),
    /// It is under way.
    Progressing(String),
    /// Not to all of them.
    Partial(String),
}

/// How serving an RGD's instances goes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Controller {
    /// As it should, or nobody has tried yet.
    #[default]
    Running,
    /// They are being listed for the first time.
    Starting,
    /// They cannot be watched; for people.
    FailedToStart(String),
    /// Their labels cannot be made; for people.
    FailedLabels(String),
}
