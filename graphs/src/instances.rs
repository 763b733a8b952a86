//! Instances: the children of each are kept as its graph says.

pub mod generated;
pub mod groups;
pub mod listen;
pub mod machine;
pub mod records;
pub mod references;
pub mod world;

use std::{fmt, sync::Arc};

use broker_api::ClusterName;
use graphs_core::applyset::GroupKind;
use runtime_fleet::{
    object::ObjectKey,
    queue::{Key, Queue},
};

use self::{generated::Generated, records::Records, references::References};
use crate::{graphs::Graphs, watches::Need};

/// An instance.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InstanceKey {
    /// The cluster that it is in.
    pub cluster: ClusterName,
    /// Its kind, in whatever version.
    pub kind: Arc<GroupKind>,
    /// Its namespace, empty where it has none, and its name.
    pub object: ObjectKey,
}

impl fmt::Display for InstanceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.object)
    }
}

impl Key for InstanceKey {
    fn lane(&self) -> &ClusterName {
        &self.cluster
    }
}

/// Instances, and those of them to look at.
#[derive(Default)]
pub struct Instances {
    queue: Arc<Queue<InstanceKey>>,
    /// What is remembered of them.
    pub records: Records,
    /// To what they refer.
    pub references: References,
    /// Their kinds.
    pub generated: Generated,
}

impl Instances {
    /// Those to look at.
    pub fn queue(&self) -> &Arc<Queue<InstanceKey>> {
        &self.queue
    }

    /// Looks at one.
    pub fn enqueue(&self, key: InstanceKey) {
        self.queue().add(key);
    }

    /// Looks at all of a kind.
    pub fn enqueue_kind(&self, cluster: &ClusterName, kind: &GroupKind) {
        for key in self.records.of_kind(cluster, kind) {
            self.enqueue(key);
        }
    }

    /// Looks at all of a cluster.
    pub fn enqueue_of(&self, cluster: &ClusterName) {
        for key in self.records.of_cluster(cluster) {
            self.enqueue(key);
        }
    }
}

impl Graphs {
    /// The watch of instances of a kind; `None`: no CRD of ours defines it.
    pub(crate) fn instances_by(&self, key: &InstanceKey) -> Option<(runtime_effect::kind::Kind, Need)> {
        let kind = self.instances.generated.version(&key.cluster, &key.kind)?;
        Some((kind.clone(), Need::Instances(kind)))
    }
}
