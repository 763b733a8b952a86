//! From copies to their origins.

use std::sync::Arc;

use broker_api::{ClusterName, keys};
use broker_core::{
    naming::{consumer_hash, leading_hash, may_be_cut},
    snapshot::OriginKey,
};
use runtime_effect::kind::Kind;
use runtime_fleet::{
    cluster::Cluster,
    index::{Change, Index, Lookup},
    object::{Object, ObjectKey},
};

use super::key::{object_key, origin_key};
use crate::{broker::Broker, gathered::gather, watches::Brokered};

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
                origins.push(origin_key(&ClusterName::consumer(cluster), &brokered.kind, &key));
            }
        }
        if let Some((hash, name)) = leading_hash(&key.name)
            && let Some(cluster) = self.clusters.consumer_by_hash(hash)
        {
            let key = ObjectKey { namespace: Arc::clone(&key.namespace), name: name.into() };
            origins.push(origin_key(&cluster, &brokered.kind, &key));
        }
        origins.sort();
        origins.dedup();
        origins
    }

    /// A copy came, changed or went, as a watch or the answer to a write tells: it may take up room, and its namespace may be
    /// empty now.
    pub(crate) fn take_in_copy(&self, index: &Index, brokered: &Brokered, change: &Change) {
        self.recount(index, brokered, change);
        if change.new.is_none() {
            self.copy_gone(index.cluster(), &change.key.namespace);
        }
    }

    /// A related copy in a consumer came, changed or went: whoever owns it is looked at.
    pub(crate) fn related_copy_moved(&self, index: &Index, change: &Change) {
        let is_bare = |object: &Arc<Object>| !object.has_body();
        if change.new.is_none() && change.old.as_ref().is_some_and(is_bare) {
            return self.unread_copy_gone(index.cluster(), &change.key.namespace);
        }
        let before = change.old.as_deref().map(Object::owners).unwrap_or_default();
        let after = change.new.as_deref().map(Object::owners).unwrap_or_default();
        for owner in before.iter().chain(&after) {
            let brokered =
                self.watches.brokered.iter().find(|brokered| {
                    brokered.kind.kind == owner.kind && brokered.kind.api_version() == owner.api_version
                });
            if let Some(brokered) = brokered {
                let key = ObjectKey { namespace: Arc::clone(&change.key.namespace), name: owner.name.as_str().into() };
                self.origins.enqueue_told(origin_key(index.cluster(), &brokered.kind, &key), index, change);
            }
        }
    }

    /// A related copy has gone of which nobody can say any more whose it was: it was not held, for want of memory. All of its
    /// namespace are looked at, once for what goes at about the same time.
    fn unread_copy_gone(&self, consumer: &ClusterName, namespace: &Arc<str>) {
        let place = (consumer.clone(), Arc::clone(namespace));
        gather(
            self.itself(),
            |broker: &Self| &broker.origins.unread_gone,
            place,
            |broker, (consumer, namespace)| {
                let all = broker.origins.records.of_consumer(consumer, None).into_iter();
                broker.origins.enqueue_each(all.filter(|origin| origin.namespace == *namespace));
            },
        );
    }

    /// Copies of a consumer cluster's objects, wherever they are.
    pub(crate) fn enqueue_copies(&self, brokered: &Brokered, consumer: &ClusterName) {
        self.enqueue_copied(brokered, consumer, |_| true);
    }

    /// Copies of objects that a consumer cluster does not have, as far as is known, and what is remembered of such objects:
    /// nobody else would tell of those. Of what went while nobody could say what is there nobody tells again.
    pub(crate) fn enqueue_orphans(&self, brokered: &Brokered, consumer: &Index) {
        let cluster = consumer.cluster();
        let is_gone =
            |origin: &OriginKey| origin.cluster != *cluster || consumer.get(&object_key(origin)).found().is_none();
        self.enqueue_copied(brokered, cluster, is_gone);
        let remembered = self.origins.records.of_consumer(cluster, Some(&brokered.kind));
        self.origins.enqueue_each(remembered.into_iter().filter(is_gone));
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
        origins.into_iter().filter(wanted).for_each(|origin| self.origins.enqueue(origin));
    }

    /// Copies in a provider that does not serve their origins, as far as is remembered. A provider that comes back may hold
    /// what was given up meanwhile (a released finalizer, an object placed anew), and its watch tells of nothing that did
    /// not change there.
    pub(crate) fn enqueue_stranded(&self, provider: &ClusterName, kind: Option<&Kind>) {
        let Some(cluster) = self.fleet().cluster(provider) else { return };
        let wanted = |brokered: &&Brokered| kind.is_none_or(|kind| *brokered.kind == *kind);
        for brokered in self.watches.brokered.iter().filter(wanted) {
            let Some(index) = cluster.index(&brokered.spec) else { continue };
            let stranded = |origin: &OriginKey| match self.origins.records.is_at(origin, provider) {
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
