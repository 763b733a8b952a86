//! Related objects, as decisions look them up.

use broker_api::ClusterName;
use broker_core::snapshot::RelatedView;
use runtime_effect::{kind::Kind, seen::Seen, view::View};

use super::World;

pub(super) struct Relations<'a> {
    pub(super) world: &'a World,
    pub(super) consumer: &'a ClusterName,
}

impl Relations<'_> {
    fn seen(&self, cluster: &ClusterName, kind: &Kind, namespace: &str, name: &str) -> Seen {
        self.world.servers[cluster].seen(&(kind.clone(), namespace.to_owned(), name.to_owned()))
    }
}

impl RelatedView for Relations<'_> {
    fn source(&self, provider: &ClusterName, kind: &Kind, namespace: &str, name: &str) -> Seen {
        self.seen(provider, kind, namespace, name)
    }

    fn target(&self, kind: &Kind, namespace: &str, name: &str) -> Seen {
        if self.world.oddities.targets_unknown {
            return Seen::Unknown;
        }
        self.seen(self.consumer, kind, namespace, name)
    }

    fn owned(&self, uid: &str) -> Vec<(Kind, View)> {
        let views = self.world.servers[self.consumer].cached_views();
        let owned = views.filter(|(at, view)| {
            let owners = view.value["metadata"]["ownerReferences"].as_array();
            self.world.related_kinds.contains(&at.0) && owners.into_iter().flatten().any(|owner| owner["uid"] == uid)
        });
        owned.map(|(at, view)| (at.0.clone(), view)).collect()
    }

    fn owned_known(&self) -> bool {
        self.world.owned_known && self.world.servers[self.consumer].listed
    }
}
