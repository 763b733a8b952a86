//! From indexes to the snapshot of one origin. Reads caches only.

use std::sync::Arc;

use broker_api::{ClusterName, Role};
use broker_core::{
    acceptance::Acceptance,
    assignment::KeyRing,
    decide::{Explanation, decide, explain, proposed},
    decision::{Decision, State},
    memory::OriginMemory,
    movement::Route,
    naming::leading_hash,
    snapshot::{Brake, Confirmed, Holder, Moves, OriginKey, Patience, Quota, RelatedView, Snapshot},
};
use runtime_effect::{kind::Kind, seen::Seen, serving::Serving, view::View};
use runtime_engine::clock::now;
use runtime_fleet::{
    cluster::Cluster,
    kind::KindState,
    object::{Object, ObjectKey},
    sorted::Sort,
};
use serde_json::Value;

use super::key::{copy_key, object_key, origin_key};
use crate::{
    broker::Broker,
    options::Refusals,
    reach::{SETTLING, millis, reach, serving},
    watches::RelatedKind,
};

/// Related copies in a consumer by the uids of their owners.
pub(crate) const BY_OWNER: Sort = Sort { name: "owner", by: uids };

fn uids(object: &Object) -> Vec<Arc<str>> {
    object.owners().into_iter().map(|owner| owner.uid.into()).collect()
}

/// Why there is no snapshot of an origin.
enum Unseen {
    /// Keys are not read yet, or its kind is not brokered.
    NotYet,
    /// Its consumer is not engaged.
    Gone,
}

impl Broker {
    /// Whether the object is itself a copy of ours, in an API server that is consumer and provider: by its signature, or,
    /// where its marks were stripped, by being where the copy of an assigned origin is.
    ///
    /// Where identities may not be read the signature decides: what the broker has made for a provider is never brokered.
    fn is_copy(&self, consumer: &Cluster, key: &OriginKey, origin: &Seen, ring: &KeyRing) -> bool {
        let Some(object) = origin.present() else { return false };
        let signature = object.annotation(broker_api::keys::ORIGIN);
        let lead = leading_hash(&key.name).and_then(|(hash, name)| Some((self.clusters.consumer_by_hash(hash)?, name)));
        if signature.is_none() && lead.is_none() {
            return false;
        }
        let same = self.origins.identities.may_be(consumer.server().identity());
        if same.is_empty() {
            return false;
        }
        if let Some(text) = signature {
            let mark = |name| object.annotation(name).unwrap_or_default();
            let cluster = ClusterName::consumer(mark(broker_api::keys::CONSUMER_CLUSTER));
            let subject = broker_core::assignment::OriginRef {
                cluster: &cluster,
                group: &key.gvk.group,
                kind: &key.gvk.kind,
                namespace: mark(broker_api::keys::CONSUMER_NAMESPACE),
                name: mark(broker_api::keys::CONSUMER_NAME),
                uid: mark(broker_api::keys::CONSUMER_UID),
            };
            if same.iter().any(|provider| ring.verify_origin(&subject, provider.name(), text).is_some()) {
                return true;
            }
        }
        let Some((cluster, name)) = lead else { return false };
        if object.applied_by_us && signature.is_none() {
            return true;
        }
        let origin = ObjectKey { namespace: Arc::clone(&key.namespace), name: name.into() };
        let served_by = self.origins.records.provider(&origin_key(&cluster, &key.gvk, &origin));
        served_by.is_some_and(|provider| same.contains(&provider))
    }

    /// Observes an origin and decides. `confirmed` is what a live read has just said. `None`: keys are not read yet.
    pub fn decide(
        &self,
        key: &OriginKey,
        memory: &OriginMemory,
        confirmed: Option<Confirmed>,
        busy: bool,
    ) -> Option<Decision> {
        // A consumer that is not engaged (any more): its copies stay, and nothing is remembered of it.
        match self.observe(key, None, memory, confirmed, busy, decide) {
            Ok(decision) => Some(decision),
            Err(Unseen::Gone) => Some(Decision::state(State::Gone)),
            Err(Unseen::NotYet) => None,
        }
    }

    /// Why an origin is where it is. `None`: keys are not read yet, or its consumer is not engaged.
    pub fn explain(&self, key: &OriginKey) -> Option<Explanation> {
        let memory = self.origins.records.remembered(key).memory;
        self.observe(key, None, &memory, None, false, explain).ok()
    }

    /// What would become of an object that is not there, if it came now: whatever is there of one of its name is left out. It
    /// has no uid yet, by which one of several AcceptAPIs of one priority would be chosen. `None`: see [`Broker::explain`].
    pub fn explain_new(&self, key: &OriginKey, object: Value) -> Option<Explanation> {
        let origin = proposed(object);
        self.observe(key, Some(origin), &OriginMemory::default(), None, false, explain).ok()
    }

    /// Hands a snapshot of an origin on; of one that is `new`, with this in its place.
    fn observe<T>(
        &self,
        key: &OriginKey,
        new: Option<View>,
        memory: &OriginMemory,
        confirmed: Option<Confirmed>,
        busy: bool,
        then: impl FnOnce(&Snapshot<'_>) -> T,
    ) -> Result<T, Unseen> {
        let ring = self.signing.ring.load_full().ok_or(Unseen::NotYet)?;
        let spec = self.watches.spec_of(Role::Consumer, &key.gvk).ok_or(Unseen::NotYet)?;
        let consumer = self.fleet().cluster(&key.cluster).ok_or(Unseen::Gone)?;
        let is_new = new.is_some();
        let origin = new.map_or_else(|| self.engine.look(&consumer, spec, &object_key(key)), Seen::Present);
        let consumer_kind = serving(&self.clusters, &consumer, &key.gvk);
        let copy = copy_key(key);
        // In this order, as with all that says how far something is known: of what is known now nothing is missed below.
        let migrations_known = self.migrations_known();
        let migrations = origin.present().map(|view| self.migrations_of(key, &view.uid)).unwrap_or_default();
        let mut concerned = self.concerned(&key.gvk, &copy, origin.present(), &migrations);
        // Behind it: the AcceptAPIs of whoever is settled are in.
        let registry = self.accept_apis.load();
        let consumers_plural = if let Serving::Served(kind) = &consumer_kind { &*kind.plural } else { "" };
        let spoken = self.acceptances_of(&registry, &key.gvk, consumers_plural);
        concerned.extend(spoken.keys().map(|provider| (*provider).clone()));
        let providers = self.fleet().engaged(&concerned);
        let knows = |provider: &Cluster| self.knows_acceptances(&registry, provider.name(), &key.gvk);
        let holder = |provider: &Arc<Cluster>| self.holder(provider, key, &copy, spec, knows(provider));
        let mut holders: Vec<Holder> = providers.iter().map(holder).collect();
        if is_new {
            // What was made for the one that is there goes with it; somebody else's object stays.
            let ours = |holder: &&mut Holder| holder.copy.present().is_some_and(|copy| copy.applied_by_us);
            holders.iter_mut().filter(ours).for_each(|holder| holder.copy = Seen::Absent);
        }
        let hidden = self.engine.hidden(key).into_iter().map(|(cluster, _)| cluster);
        let hidden: Vec<ClusterName> = hidden.filter(|cluster| cluster.role() == Role::Provider).collect();
        let own = providers.iter().filter_map(|provider| spoken.get(provider.name()));
        let acceptances: Vec<Arc<Acceptance>> = own.copied().flatten().cloned().collect();
        let is_copy = self.is_copy(&consumer, key, &origin, &ring);
        let related = Related { broker: self, consumer: &consumer, namespace: &key.namespace };
        let kinds: Vec<Kind> = self.watches.related.iter().map(|related| related.kind.clone()).collect();
        let has_room = |acceptance: &Acceptance| {
            acceptance
                .capacity
                .map_or(Some(true), |capacity| self.origins.records.has_room(&acceptance.id, capacity, key))
        };
        let has_quota =
            || self.options.max_objects_per_consumer.is_none_or(|most| self.origins.records.has_quota(most, key));
        let has_share = |acceptance: &Acceptance| {
            let most = acceptance.capacity_per_consumer;
            most.is_none_or(|most| self.origins.records.has_share(&acceptance.id, most, key))
        };
        let absent = |provider: &ClusterName| self.clusters.departures.absent(provider).map(millis);
        let may_move = |route: &Route| self.origins.records.may_move(key, route, self.options.max_moves);
        // Whoever vanishes with a list is counted when that is told.
        let counted = consumer.has_told_of(spec);
        let brake = |provider: &ClusterName| {
            if counted { self.brake.ask(&key.cluster, provider, &key.gvk) } else { Brake::Unknown }
        };
        let moves = Moves {
            coordination: self.hub().map(|hub| hub.name().clone()),
            migrations,
            migrations_known,
            configured: self.configured(&key.gvk),
            reserved: self.is_reserved(&key.namespace),
            absent: &absent,
            may_move: &may_move,
            patience: Patience {
                orphan_grace: millis(self.options.orphan_grace),
                ready_timeout: millis(self.options.ready_timeout),
            },
        };
        Ok(then(&Snapshot {
            key,
            now: now(),
            consumer: reach(&consumer),
            consumer_kind,
            consumer_labels: consumer.labels(),
            origin,
            confirmed,
            brake: &brake,
            is_copy,
            holders,
            hidden: &hidden,
            acceptances: &acceptances,
            has_room: &has_room,
            quota: Quota { most: self.options.max_objects_per_consumer, has_room: &has_quota, has_room_at: &has_share },
            limits: self.options.limits(),
            moves,
            brief: self.options.refusals == Refusals::Brief,
            busy,
            synced: self.intake.is_synced() || self.started.elapsed() > 6 * SETTLING,
            ring: &ring,
            evaluator: &self.evaluator,
            related_kinds: &kinds,
            related: &related,
            memory,
        }))
    }
}

struct Related<'a> {
    broker: &'a Broker,
    consumer: &'a Cluster,
    namespace: &'a str,
}

impl RelatedView for Related<'_> {
    fn source(&self, provider: &ClusterName, kind: &Kind, namespace: &str, name: &str) -> Seen {
        let spec = self.broker.watches.spec_of(Role::Provider, kind);
        spec.map_or(Seen::Unknown, |spec| self.broker.engine.seen(provider, spec, &ObjectKey::new(namespace, name)))
    }

    fn target(&self, kind: &Kind, namespace: &str, name: &str) -> Seen {
        let related = self.broker.watches.related.iter().find(|related| related.kind == *kind);
        related.map_or(Seen::Unknown, |related| {
            self.broker.engine.look(self.consumer, &related.target, &ObjectKey::new(namespace, name))
        })
    }

    fn owned(&self, uid: &str) -> Vec<(Kind, View)> {
        let mut found = Vec::new();
        for RelatedKind { kind, target, .. } in &self.broker.watches.related {
            let Some(index) = self.consumer.index(target) else { continue };
            let copies = index.sorted(BY_OWNER.name, uid).into_iter().filter(|key| &*key.namespace == self.namespace);
            let views = copies.filter_map(|key| match self.broker.engine.look(self.consumer, target, &key) {
                Seen::Present(view) => Some(view),
                Seen::Absent | Seen::Unknown => None,
            });
            found.extend(views.map(|view| (kind.clone(), view)));
        }
        found
    }

    fn owned_known(&self) -> bool {
        let mut related = self.broker.watches.related.iter();
        related.all(|RelatedKind { target, .. }| {
            self.consumer.index(target).is_some_and(|index| index.is_complete())
                || self.consumer.kind(&target.gvk) == KindState::Missing
        })
    }
}

#[cfg(test)]
mod tests {
    use broker_core::{
        acceptance::AcceptId,
        assignment::{Key, KeyRing},
        decide::{Answer, Asked},
    };
    use serde_json::json;

    use super::*;
    use crate::{
        acceptance::registry::{Entry, Registry},
        conventions,
    };

    #[tokio::test]
    async fn an_object_that_is_not_there_is_judged_by_what_providers_accept() {
        let (broker, _channels) = Broker::of_one_kind();
        let kind = Arc::clone(&broker.watches.brokered[0].kind);
        let consumer = ClusterName::consumer("homer");
        let key =
            OriginKey { cluster: consumer.clone(), gvk: Arc::clone(&kind), namespace: "n".into(), name: "a".into() };
        let object = json!({"metadata": {"name": "a", "namespace": "n"}, "spec": {"size": "small"}});
        let mut registry = Registry::default();
        for (provider, size) in [("large", "large"), ("small", "small")] {
            let provider = ClusterName::provider(provider);
            broker.clusters.plurals.set(&provider, &kind, "ks");
            broker.engage_unreachable(&provider);
            let (at, api) = conventions::object(&json!({
                "apiVersion": "broker.platform-mesh.io/v1alpha1", "kind": "AcceptAPI",
                "metadata": {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "1", "generation": 1},
                "spec": {"gvr": {"group": "g", "version": "v1", "resource": "ks"}, "weight": 3,
                    "filters": [{"key": "size", "valueIn": [size]}]},
            }));
            let id = AcceptId { provider: provider.clone(), namespace: at.namespace, name: at.name };
            let entry = Entry::read(&api, None).compiled(&id, &api, &broker.evaluator, &Arc::default());
            registry.take(&provider, [(id, Some(Arc::new(entry)))].into());
        }
        broker.accept_apis.change(|all| *all = registry);
        assert!(broker.explain_new(&key, object.clone()).is_none(), "no signing key");
        let ring = KeyRing::new(vec![Key { id: "k".into(), secret: vec![1; 32] }]).unwrap();
        broker.signing.ring.store(Some(Arc::new(ring)));
        assert!(broker.explain_new(&key, object.clone()).is_none(), "no such consumer");
        broker.engage_unreachable(&consumer);
        let explained = broker.explain_new(&key, object).unwrap();
        let answer = |name: &str| {
            let of = |asked: &&Asked| asked.id.provider.name() == name;
            let asked = explained.asked.iter().find(of).unwrap();
            assert_eq!(asked.weight, 3);
            asked.answer.clone()
        };
        assert!(matches!(answer("large"), Answer::Refuses(why) if why[0].contains("small")));
        assert!(matches!(answer("small"), Answer::Unknown(_)), "nobody knows how it stands there");
        assert!(broker.explain(&key).unwrap().asked.is_empty(), "nothing is known of such an object");
    }
}
