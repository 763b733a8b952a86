//! From what happens in clusters to the Migrations that it concerns. Only looks up and enqueues: decisions come later.

use std::sync::Arc;

use broker_api::{ClusterName, Role};
use runtime_effect::kind::Kind;
use runtime_fleet::{
    GroupVersionKind,
    fleet::Fleet,
    index::{Change, Index, Lookup},
    kind::KindState,
    listener::{ClusterSelector, Listener},
    object::ObjectKey,
    sorted::Sort,
    subscription::Subscription,
};

use super::{change::ConfigurationChange, stages::BY_ID};
use crate::{broker::Broker, observer::interest};

/// Listens to all that concerns Migrations, but for the objects of their stages: those are asked for one by one.
pub fn listen(broker: &Arc<Broker>, fleet: &Arc<Fleet>) -> Vec<Subscription> {
    let (hub, providers) = (ClusterSelector::Role(Role::Coordination), ClusterSelector::Role(Role::Provider));
    let watches = &broker.watches;
    let own = || Arc::clone(broker);
    let mut subscriptions = vec![
        fleet.listen(&hub, &watches.migrations, &Arc::new(Objects(own()))),
        fleet.listen(&hub, &watches.configurations, &Arc::new(Configurations(own()))),
    ];
    for brokered in &watches.brokered {
        subscriptions.push(fleet.listen(&providers, &brokered.spec, &Arc::new(Copies(own()))));
    }
    for related in &watches.related {
        let sources = RelatedSources(own());
        subscriptions.push(fleet.listen(&providers, &related.source, &Arc::new(sources)));
    }
    subscriptions
}

/// Migrations, in the coordination cluster.
struct Objects(Arc<Broker>);

impl Listener for Objects {
    fn changed(&self, index: &Index, change: &Change) {
        self.0.migration_changed(index.cluster(), change);
    }

    /// Nobody tells again of those that went while nobody could say what is there.
    fn completed(&self, index: &Index) {
        for key in self.0.migrations.remembered() {
            if matches!(index.get(&key), Lookup::Absent) {
                self.0.migration_changed(index.cluster(), &Change { key, old: None, new: None });
            }
        }
        self.0.migrations.enqueue_open();
    }

    fn kind(&self, _cluster: &ClusterName, _gvk: &GroupVersionKind, state: &KindState) {
        if *state == KindState::Missing {
            self.0.origins.enqueue_each(self.0.origins.records.moving_or_restless());
        }
    }
}

/// MigrationConfigurations, in the coordination cluster.
struct Configurations(Arc<Broker>);

impl Listener for Configurations {
    fn changed(&self, _index: &Index, change: &Change) {
        self.0.configuring.changes.tell(ConfigurationChange::Changed(change.key.clone()));
    }

    fn completed(&self, _index: &Index) {
        self.0.configuring.changes.tell(ConfigurationChange::Complete(self.0.configuring.losses()));
    }

    fn incomplete(&self, _index: &Index) {
        self.0.configuring.lose();
    }

    fn kind(&self, _cluster: &ClusterName, _gvk: &GroupVersionKind, state: &KindState) {
        if *state == KindState::Missing {
            self.0.configuring.lose();
            self.0.configuring.changes.tell(ConfigurationChange::Missing);
        }
    }
}

/// Objects of stages, in the compute cluster.
pub(super) struct StageObjects(pub(super) Arc<Broker>);

impl StageObjects {
    fn enqueue(&self, kind: &Kind) {
        self.0.migrations.enqueue_each(self.0.stages.wanting(kind));
    }
}

impl Listener for StageObjects {
    fn sorts(&self) -> &'static [Sort] {
        &[BY_ID]
    }

    fn changed(&self, _index: &Index, change: &Change) {
        self.0.stage_changed(change);
    }

    fn completed(&self, index: &Index) {
        self.enqueue(&Kind::from(&index.spec().gvk));
    }

    fn kind(&self, _cluster: &ClusterName, gvk: &GroupVersionKind, _state: &KindState) {
        self.enqueue(&Kind::from(gvk));
    }
}

/// Copies, in providers. Origins keep them.
struct Copies(Arc<Broker>);

impl Listener for Copies {
    fn keep(&self, _index: &Index, _key: &ObjectKey) -> bool {
        false
    }

    fn reads_again(&self) -> bool {
        true
    }

    fn changed(&self, _index: &Index, change: &Change) {
        self.0.migrations.copy_moved(&change.key);
    }

    fn completed(&self, index: &Index) {
        self.0.migrations.cluster_moved(index.cluster());
    }
}

/// Related objects, in providers.
struct RelatedSources(Arc<Broker>);

impl Listener for RelatedSources {
    fn keep(&self, _index: &Index, _key: &ObjectKey) -> bool {
        false
    }

    fn reads_again(&self) -> bool {
        true
    }

    fn changed(&self, index: &Index, change: &Change) {
        self.0.migrations.related_moved(&interest(index, &change.key));
    }

    /// Those that are not there are known to be absent from now on.
    fn completed(&self, index: &Index) {
        self.0.migrations.cluster_moved(index.cluster());
    }
}

#[cfg(test)]
mod tests {
    use broker_core::{
        decision::{Decision, State},
        migration::moved_origin::MovedOrigin,
    };
    use serde_json::json;

    use super::*;
    use crate::{
        migrations::registry::tests::migration,
        origins::{key::origin_key, records::bounds::Bounds},
    };

    #[tokio::test]
    async fn what_went_while_its_kind_was_not_served_is_forgotten_once_that_is_known() {
        let (broker, _channels) = Broker::of_one_kind();
        let hub = ClusterName::new(Role::Coordination, "hub");
        broker.migrations.set_hub(&hub);
        let known = migration(&json!({}));
        let key = known.key.clone();
        broker.migrations.update(&key, Some((known, MovedOrigin::Unknown)));
        let _listens = listen(&broker, broker.fleet());
        broker.engage_unreachable(&hub);
        let index = broker.fleet().cluster(&hub).unwrap().index(&broker.watches.migrations).unwrap();
        let complete = || Objects(Arc::clone(&broker)).completed(&index);
        complete();
        assert_eq!(broker.migrations.remembered(), std::slice::from_ref(&key), "not known");
        index.replace(Vec::new(), 1);
        complete();
        assert!(broker.migrations.remembered().is_empty());
    }

    #[tokio::test]
    async fn whoever_waits_for_migrations_to_be_known_hears_that_there_are_none() {
        let (broker, _channels) = Broker::of_one_kind();
        let kind = Arc::clone(&broker.watches.brokered[0].kind);
        let hub = ClusterName::new(Role::Coordination, "hub");
        let hears = |name: &str, decision: Decision| {
            let origin = origin_key(&ClusterName::consumer("homer"), &kind, &ObjectKey::new("n", name));
            assert!(broker.origins.records.absorb(&origin, &decision, Bounds::ONE_MOVE).is_some());
            let before = broker.origins.queue.stats().adds;
            Objects(Arc::clone(&broker)).kind(&hub, &broker.watches.migrations.gvk, &KindState::Missing);
            broker.origins.queue.stats().adds - before
        };
        assert_eq!(hears("a", Decision::state(State::Served)), 0);
        assert_eq!(hears("b", Decision { restless: true, ..Decision::state(State::Served) }), 1);
    }

    #[tokio::test]
    async fn whoever_is_open_hears_that_all_copies_and_all_that_they_relate_to_are_known() {
        let (broker, _channels) = Broker::of_one_kind();
        broker.migrations.set_hub(&ClusterName::new(Role::Coordination, "hub"));
        let known = migration(&json!({}));
        broker.migrations.update(&known.key.clone(), Some((known, MovedOrigin::Unknown)));
        let _listens = listen(&broker, broker.fleet());
        let provider = ClusterName::provider("one");
        broker.engage_unreachable(&provider);
        let provider = broker.fleet().cluster(&provider).unwrap();
        let index = |spec| provider.index(spec).unwrap();
        let adds = || broker.migrations.queue.stats().adds;
        let before = adds();
        Copies(Arc::clone(&broker)).completed(&index(&broker.watches.brokered[0].spec));
        assert_eq!(adds(), before + 1);
        let elsewhere = ClusterName::provider("three");
        broker.engage_unreachable(&elsewhere);
        let elsewhere = broker.fleet().cluster(&elsewhere).unwrap().index(&broker.watches.brokered[0].spec).unwrap();
        Copies(Arc::clone(&broker)).completed(&elsewhere);
        assert_eq!(adds(), before + 1, "no copy of it is there");
        for (number, related) in broker.watches.related.iter().enumerate() {
            RelatedSources(Arc::clone(&broker)).completed(&index(&related.source));
            assert_eq!(adds(), before + 2 + number as u64, "{:?}", related.kind);
        }
    }
}
