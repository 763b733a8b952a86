//! Kinds are wanted of a server, and its own stream of CRDs tells when they come, change or go.

use std::sync::Arc;

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

/// Of the stream of its CRDs.
impl Audience for Server {
    fn path(&self) -> &'static str {
        ""
    }

    fn keeps(&self, _index: &Index, _key: &ObjectKey) -> bool {
        false
    }

    fn changed(&self, _index: &Index, change: &Change, first: bool) {
        self.kinds.crd_changed(&change.key, first);
    }

    fn completed(&self, _index: &Index) {}

    fn incomplete(&self, _index: &Index) {}
}
