//! Who is concerned when clusters come, go, or change their state, and what is held of their kinds.

use std::sync::Arc;

use broker_api::{ClusterName, Role, keys};
use broker_core::{
    naming::{consumer_hash, leading_hash, may_be_cut},
    snapshot::OriginKey,
};
use runtime_effect::{interest::Interest, kind::Kind};
use runtime_fleet::{
    GroupVersionKind,
    cluster::{Cluster, ClusterState, Labels},
    index::{Change, Index, Lookup},
    kind::{KindState, SchemaNews},
    listener::Observer,
    object::{Object, ObjectKey},
    watch::WatchSpec,
};

use crate::{broker::Broker, watches::Brokered};

/// An object of an index, as those who listen to it name it.
pub(crate) fn interest(index: &Index, key: &ObjectKey) -> Interest {
    Interest {
        cluster: index.cluster().clone(),
        kind: Kind::from(&index.spec().gvk),
        namespace: key.namespace.to_string(),
        name: key.name.to_string(),
    }
}

impl Broker {
    /// The origins that an object under this name in a provider may be the copy of: by its marks, and by its name.
    pub(crate) fn origins_of(
        &self,
        brokered: &Brokered,
        key: &ObjectKey,
        versions: &[Option<&Arc<Object>>],
    ) -> Vec<OriginKey> {
        let mut origins: Vec<OriginKey> = Vec::new();
        for object in versions.iter().copied().flatten().filter(|object| object.has_body()) {
            let marks = object.marks().annotations;
            let mark = |name: &str| marks.get(name).cloned();
            if let (Some(cluster), Some(namespace), Some(name)) =
                (mark(keys::CONSUMER_CLUSTER), mark(keys::CONSUMER_NAMESPACE), mark(keys::CONSUMER_NAME))
            {
                let key = ObjectKey::new(namespace, name);
                origins.push(Self::origin_key(&ClusterName::consumer(cluster), &brokered.kind, &key));
            }
        }
        if let Some((hash, name)) = leading_hash(&key.name)
            && let Some(cluster) = self.consumer_by_hash(hash)
        {
            let key = ObjectKey { namespace: Arc::clone(&key.namespace), name: name.into() };
            origins.push(Self::origin_key(&cluster, &brokered.kind, &key));
        }
        origins.sort();
        origins.dedup();
        origins
    }

    pub(crate) fn related_moved(&self, index: &Index, change: &Change) {
        let before = change.old.as_deref().map(Object::owners).unwrap_or_default();
        let after = change.new.as_deref().map(Object::owners).unwrap_or_default();
        for owner in before.iter().chain(&after) {
            let brokered =
                self.watches.brokered.iter().find(|brokered| {
                    brokered.kind.kind == owner.kind && brokered.kind.api_version() == owner.api_version
                });
            if let Some(brokered) = brokered {
                let key = ObjectKey { namespace: Arc::clone(&change.key.namespace), name: owner.name.as_str().into() };
                self.enqueue_told(Self::origin_key(index.cluster(), &brokered.kind, &key), index, change);
            }
        }
    }

    /// Origins of a kind that are served by a provider, or wait for one, are looked at again.
    pub(crate) fn enqueue_concerned(&self, provider: &ClusterName, kind: Option<&Kind>) {
        self.enqueue_all(self.records.concerned(provider, kind));
    }

    /// Origins of a kind that wait for room.
    pub(crate) fn enqueue_waiting(&self, kind: &Kind) {
        self.enqueue_all(self.records.waiting(kind));
    }

    /// Origins of a consumer that nobody serves.
    pub(crate) fn enqueue_unplaced(&self, consumer: &ClusterName) {
        self.enqueue_all(self.records.unplaced(consumer));
    }

    /// All origins of a consumer cluster.
    pub(crate) fn enqueue_consumer(&self, consumer: &ClusterName, kind: Option<&Kind>) {
        self.enqueue_all(self.records.of_consumer(consumer, kind));
    }

    fn enqueue_all(&self, keys: Vec<OriginKey>) {
        for key in keys {
            self.enqueue(key);
        }
    }

    /// Copies of a consumer cluster's objects, wherever they are.
    pub(crate) fn enqueue_copies(&self, brokered: &Brokered, consumer: &ClusterName) {
        self.enqueue_copied(brokered, consumer, |_| true);
    }

    /// Copies of objects that a consumer cluster does not have, as far as is known: nobody else would tell of those.
    pub(crate) fn enqueue_orphans(&self, brokered: &Brokered, consumer: &Index) {
        let cluster = consumer.cluster();
        self.enqueue_copied(brokered, cluster, |origin| {
            origin.cluster != *cluster || consumer.get(&object_key(origin)).found().is_none()
        });
    }

    /// Origins of copies that are named like those of a consumer cluster's objects, if they are `wanted`.
    fn enqueue_copied(&self, brokered: &Brokered, consumer: &ClusterName, wanted: impl Fn(&OriginKey) -> bool) {
        for (_, index, keys) in self.copies_of(brokered, consumer) {
            for (key, object) in index.those(&keys) {
                self.enqueue_copy(brokered, &key, &object, &wanted);
            }
        }
    }

    /// What is named like the copies of a consumer cluster's objects: providers, what is seen there, and under which names.
    /// That takes as long as there are such names, however many others there are.
    pub(crate) fn copies_of(
        &self,
        brokered: &Brokered,
        consumer: &ClusterName,
    ) -> Vec<(Arc<Cluster>, Arc<Index>, Vec<ObjectKey>)> {
        let held = brokered.copies.of(&consumer_hash(consumer)).into_iter();
        let at = |(provider, keys): (ClusterName, _)| {
            let provider = self.fleet().cluster(&provider)?;
            let index = provider.index(&brokered.spec)?;
            Some((provider, index, keys))
        };
        held.filter_map(at).collect()
    }

    /// The origins that an object in a provider may be the copy of, if they are `wanted`. There are many at once: marks are
    /// read only where the name does not say it all.
    fn enqueue_copy(
        &self,
        brokered: &Brokered,
        key: &ObjectKey,
        object: &Arc<Object>,
        wanted: impl Fn(&OriginKey) -> bool,
    ) {
        let mut origins = self.origins_of(brokered, key, &[]);
        if origins.is_empty() || may_be_cut(&key.name) {
            origins = self.origins_of(brokered, key, &[Some(object)]);
        }
        origins.into_iter().filter(wanted).for_each(|origin| self.enqueue(origin));
    }

    /// Copies in a provider that does not serve their origins, as far as is remembered. A provider that comes back may hold
    /// what was given up meanwhile (a released finalizer, an object placed anew), and its watch tells of nothing that did
    /// not change there.
    pub(crate) fn enqueue_stranded(&self, provider: &ClusterName, kind: Option<&Kind>) {
        let Some(cluster) = self.fleet().cluster(provider) else { return };
        let wanted = |brokered: &&Brokered| kind.is_none_or(|kind| *brokered.kind == *kind);
        for brokered in self.watches.brokered.iter().filter(wanted) {
            let Some(index) = cluster.index(&brokered.spec) else { continue };
            let stranded = |origin: &OriginKey| match self.records.is_at(origin, provider) {
                Some(served_here) => !served_here,
                None => !self.is_awaited(brokered, origin),
            };
            for (key, object) in index.snapshot() {
                self.enqueue_copy(brokered, &key, &object, stranded);
            }
        }
    }

    /// Whether an origin's consumer has still to say whether there is such an object. It is looked at when that is known:
    /// until then nothing can be decided.
    fn is_awaited(&self, brokered: &Brokered, origin: &OriginKey) -> bool {
        let index = self.fleet().cluster(&origin.cluster).and_then(|consumer| consumer.index(&brokered.spec));
        index.is_some_and(|index| matches!(index.get(&object_key(origin)), Lookup::Unknown))
    }
}

/// Where an origin is in its consumer.
fn object_key(origin: &OriginKey) -> ObjectKey {
    ObjectKey { namespace: Arc::clone(&origin.namespace), name: Arc::clone(&origin.name) }
}

impl Observer for Broker {
    fn cluster(&self, cluster: &ClusterName, state: &ClusterState) {
        if let ClusterState::Unreachable { why, .. } = state {
            self.tell_of_unreachable(cluster, why);
        }
        match cluster.role() {
            Role::Consumer => {
                self.note_consumer(cluster, *state != ClusterState::Leaving);
                self.enqueue_consumer(cluster, None);
            }
            Role::Provider => {
                self.identities.look_at(cluster, || Some(self.fleet().cluster(cluster)?.server().identity()));
                self.resettle(cluster, None);
                self.enqueue_concerned(cluster, None);
                if matches!(state, ClusterState::Ready) {
                    self.enqueue_stranded(cluster, None);
                    self.look_after_provider(cluster);
                }
                self.migrations.cluster_moved(cluster);
            }
            Role::Coordination | Role::Compute => self.hub_state(state),
            // A label of that sort makes no cluster here.
            Role::Spoke => {}
        }
        self.intake.tell();
    }

    fn labels(&self, cluster: &ClusterName, _labels: Option<&Labels>) {
        if cluster.role() == Role::Consumer {
            self.enqueue_consumer(cluster, None);
        }
    }

    fn kind(&self, cluster: &ClusterName, gvk: &GroupVersionKind, _state: &KindState, schema: SchemaNews<'_>) {
        self.set_schema(cluster, gvk, schema);
        self.intake.tell();
    }

    fn completed(&self, _cluster: &ClusterName, spec: &WatchSpec) {
        self.intake.tell();
        if *spec == *self.watches.migrations {
            self.enqueue_all(self.records.moving_or_restless());
        }
    }
}
