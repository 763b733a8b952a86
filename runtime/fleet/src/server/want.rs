//! Kinds are wanted of a server, and its own stream of CRDs tells when they come, change or go. Who asks for the same in its
//! cluster hears of it, too: there is one stream and one index for both.

use std::sync::Arc;

use broker_api::ClusterName;

use super::Server;
use crate::{
    audience::Audience,
    index::{Change, Index},
    object::ObjectKey,
    watch::{self, spec::WatchSpec},
};

impl Server {
    /// A watch begins: its kind is asked for.
    pub(crate) fn want(self: &Arc<Self>, spec: &WatchSpec) {
        if self.kinds.want(spec) {
            // Tells when kinds come, change or go.
            let crds = Arc::clone(&self.kinds.crds);
            self.tasks.spawn(watch::run(Arc::clone(self), crds, Arc::clone(self) as Arc<dyn Audience>));
        }
    }
}

impl Server {
    /// The index of its own stream, where that is what a cluster asks for.
    pub(crate) fn own(&self, cluster: &ClusterName, spec: &WatchSpec) -> Option<&Arc<Index>> {
        let crds = &self.kinds.crds;
        (crds.cluster() == cluster && **crds.spec() == *spec).then_some(crds)
    }
}

/// Of the stream of its CRDs.
impl Audience for Server {
    fn path(&self) -> &'static str {
        ""
    }

    fn keeps(&self, index: &Index, key: &ObjectKey) -> bool {
        self.clusters().iter().any(|cluster| cluster.keeps(index, key))
    }

    fn listing(&self, index: &Index) {
        self.clusters().iter().for_each(|cluster| cluster.listing(index));
    }

    fn changed(&self, index: &Index, change: &Change, first: bool) {
        self.kinds.crd_changed(&change.key, first);
        self.clusters().iter().for_each(|cluster| cluster.changed(index, change, first));
    }

    fn completed(&self, index: &Index) {
        self.kinds.crds_completed();
        self.clusters().iter().for_each(|cluster| cluster.completed(index));
    }

    fn caught_up(&self, index: &Index) {
        self.clusters().iter().for_each(|cluster| cluster.caught_up(index));
    }

    fn incomplete(&self, index: &Index) {
        self.clusters().iter().for_each(|cluster| cluster.incomplete(index));
    }
}
