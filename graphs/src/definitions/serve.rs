//! An RGD begins to serve its kind, and ends.

use std::{collections::BTreeSet, sync::Arc};

use runtime_effect::kind::Kind;

use super::DefinitionKey;
use crate::{graphs::Graphs, instances::generated::group_kind, serving::Served, watches::Holder};

impl Graphs {
    /// From now on an RGD serves its kind, in the cluster of the key, from this.
    pub(crate) fn serve_revision(&self, key: &DefinitionKey, served: Served) {
        let kind = group_kind(&Kind::from(&served.compiled.graph.kind));
        let needs = served.compiled.needs();
        for other in self.serving.kinds_of(key).into_iter().filter(|other| *other != kind) {
            self.serving.end(key);
            self.instances.enqueue_kind(&key.cluster, &other);
        }
        if self.serving.set(&key.cluster, kind.clone(), Arc::new(served)) {
            self.need(&Holder::Serving(key.clone()), &key.cluster, needs);
            self.instances.enqueue_kind(&key.cluster, &kind);
        }
    }

    /// An RGD serves nothing any more in the cluster of the key.
    pub(crate) fn end_serving(&self, key: &DefinitionKey) {
        let ended = self.serving.end(key);
        if !ended.is_empty() {
            self.need(&Holder::Serving(key.clone()), &key.cluster, BTreeSet::new());
        }
        for kind in ended {
            self.instances.enqueue_kind(&key.cluster, &kind);
        }
    }
}
