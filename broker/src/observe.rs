//! From indexes to the snapshot of one origin. Reads caches only.

use std::{sync::Arc, time::Duration};

use broker_api::{ClusterName, Role};
use broker_core::{
    acceptance::Acceptance,
    assignment::KeyRing,
    copy,
    decide::decide,
    decision::{Decision, State},
    memory::OriginMemory,
    migration::configuration::is_system,
    movement::Lane,
    snapshot::{Confirmed, Holder, Moves, OriginKey, Patience, Quota, RelatedView, Snapshot},
};
use runtime_effect::{
    kind::Kind,
    reach::Reach,
    seen::Seen,
    serving::{KindView, Serving},
    view::{Unread, View},
};
use runtime_fleet::{
    cluster::{Cluster, ClusterState},
    index::Lookup,
    kind::KindState,
    object::{Object, ObjectKey},
    shape::Excess,
    watch::WatchSpec,
};

pub use crate::clock::now;
use crate::{acceptances::Spoken, bodies::Bodies, broker::Broker, observer::leading_hash, options::Refusals};

/// How long a cluster may be unreachable before anybody is told: a blip is not worth a write per object.
pub const BLIP: Duration = Duration::from_secs(5);

/// How long a newly engaged cluster may take to become known before others stop waiting for it.
const SETTLING: Duration = Duration::from_secs(5);

/// What an object has too much of, as decisions have it.
pub(crate) fn unread(excess: Excess) -> Unread {
    match excess {
        Excess::Depth => Unread::Nested,
        Excess::Values => Unread::Complex,
    }
}

/// The object as it was seen. `None`: its body is not held, and nothing but its version is known.
pub(crate) fn view(object: &Object) -> Option<View> {
    let value = object.value().ok()?;
    Some(View {
        uid: object.uid.clone(),
        resource_version: object.resource_version,
        deleting: object.deleting,
        applied_by_us: object.applied_by_us,
        value: Arc::new(value),
        unread: object.excess.map(unread),
        conditions_known: object.holds_conditions,
    })
}

/// What a cluster's watch knows of an object. One whose body is not held is there, but says nothing: it is unknown until
/// the worker has read it.
pub(crate) fn look(bodies: &Bodies, cluster: &Cluster, spec: &WatchSpec, key: &ObjectKey) -> Seen {
    let seen = |object: &Object| view(object).map_or(Seen::Unknown, Seen::Present);
    match cluster.index(spec).map_or(Lookup::Unknown, |index| index.get(key)) {
        Lookup::Unknown => Seen::Unknown,
        Lookup::Absent => Seen::Absent,
        Lookup::Found(object) if object.has_body() => seen(&object),
        Lookup::Found(stub) => {
            bodies.get(cluster.name(), spec, key, &stub).map_or(Seen::Unknown, |object| seen(&object))
        }
    }
}

fn reach(cluster: &Cluster) -> Reach {
    match cluster.state() {
        ClusterState::Ready => Reach::Ready,
        ClusterState::Connecting if cluster.age() < SETTLING => Reach::Settling,
        ClusterState::Connecting => Reach::Unreachable("no connection yet".into()),
        ClusterState::Leaving => Reach::Unreachable("it is being taken out of the configuration".into()),
        // What exactly is wrong is the operators' business (log, /readyz): tenants are told the same words each time.
        ClusterState::Unreachable { since, .. } => {
            let why = "no requests go through".to_owned();
            let blip = since.elapsed() < BLIP;
            if blip { Reach::Lost(why) } else { Reach::Unreachable(why) }
        }
    }
}

/// For how many milliseconds requests have not gone through.
fn silence(cluster: &Cluster) -> u64 {
    let silent = match cluster.state() {
        ClusterState::Unreachable { since, .. } => since.elapsed(),
        ClusterState::Connecting => cluster.age(),
        ClusterState::Ready | ClusterState::Leaving => Duration::ZERO,
    };
    millis(silent)
}

/// Whether two clusters of different roles may be one API server, by the identities that they give.
fn may_be_same(one: Option<&str>, other: Option<&str>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one == other,
        _ => true,
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

impl Broker {
    /// Whether and how a cluster serves a kind.
    pub(crate) fn serving(&self, cluster: &Cluster, kind: &Kind) -> Serving {
        match cluster.kind(&kind.to_gvk()) {
            KindState::Unknown => Serving::Unknown,
            KindState::Missing => Serving::Missing,
            KindState::Found(info) => Serving::Served(KindView {
                plural: info.plural.clone(),
                namespaced: info.namespaced,
                has_status: info.has_status,
                schema: self.schema(cluster.name(), kind),
            }),
        }
    }

    fn holder(&self, cluster: &Cluster, key: &OriginKey, copy: &ObjectKey, spec: &WatchSpec, known: bool) -> Holder {
        let mut reach = reach(cluster);
        let copy = look(&self.bodies, cluster, spec, copy);
        let listing = copy == Seen::Unknown || !known;
        // Only at the start: later, those that are known already need not wait for a newcomer.
        let starting = self.started.elapsed() < 2 * SETTLING;
        if reach == Reach::Ready && listing && starting && cluster.age() < SETTLING {
            reach = Reach::Settling;
        }
        Holder {
            provider: cluster.name().clone(),
            silent_millis: silence(cluster),
            reach,
            serving: self.serving(cluster, &key.gvk),
            copy,
            acceptances_known: known,
            trouble: [spec, &self.watches.accept_apis].iter().find_map(|spec| cluster.index(spec)?.trouble()),
        }
    }

    /// Whether the object is itself a copy of ours, in an API server that is consumer and provider: by its signature, or,
    /// where its marks were stripped, by being where the copy of an assigned origin is.
    ///
    /// A provider is another API server only where both give their identity, and not the same one. Where that may not be
    /// read the signature decides: what the broker has made for a provider is never brokered.
    fn is_copy(&self, consumer: &Cluster, key: &OriginKey, origin: &Seen, ring: &KeyRing) -> bool {
        let Some(object) = origin.present() else { return false };
        let signature = object.annotation(broker_api::keys::ORIGIN);
        let lead = leading_hash(&key.name).and_then(|(hash, name)| Some((self.consumer_by_hash(hash)?, name)));
        if signature.is_none() && lead.is_none() {
            return false;
        }
        let identity = consumer.identity();
        let same: Vec<ClusterName> = self
            .fleet()
            .in_role(Role::Provider)
            .iter()
            .filter(|provider| may_be_same(identity.as_deref(), provider.identity().as_deref()))
            .map(|provider| provider.name().clone())
            .collect();
        if same.is_empty() {
            return false;
        }
        if let Some(text) = signature {
            let mark = |name| object.annotation(name).unwrap_or_default();
            let cluster = ClusterName::consumer(mark(broker_api::keys::CONSUMER_CLUSTER));
            let subject = broker_core::assignment::Subject {
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
        let served_by = self.records.provider(&Self::origin_key(&cluster, &key.gvk, &origin));
        served_by.is_some_and(|provider| same.contains(&provider))
    }

    /// Whether no Migration may be in a namespace of the coordination cluster: it holds what stages must not come near (the
    /// cluster's own objects, kubeconfigs, the signing key), or Migrations have other ones. Consumers choose the names of
    /// their namespaces.
    pub(crate) fn is_reserved(&self, namespace: &str) -> bool {
        is_system(namespace)
            || namespace == self.namespace
            || self.watches.secrets_of(namespace).is_some()
            || !self.options.migrates_in(namespace)
    }

    /// Observes an origin and decides. `confirmed` is what a live read has just said. `None`: keys are not read yet.
    pub fn decide(&self, key: &OriginKey, memory: &OriginMemory, confirmed: Confirmed, busy: bool) -> Option<Decision> {
        let ring = self.ring.load_full()?;
        let spec = self.watches.spec_of(Role::Consumer, &key.gvk)?;
        // A consumer that is not engaged (any more): its copies stay, and nothing is remembered of it.
        let Some(consumer) = self.fleet().cluster(&key.cluster) else { return Some(Decision::state(State::Gone)) };
        let origin_key = ObjectKey { namespace: Arc::clone(&key.namespace), name: Arc::clone(&key.name) };
        let origin = look(&self.bodies, &consumer, spec, &origin_key);
        let consumer_kind = self.serving(&consumer, &key.gvk);
        let copy_key = ObjectKey { namespace: Arc::clone(&key.namespace), name: copy::name(key).into() };
        let providers = self.fleet().in_role(Role::Provider);
        let consumers_plural = if let Serving::Served(kind) = &consumer_kind { &*kind.plural } else { "" };
        let Spoken { acceptances, known } = self.acceptances_of(&key.gvk, &providers, consumers_plural);
        let holders: Vec<Holder> = (providers.iter().zip(known))
            .map(|(provider, known)| self.holder(provider, key, &copy_key, spec, known))
            .collect();
        let is_copy = self.is_copy(&consumer, key, &origin, &ring);
        let related = Related { broker: self, consumer: &consumer, namespace: &key.namespace };
        let kinds: Vec<Kind> = self.watches.related.iter().map(|related| related.kind.clone()).collect();
        let has_room = |acceptance: &Acceptance| {
            acceptance.capacity.map_or(Some(true), |capacity| self.records.has_room(&acceptance.id, capacity, key))
        };
        let has_quota = || self.options.max_objects_per_consumer.is_none_or(|most| self.records.has_quota(most, key));
        let has_share = |acceptance: &Acceptance| {
            let most = acceptance.capacity_per_consumer;
            most.is_none_or(|most| self.records.has_share(&acceptance.id, most, key))
        };
        let absent = |provider: &ClusterName| self.departures.absent(provider).map(millis);
        let may_move = |lane: &Lane| self.records.may_move(key, lane, self.options.max_moves);
        let brake = |provider: &ClusterName| self.brake.ask(&key.cluster, provider, &key.gvk);
        let moves = Moves {
            coordination: self.hub().map(|hub| hub.name().clone()),
            migrations: origin.present().map(|view| self.migrations_of(key, &view.uid)).unwrap_or_default(),
            migrations_known: self.migrations_known(),
            configured: self.configured(&key.gvk),
            reserved: self.is_reserved(&key.namespace),
            absent: &absent,
            may_move: &may_move,
            patience: Patience {
                orphan_grace: millis(self.options.orphan_grace),
                ready_timeout: millis(self.options.ready_timeout),
            },
        };
        Some(decide(&Snapshot {
            key,
            now: now(),
            consumer: reach(&consumer),
            consumer_kind,
            consumer_labels: self.policies.labels(&key.cluster),
            origin,
            confirmed,
            brake: &brake,
            is_copy,
            holders,
            acceptances: &acceptances,
            has_room: &has_room,
            quota: Quota { most: self.options.max_objects_per_consumer, has_room: &has_quota, has_room_at: &has_share },
            limits: self.options.limits(),
            moves,
            brief: self.options.refusals == Refusals::Brief,
            busy,
            synced: self.is_synced() || self.started.elapsed() > 6 * SETTLING,
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
        let Some(provider) = self.broker.fleet().cluster(provider) else { return Seen::Unknown };
        let Some(spec) = self.broker.watches.spec_of(Role::Provider, kind) else { return Seen::Unknown };
        look(&self.broker.bodies, &provider, spec, &ObjectKey::new(namespace, name))
    }

    fn target(&self, kind: &Kind, namespace: &str, name: &str) -> Seen {
        let related = self.broker.watches.related.iter().find(|related| related.kind == *kind);
        related.map_or(Seen::Unknown, |related| {
            look(&self.broker.bodies, self.consumer, &related.target, &ObjectKey::new(namespace, name))
        })
    }

    fn owned(&self, uid: &str) -> Vec<(Kind, View)> {
        let places = self.broker.owned.of(uid).into_iter();
        let ours =
            places.filter(|place| place.cluster == *self.consumer.name() && &*place.key.namespace == self.namespace);
        let found = ours.filter_map(|place| {
            let object = self.consumer.index(&place.spec)?.get(&place.key).found()?;
            Some((Kind::from(&place.spec.gvk), view(&object)?))
        });
        found.collect()
    }

    fn owned_known(&self) -> bool {
        let mut related = self.broker.watches.related.iter();
        related.all(|related| self.consumer.index(&related.target).is_some_and(|index| index.is_complete()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_two_different_identities_are_two_servers() {
        assert!(may_be_same(Some("a"), Some("a")) && !may_be_same(Some("a"), Some("b")));
        assert!(may_be_same(None, Some("b")) && may_be_same(Some("a"), None) && may_be_same(None, None));
    }
}
