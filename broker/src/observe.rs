//! From indexes to the snapshot of one origin. Reads caches only.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use broker_api::{ClusterName, Gvr, Role};
use broker_core::{
    acceptance::Acceptance,
    assignment::KeyRing,
    copy,
    decide::decide,
    decision::{Decision, State},
    memory::Memory,
    movement::Lane,
    snapshot::{
        Confirmed, Holder, Kind, KindView, Moves, Now, OriginKey, Patience, Quota, Reach, RelatedView, Seen, Serving,
        Snapshot, View,
    },
};
use broker_fleet::{
    cluster::{Cluster, ClusterState},
    index::Lookup,
    kind::KindState,
    object::{Object, ObjectKey},
    watch::WatchSpec,
};

use crate::{broker::Broker, observer::leading_hash};

/// How long a cluster may be unreachable before anybody is told: a blip is not worth a write per object.
pub const BLIP: Duration = Duration::from_secs(5);

/// How long a newly engaged cluster may take to become known before others stop waiting for it.
const SETTLING: Duration = Duration::from_secs(5);

/// The moment of a decision.
pub fn now() -> Now {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let millis = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
    let seconds = i64::try_from(since.as_secs()).unwrap_or_default();
    let stamp = k8s_openapi::jiff::Timestamp::from_second(seconds).unwrap_or_default();
    Now { millis, text: stamp.to_string() }
}

/// The object as it was seen. `None`: its body was not kept, or cannot be read.
pub(crate) fn view(object: &Object) -> Option<View> {
    let value = object.value().ok()?;
    Some(View {
        uid: object.uid.clone(),
        resource_version: object.resource_version,
        deleting: object.deleting,
        applied_by_us: object.applied_by_us,
        value: Arc::new(value),
    })
}

fn seen(lookup: Lookup) -> Seen {
    match lookup {
        Lookup::Unknown => Seen::Unknown,
        Lookup::Absent => Seen::Absent,
        // A body that was not kept, or cannot be parsed, is there but says nothing.
        Lookup::Found(object) => Seen::Present(view(&object).unwrap_or_else(|| View {
            uid: object.uid.clone(),
            resource_version: object.resource_version,
            deleting: object.deleting,
            applied_by_us: false,
            value: Arc::new(serde_json::Value::Null),
        })),
    }
}

fn look(cluster: &Cluster, spec: &WatchSpec, key: &ObjectKey) -> Seen {
    cluster.index(spec).map_or(Seen::Unknown, |index| seen(index.get(key)))
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
            let blip = since.elapsed().is_ok_and(|age| age < BLIP);
            if blip { Reach::Lost(why) } else { Reach::Unreachable(why) }
        }
    }
}

/// For how many milliseconds requests have not gone through.
fn silence(cluster: &Cluster) -> u64 {
    let silent = match cluster.state() {
        ClusterState::Unreachable { since, .. } => since.elapsed().unwrap_or_default(),
        ClusterState::Connecting => cluster.age(),
        ClusterState::Ready | ClusterState::Leaving => Duration::ZERO,
    };
    millis(silent)
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
        let copy = look(cluster, spec, copy);
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

    /// Whether the object is itself a copy of ours, in an API server that is consumer and provider: by its marks, or,
    /// where those were stripped, by being where the copy of an assigned origin is.
    fn is_copy(&self, consumer: &Cluster, key: &OriginKey, origin: &Seen, ring: &KeyRing) -> bool {
        let Some(identity) = consumer.identity() else { return false };
        let Some(object) = origin.present() else { return false };
        let same: Vec<ClusterName> = self
            .fleet()
            .in_role(Role::Provider)
            .iter()
            .filter(|provider| provider.identity().as_deref() == Some(&identity))
            .map(|provider| provider.name().clone())
            .collect();
        if same.is_empty() {
            return false;
        }
        if let Some(text) = object.annotation(broker_api::keys::ORIGIN) {
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
        let Some((hash, name)) = leading_hash(&key.name) else { return false };
        let Some(cluster) = self.consumer_by_hash(hash) else { return false };
        if object.applied_by_us && object.annotation(broker_api::keys::ORIGIN).is_none() {
            return true;
        }
        let origin = ObjectKey { namespace: Arc::clone(&key.namespace), name: name.into() };
        let served_by = self.records.provider(&Self::origin_key(&cluster, &key.gvk, &origin));
        served_by.is_some_and(|provider| same.contains(&provider))
    }

    /// Whether a namespace of the coordination cluster holds what stages must not come near: the cluster's own objects,
    /// kubeconfigs, the signing key. Consumers choose the names of their namespaces.
    fn is_reserved(&self, namespace: &str) -> bool {
        let own = [&self.options.cluster_secrets_namespace, &self.options.namespace];
        namespace.starts_with("kube-") || own.into_iter().flatten().any(|own| *own == *namespace)
    }

    /// Observes an origin and decides. `confirmed` is what a live read has just said. `None`: keys are not read yet.
    pub fn decide(&self, key: &OriginKey, memory: &Memory, confirmed: Confirmed, busy: bool) -> Option<Decision> {
        let ring = self.ring.load_full()?;
        let spec = self.watches.spec_of(Role::Consumer, &key.gvk)?;
        // A consumer that is not engaged (any more): its copies stay, and nothing is remembered of it.
        let Some(consumer) = self.fleet().cluster(&key.cluster) else { return Some(Decision::state(State::Gone)) };
        let origin_key = ObjectKey { namespace: Arc::clone(&key.namespace), name: Arc::clone(&key.name) };
        let origin = look(&consumer, spec, &origin_key);
        let consumer_kind = self.serving(&consumer, &key.gvk);
        let registry = self.registry.load();
        let acceptances: Arc<[Arc<Acceptance>]> = match &consumer_kind {
            Serving::Served(kind) => registry.accepting(&Gvr {
                group: key.gvk.group.clone(),
                version: key.gvk.version.clone(),
                resource: kind.plural.clone(),
            }),
            _ => Arc::default(),
        };
        let copy_key = ObjectKey { namespace: Arc::clone(&key.namespace), name: copy::name(key).into() };
        let providers = self.fleet().in_role(Role::Provider);
        let holders: Vec<Holder> = providers
            .iter()
            .map(|provider| self.holder(provider, key, &copy_key, spec, registry.knows(provider.name())))
            .collect();
        let is_copy = self.is_copy(&consumer, key, &origin, &ring);
        let related = Related { broker: self, consumer: &consumer, namespace: &key.namespace };
        let kinds: Vec<Kind> = self.watches.related.iter().map(|related| related.kind.clone()).collect();
        let has_room = |acceptance: &Acceptance| {
            acceptance.capacity.is_none_or(|capacity| self.records.has_room(&acceptance.id, capacity, key))
        };
        let has_quota = || self.options.max_objects_per_consumer.is_none_or(|most| self.records.has_quota(most, key));
        let has_share = |acceptance: &Acceptance| {
            let most = acceptance.capacity_per_consumer;
            most.is_none_or(|most| self.records.has_share(&acceptance.id, most, key))
        };
        let absent = |provider: &ClusterName| self.departures.absent(provider).map(millis);
        let may_move = |lane: &Lane| self.records.may_move(key, lane, self.options.max_moves);
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
            origin,
            confirmed,
            is_copy,
            holders,
            acceptances: &acceptances,
            has_room: &has_room,
            quota: Quota { most: self.options.max_objects_per_consumer, has_room: &has_quota, has_room_at: &has_share },
            limits: self.options.limits(),
            moves,
            // How much room there is is only known once all that is placed has been looked at.
            busy,
            room_known: self.is_synced() || self.started.elapsed() > 6 * SETTLING,
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
        let found = look(&provider, spec, &ObjectKey::new(namespace, name));
        match found {
            // Known by name only: the worker reads it, then it is looked at again.
            Seen::Present(view) if view.value.is_null() => Seen::Unknown,
            other => other,
        }
    }

    fn target(&self, kind: &Kind, namespace: &str, name: &str) -> Seen {
        let related = self.broker.watches.related.iter().find(|related| related.kind == *kind);
        related.map_or(Seen::Unknown, |related| look(self.consumer, &related.target, &ObjectKey::new(namespace, name)))
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
