//! From what happens in clusters to the origins that it concerns. Only looks up and enqueues: decisions come later.

use std::sync::Arc;

use broker_api::{ClusterName, Role};
use broker_core::naming::leading_hash;
use runtime_fleet::{
    GroupVersionKind,
    census::Census,
    fleet::Fleet,
    index::{Change, Index},
    kind::KindState,
    listener::{ClusterSelector, Listener},
    object::ObjectKey,
    sorted::Sort,
    subscription::Subscription,
};

use super::{key::origin_key, observe::BY_OWNER};
use crate::{broker::Broker, observer::interest, watches::Brokered};

/// Listens to all that concerns origins.
pub fn listen(broker: &Arc<Broker>, fleet: &Arc<Fleet>) -> Vec<Subscription> {
    let (consumers, providers) = (ClusterSelector::Role(Role::Consumer), ClusterSelector::Role(Role::Provider));
    let mut subscriptions = Vec::new();
    for brokered in &broker.watches.brokered {
        let objects = Objects { broker: Arc::clone(broker), brokered: brokered.clone() };
        subscriptions.push(fleet.listen(&consumers, &brokered.spec, &Arc::new(objects)));
        let copies = Copies { broker: Arc::clone(broker), brokered: brokered.clone() };
        subscriptions.push(fleet.listen(&providers, &brokered.spec, &Arc::new(copies)));
    }
    for related in &broker.watches.related {
        let copies = RelatedCopies { broker: Arc::clone(broker) };
        subscriptions.push(fleet.listen(&consumers, &related.target, &Arc::new(copies)));
        let sources = RelatedSources { broker: Arc::clone(broker) };
        subscriptions.push(fleet.listen(&providers, &related.source, &Arc::new(sources)));
    }
    subscriptions
}

/// Objects of a brokered kind, in consumers.
struct Objects {
    broker: Arc<Broker>,
    brokered: Brokered,
}

impl Listener for Objects {
    fn reads_again(&self) -> bool {
        true
    }

    fn changed(&self, index: &Index, change: &Change) {
        self.broker.brake.note(index.cluster(), change);
        let origin = origin_key(index.cluster(), &self.brokered.kind, &change.key);
        self.broker.origins.enqueue_told(origin, index, change);
    }

    fn incomplete(&self, index: &Index) {
        self.broker.origins.records.doubt(index.cluster(), &self.brokered.kind);
    }

    /// What is there has just been told of, and nobody was told of what is not there.
    fn completed(&self, index: &Index) {
        self.broker.enqueue_orphans(&self.brokered, index);
        let doubted = self.broker.origins.records.doubted(index.cluster(), &self.brokered.kind);
        self.broker.origins.enqueue_each(doubted);
        self.broker.migrations.cluster_moved(index.cluster());
    }

    fn kind(&self, cluster: &ClusterName, _gvk: &GroupVersionKind, state: &KindState) {
        if let KindState::Found(info) = state {
            self.broker.clusters.plurals.set(cluster, &self.brokered.kind, &info.plural);
        }
        self.broker.origins.enqueue_consumer(cluster, Some(&self.brokered.kind));
    }
}

/// Related copies, in consumers.
struct RelatedCopies {
    broker: Arc<Broker>,
}

impl Listener for RelatedCopies {
    fn reads_again(&self) -> bool {
        true
    }

    fn sorts(&self) -> &'static [Sort] {
        &[BY_OWNER]
    }

    fn changed(&self, index: &Index, change: &Change) {
        self.broker.related_copy_moved(index, change);
    }

    /// They are known now: those that nobody lists any more can go.
    fn completed(&self, index: &Index) {
        self.broker.origins.enqueue_consumer(index.cluster(), None);
    }

    /// Where it is not served there are none.
    fn kind(&self, cluster: &ClusterName, _gvk: &GroupVersionKind, _state: &KindState) {
        self.broker.origins.enqueue_consumer(cluster, None);
    }
}

/// Copies, and whatever else is of a brokered kind, in providers.
struct Copies {
    broker: Arc<Broker>,
    brokered: Brokered,
}

impl Listener for Copies {
    /// Those that are named like copies of an engaged consumer's objects. Copies of one that is engaged later are read when
    /// they are needed.
    fn keep(&self, _index: &Index, key: &ObjectKey) -> bool {
        leading_hash(&key.name).is_some_and(|(hash, _)| self.broker.clusters.consumer_by_hash(hash).is_some())
    }

    fn reads_again(&self) -> bool {
        true
    }

    fn census(&self) -> Option<Arc<Census>> {
        Some(Arc::clone(&self.brokered.copies))
    }

    fn ended(&self, cluster: &ClusterName) {
        self.broker.resettle(cluster, Some(&self.brokered.kind));
    }

    fn changed(&self, index: &Index, change: &Change) {
        let (broker, brokered) = (&self.broker, &self.brokered);
        broker.take_in_copy(index, brokered, change);
        for origin in broker.origins_of(brokered, &change.key, &[change.old.as_ref(), change.new.as_ref()]) {
            broker.origins.enqueue_told(origin, index, change);
        }
    }

    /// Only counted: whose copies these are is looked at once, when all of them are known. Whatever was counted of one before,
    /// nobody could say whether it is there.
    fn listed(&self, index: &Index, change: &Change) {
        self.broker.recount(index, &self.brokered, &Change { old: None, ..change.clone() });
    }

    fn incomplete(&self, index: &Index) {
        self.broker.resettle(index.cluster(), Some(&self.brokered.kind));
    }

    fn completed(&self, index: &Index) {
        let (broker, kind) = (&self.broker, &self.brokered.kind);
        broker.recount_all(index, &self.brokered);
        broker.resettle(index.cluster(), Some(kind));
        // In this order: a decision that has just begun may not have known the copies. Whoever is not remembered to be here
        // is looked at again, and whoever comes to be so meanwhile is then among those who are.
        broker.enqueue_stranded(index.cluster(), Some(kind));
        broker.origins.enqueue_concerned(index.cluster(), Some(kind));
    }

    fn kind(&self, cluster: &ClusterName, _gvk: &GroupVersionKind, state: &KindState) {
        let (broker, kind) = (&self.broker, &self.brokered.kind);
        if let KindState::Found(info) = state {
            broker.clusters.plurals.set(cluster, kind, &info.plural);
        }
        broker.resettle(cluster, Some(kind));
        broker.enqueue_statuses(cluster);
        // Its CRDs are its own to edit, as often as it likes.
        for key in broker.origins.records.concerned(cluster, Some(kind)) {
            broker.origins.enqueue_later(key, cluster);
        }
    }
}

/// Related objects, in providers.
struct RelatedSources {
    broker: Arc<Broker>,
}

impl Listener for RelatedSources {
    /// Those that are listened to are read.
    fn keep(&self, _index: &Index, _key: &ObjectKey) -> bool {
        false
    }

    fn reads_again(&self) -> bool {
        true
    }

    fn changed(&self, index: &Index, change: &Change) {
        for origin in self.broker.origins.records.interested(&interest(index, &change.key)) {
            self.broker.origins.enqueue(origin);
        }
    }

    fn completed(&self, index: &Index) {
        self.broker.origins.enqueue_concerned(index.cluster(), None);
    }
}

#[cfg(test)]
mod tests {
    use broker_core::{
        copy,
        decision::{Decision, State},
        migration::moved_origin::MovedOrigin,
        snapshot::OriginKey,
    };
    use runtime_fleet::queue::Outcome;
    use serde_json::json;

    use super::*;
    use crate::{conventions, migrations::registry::tests::migration, origins::records::bounds::Bounds};

    /// A broker with a consumer and a provider, of which nothing is known.
    struct Scene {
        broker: Arc<Broker>,
        _listens: Vec<Subscription>,
    }

    impl Scene {
        fn new() -> Self {
            let broker = Broker::of_one_kind().0;
            let scene = Self { _listens: listen(&broker, broker.fleet()), broker };
            for cluster in [Self::homer(), Self::east()] {
                scene.broker.engage_unreachable(&cluster);
            }
            scene
        }

        fn homer() -> ClusterName {
            ClusterName::consumer("homer")
        }

        fn east() -> ClusterName {
            ClusterName::provider("east")
        }

        fn brokered(&self) -> &Brokered {
            &self.broker.watches.brokered[0]
        }

        fn origin(&self, name: &str) -> OriginKey {
            origin_key(&Self::homer(), &self.brokered().kind, &ObjectKey::new("n", name))
        }

        fn remember(&self, name: &str, decision: &Decision) {
            assert!(self.broker.origins.records.absorb(&self.origin(name), decision, Bounds::ONE_MOVE).is_some());
        }

        /// Who was to be looked at, which is done.
        async fn looked_at(&self) -> Vec<String> {
            let (queue, mut names) = (&self.broker.origins.queue, Vec::new());
            while queue.stats().depth > 0 {
                let turn = queue.next().await.unwrap();
                names.push(turn.key.0.name.to_string());
                queue.finish(&turn.key, Outcome::Done);
            }
            names.sort();
            names
        }

        /// A first list comes to its end. Returns who is looked at because of what it holds, and because that is all.
        async fn list(&self, listener: &impl Listener, cluster: &ClusterName, names: &[String]) -> [Vec<String>; 2] {
            let index = self.broker.fleet().cluster(cluster).unwrap().index(&self.brokered().spec).unwrap();
            let object = |name: &String| {
                let metadata = json!({"namespace": "n", "name": name, "uid": name, "resourceVersion": "1"});
                conventions::object(&json!({"metadata": metadata}))
            };
            for change in index.replace(names.iter().map(object).collect(), 1) {
                listener.listed(&index, &change);
            }
            let listed = self.looked_at().await;
            listener.completed(&index);
            [listed, self.looked_at().await]
        }

        async fn consumer_lists(&self, names: &[&str]) -> [Vec<String>; 2] {
            let objects = Objects { broker: Arc::clone(&self.broker), brokered: self.brokered().clone() };
            let names: Vec<_> = names.iter().map(ToString::to_string).collect();
            self.list(&objects, &Self::homer(), &names).await
        }

        /// Copies of these.
        async fn provider_lists(&self, names: &[&str]) -> [Vec<String>; 2] {
            let copies = Copies { broker: Arc::clone(&self.broker), brokered: self.brokered().clone() };
            let names: Vec<_> = names.iter().map(|name| copy::name(&self.origin(name))).collect();
            self.list(&copies, &Self::east(), &names).await
        }
    }

    const NOBODY: [&str; 0] = [];

    #[tokio::test]
    async fn copies_are_looked_at_once_their_consumer_has_said_what_there_is() {
        let scene = Scene::new();
        assert_eq!(scene.provider_lists(&["a", "b", "orphan"]).await, [NOBODY, NOBODY], "nobody could decide anything");
        assert_eq!(scene.consumer_lists(&["a", "b", "new"]).await, [&["a", "b", "new"][..], &["orphan"]]);
    }

    /// Nobody but a consumer's own copies is looked at because of it, however many there are of others.
    #[tokio::test]
    async fn of_all_copies_those_of_one_consumer_are_looked_at() {
        let scene = Scene::new();
        let marge = ClusterName::consumer("marge");
        scene.broker.clusters.note_consumer(&marge, true);
        let key = |name: &str| origin_key(&marge, &scene.brokered().kind, &ObjectKey::new("n", name));
        let others = ["a", "x"].map(|name| copy::name(&key(name)));
        let own = ["a", "orphan"].map(|name| copy::name(&scene.origin(name)));
        let names: Vec<String> = own.into_iter().chain(others).chain(["foreign".to_owned()]).collect();
        let copies = Copies { broker: Arc::clone(&scene.broker), brokered: scene.brokered().clone() };
        scene.list(&copies, &Scene::east(), &names).await;

        let looks = async |consumer| {
            scene.broker.enqueue_copies(scene.brokered(), consumer);
            scene.looked_at().await
        };
        let homer = Scene::homer();
        assert_eq!(looks(&homer).await, ["a", "orphan"]);
        assert_eq!(looks(&marge).await, ["a", "x"]);
        assert_eq!(scene.consumer_lists(&["a"]).await, [&["a"][..], &["orphan"]]);
        let counted = |consumer| {
            let all = scene.broker.copies_of(scene.brokered(), consumer).into_iter();
            all.map(|(provider, _, keys)| (provider.name().clone(), keys.len())).collect::<Vec<_>>()
        };
        assert_eq!(counted(&marge), [(Scene::east(), 2)]);
        assert!(counted(&ClusterName::consumer("bart")).is_empty());
    }

    /// Its API server was restored from a backup, say: until it is listed, nobody can say whether it is there.
    #[tokio::test]
    async fn a_copy_that_is_listed_anew_counts_whatever_was_seen_of_it_before() {
        let scene = Scene::new();
        let copies = Copies { broker: Arc::clone(&scene.broker), brokered: scene.brokered().clone() };
        let index = scene.broker.fleet().cluster(&Scene::east()).unwrap().index(&scene.brokered().spec).unwrap();
        let metadata =
            json!({"namespace": "n", "name": copy::name(&scene.origin("a")), "uid": "u", "resourceVersion": "1"});
        let (key, mut object) = conventions::object(&json!({"metadata": metadata}));
        object.applied_by_us = true;
        let changes = index.replace(vec![(key, object)], 1);
        let strays = || scene.broker.origins.records.strays(&Scene::east(), &scene.brokered().kind);
        assert_eq!(strays(), 0);
        copies.listed(&index, &Change { old: changes[0].new.clone(), ..changes[0].clone() });
        assert_eq!(strays(), 1);
    }

    /// Their kind was not served meanwhile: nobody has told that they went.
    #[tokio::test]
    async fn what_is_remembered_and_not_there_is_looked_at_once_a_consumer_has_said_what_there_is() {
        let scene = Scene::new();
        for name in ["a", "gone"] {
            scene.remember(name, &Decision::state(State::Served));
        }
        assert_eq!(scene.consumer_lists(&["a"]).await, [["a"], ["gone"]]);
    }

    #[tokio::test]
    async fn copies_of_what_is_there_are_looked_at_once_they_are_all_known() {
        let scene = Scene::new();
        assert_eq!(scene.consumer_lists(&["a", "b", "new"]).await, [&["a", "b", "new"][..], &NOBODY]);
        for name in ["a", "b", "new"] {
            scene.remember(name, &Decision::state(State::Unknown));
        }
        assert_eq!(scene.provider_lists(&["a", "b", "orphan"]).await, [&NOBODY[..], &["a", "b", "new", "orphan"]]);
    }

    #[tokio::test]
    async fn a_migration_hears_that_its_origin_may_not_be_there() {
        let scene = Scene::new();
        let (migrations, known) = (&scene.broker.migrations, migration(&json!({})));
        migrations.set_hub(&ClusterName::new(Role::Coordination, "hub"));
        let about = MovedOrigin::Known(scene.origin("gone"), "1".into());
        migrations.update(&known.key.clone(), Some((known, about)));
        scene.consumer_lists(&[]).await;
        assert_eq!(migrations.queue.stats().adds, 1);
    }

    #[tokio::test]
    async fn a_provider_that_comes_later_is_looked_at_for_what_it_should_not_hold() {
        let scene = Scene::new();
        scene.consumer_lists(&["a", "b", "c"]).await;
        let at = |provider: &str| {
            let provider = Some(ClusterName::provider(provider));
            Decision { provider, ..Decision::state(State::Served) }
        };
        scene.remember("a", &at("east"));
        scene.remember("b", &at("west"));
        scene.remember("c", &at("west"));
        assert_eq!(
            scene.provider_lists(&["a", "b"]).await,
            [&NOBODY[..], &["a", "b"]],
            "what it has, and one too many"
        );
    }

    #[tokio::test]
    async fn what_is_remembered_of_a_consumer_that_is_read_anew_is_looked_at() {
        let scene = Scene::new();
        scene.remember("known", &Decision::state(State::Unknown));
        assert_eq!(scene.provider_lists(&["known", "new"]).await, [&NOBODY[..], &["known"]]);
    }
}
