//! Which providers a decision on one origin looks at, and what is seen of them. As many as have to do with it: how many
//! others are engaged makes no difference.

use std::{collections::BTreeSet, time::Duration};

use broker_api::{ClusterName, keys};
use broker_core::{
    movement::MigrationView,
    snapshot::{Holder, OriginKey},
};
use runtime_effect::{kind::Kind, reach::Reach, seen::Seen, view::View};
use runtime_fleet::{cluster::Cluster, object::ObjectKey, watch::WatchSpec};

use crate::{
    broker::Broker,
    reach::{SETTLING, reach, serving, silence},
};

/// Providers that an origin's own annotations name, true or not, and those that Migrations about it do.
fn named(origin: Option<&View>, migrations: &[MigrationView]) -> BTreeSet<ClusterName> {
    let marks = [keys::PROVIDER_CLUSTER, keys::NEW_PROVIDER_CLUSTER];
    let marked = marks.iter().filter_map(|key| Some(ClusterName::provider(origin?.annotation(key)?)));
    marked.chain(migrations.iter().flat_map(|migration| [migration.from.clone(), migration.to.clone()])).collect()
}

impl Broker {
    /// For how long this process has known anything of a cluster: since it came to lead all is listed again.
    fn age(&self, other: Duration) -> Duration {
        self.engine.term_age().map_or(other, |term| term.min(other))
    }

    /// Whether decisions still wait for newcomers: soon after the start, a better provider may be known in a moment.
    fn is_starting(&self) -> bool {
        self.age(self.started.elapsed()) < 2 * SETTLING
    }

    /// Engaged providers that a decision looks at besides those that its AcceptAPIs are at: where something is under the
    /// copy's name, where not all is known, and who is named.
    pub(crate) fn concerned(
        &self,
        kind: &Kind,
        copy: &ObjectKey,
        origin: Option<&View>,
        migrations: &[MigrationView],
    ) -> BTreeSet<ClusterName> {
        // First who is not settled: whoever settles meanwhile has counted its copies by then.
        let mut concerned = self.origins.unsettled.of(kind);
        concerned.extend(self.copy_holders(kind, copy));
        concerned.extend(named(origin, migrations));
        concerned
    }

    /// Providers where something is under a copy's name.
    pub(crate) fn copy_holders(&self, kind: &Kind, copy: &ObjectKey) -> Vec<ClusterName> {
        let brokered = self.watches.brokered.iter().find(|brokered| *brokered.kind == *kind);
        brokered.map(|brokered| brokered.copies.holders(copy)).unwrap_or_default()
    }

    /// A provider, as it concerns one origin. `known`: all its AcceptAPIs are.
    pub(crate) fn holder(
        &self,
        cluster: &Cluster,
        key: &OriginKey,
        copy: &ObjectKey,
        spec: &WatchSpec,
        known: bool,
    ) -> Holder {
        let mut reach = reach(cluster);
        let copy = self.engine.look(cluster, spec, copy);
        let listing = copy == Seen::Unknown || !known;
        // Only at the start: later, those that are known already need not wait for a newcomer.
        if reach == Reach::Ready && listing && self.is_starting() && self.age(cluster.age()) < SETTLING {
            reach = Reach::Settling;
        }
        Holder {
            provider: cluster.name().clone(),
            silent_millis: silence(cluster),
            reach,
            serving: serving(&self.clusters, cluster, &key.gvk),
            copy,
            acceptances_known: known,
            acceptances_served: cluster.index(&self.watches.accept_apis).is_some_and(|index| index.is_complete()),
            trouble: [spec, &self.watches.accept_apis].iter().find_map(|spec| cluster.index(spec)?.trouble()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use broker_api::MigrationState;
    use runtime_engine::view::view;
    use runtime_fleet::subscription::Subscription;
    use serde_json::json;

    use super::*;
    use crate::{conventions, listen::listen};

    /// A broker that listens as long as what comes with it is held.
    fn broker() -> (Arc<Broker>, Vec<Subscription>) {
        let broker = Broker::of_one_kind().0;
        let subscriptions = listen(&broker, broker.fleet());
        (broker, subscriptions)
    }

    fn names(providers: &BTreeSet<ClusterName>) -> Vec<&str> {
        providers.iter().map(ClusterName::name).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_comes_to_lead_waits_for_better_providers_as_after_a_start() {
        let (broker, _listens) = broker();
        assert!(broker.is_starting());
        tokio::time::advance(2 * SETTLING).await;
        assert!(!broker.is_starting());
        broker.engine.begin_term();
        assert!(broker.is_starting());
        assert_eq!(broker.age(SETTLING), Duration::ZERO, "what was known before counts no more");
    }

    #[tokio::test(start_paused = true)]
    async fn a_provider_is_looked_at_for_what_it_holds_what_is_not_known_of_it_and_who_names_it() {
        let (broker, _listens) = broker();
        tokio::time::advance(2 * SETTLING).await;
        let brokered = broker.watches.brokered[0].clone();
        let copy = ObjectKey::new("n", "a8b70b353e97-cert");
        let object = |annotations| {
            let metadata = json!({"name": "a", "uid": "u", "resourceVersion": "1", "annotations": annotations});
            conventions::object(&json!({"metadata": metadata})).1
        };
        let holds = ClusterName::provider("holds");
        broker.engage_unreachable(&holds);
        let cluster = broker.fleet().cluster(&holds).unwrap();
        assert!(cluster.learn(&brokered.spec, copy.clone(), object(json!({}))).is_some());
        broker.origins.unsettled.look_at(&holds, &brokered.kind, || true);
        broker.origins.unsettled.look_at(&ClusterName::provider("lost"), &brokered.kind, || false);
        let origin = object(json!({keys::PROVIDER_CLUSTER: "assigned", keys::NEW_PROVIDER_CLUSTER: "next"}));
        let origin = view(&origin).unwrap();
        let migration = MigrationView {
            namespace: "n".into(),
            name: "m".into(),
            by_person: true,
            from: ClusterName::provider("from"),
            to: ClusterName::provider("to"),
            force: false,
            state: MigrationState::Pending,
            deleting: false,
            aborted: false,
            created: 0,
            ended: None,
        };
        let concerned = broker.concerned(&brokered.kind, &copy, Some(&origin), &[migration]);
        assert_eq!(names(&concerned), ["assigned", "from", "holds", "lost", "next", "to"]);
        let other = ObjectKey::new("n", "a8b70b353e97-other");
        assert_eq!(names(&broker.concerned(&brokered.kind, &other, None, &[])), ["lost"]);
        assert_eq!(broker.copy_holders(&brokered.kind, &copy), [holds]);
    }

    #[tokio::test(start_paused = true)]
    async fn who_comes_is_looked_at_and_who_has_left_is_not() {
        let (broker, _listens) = broker();
        let brokered = broker.watches.brokered[0].clone();
        let copy = ObjectKey::new("n", "a8b70b353e97-cert");
        let new = ClusterName::provider("new");
        broker.expect(&new);
        assert_eq!(names(&broker.concerned(&brokered.kind, &copy, None, &[])), ["new"], "from its first moment on");
        broker.expect(&ClusterName::consumer("homer"));
        broker.engage_unreachable(&new);
        broker.resettle(&new, None);
        assert_eq!(names(&broker.concerned(&brokered.kind, &copy, None, &[])), ["new"], "it is not connected yet");
        assert_eq!(broker.origins.identities.may_be(None), [new.clone()].into());
        broker.fleet().disengage(&new).await;
        assert!(broker.concerned(&brokered.kind, &copy, None, &[]).is_empty());
        assert!(broker.origins.identities.may_be(None).is_empty());
    }
}
