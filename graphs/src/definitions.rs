//! RGDs: each is compiled, recorded as a revision, made a CRD, and served.

pub mod listen;
pub mod machine;
pub mod observe;
pub mod records;
pub mod revisions;

use std::{fmt, sync::Arc};

use broker_api::ClusterName;
use runtime_effect::kind::Kind;
use runtime_fleet::queue::{Key, Queue};

use self::records::Records;
/// An RGD.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DefinitionKey {
    /// The cluster that it is in.
    pub cluster: ClusterName,
    /// Its name.
    pub name: Arc<str>,
}

impl fmt::Display for DefinitionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl Key for DefinitionKey {
    fn lane(&self) -> &ClusterName {
        &self.cluster
    }
}

/// RGDs, and those of them to look at.
#[derive(Default)]
pub struct Definitions {
    queue: Arc<Queue<DefinitionKey>>,
    /// What is remembered of them.
    pub records: Records,
}

impl Definitions {
    /// Those to look at.
    pub fn queue(&self) -> &Arc<Queue<DefinitionKey>> {
        &self.queue
    }

    /// Looks at one.
    pub fn enqueue(&self, key: DefinitionKey) {
        self.queue().add(key);
    }

    /// Looks at all that are known.
    pub fn enqueue_all(&self) {
        for key in self.records.all() {
            self.enqueue(key);
        }
    }

    /// A kind is served in another way: those that use it are compiled again.
    pub fn kind_changed(&self, cluster: &ClusterName, kind: &Kind) {
        for key in self.records.stale(cluster, kind) {
            self.enqueue(key);
        }
    }
}
