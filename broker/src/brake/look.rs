//! The task that looks how many copies have lost their origins, and tells of those that are kept.

use std::{collections::BTreeSet, sync::Arc};

use broker_api::{ClusterName, Gvr, keys};
use broker_core::naming::consumer_hash;
use runtime_effect::{kind::Kind, note::Note};
use runtime_engine::recorder::Regarding;
use runtime_fleet::{
    blocking::blocking,
    cluster::Cluster,
    hashed::HashSet,
    index::{Index, Lookup},
    object::{Marks, Object, ObjectKey},
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::{Sight, TICK, TOLD, digest, message};
use crate::{acceptance::registry::accept_api_key, broker::Broker, origins::key::origin_key, watches::Brokered};

/// Looks how many copies have lost their origins, when somebody asks, until `stop`.
pub async fn run(broker: Arc<Broker>, stop: CancellationToken) {
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = broker.brake.wanted.notified() => {}
            () = tokio::time::sleep(TICK) => {}
        }
        for (consumer, vanished, deleted) in broker.brake.due() {
            let looking = Arc::clone(&broker);
            let name = consumer.clone();
            let started = Instant::now();
            // Every copy of the consumer is unpacked: not on a thread that others wait for.
            let Ok(sight) = blocking(move || looking.sight(&name, &deleted)).await else { continue };
            let Some(sight) = sight else { continue };
            let before = broker.brake.see(&consumer, sight.clone(), started.elapsed(), vanished);
            for (provider, _) in sight.orphans.keys().chain(before.orphans.keys()) {
                broker.enqueue_statuses(provider);
            }
            broker.tell_of_held(&consumer, &before, &sight);
        }
    }
}

impl Broker {
    /// How many copies of a consumer there are, and how many have lost their origins. `None`: it is not engaged.
    fn sight(&self, consumer: &ClusterName, deleted: &HashSet<u64>) -> Option<Sight> {
        let cluster = self.fleet().cluster(consumer)?;
        let ring = self.signing.ring.load_full()?;
        let prefix = format!("{}-", consumer_hash(consumer));
        let (mut sight, before) = (Sight::default(), self.brake.last(consumer));
        for brokered in &self.watches.brokered {
            let Some(counted) = self.count(brokered, consumer, &cluster, &ring, deleted, &prefix) else {
                sight.carry(&brokered.kind, &before);
                continue;
            };
            sight.copies.insert((*brokered.kind).clone(), counted.copies);
            let places = counted.lost.into_iter().map(|(provider, lost)| ((provider, (*brokered.kind).clone()), lost));
            sight.orphans.extend(places);
        }
        let is_confirmed = |(provider, kind): &&(ClusterName, Kind)| {
            let brokered = self.watches.brokered.iter().find(|brokered| *brokered.kind == *kind);
            let provider = self.fleet().cluster(provider);
            brokered.zip(provider).is_some_and(|(brokered, provider)| self.is_confirmed(&provider, brokered, consumer))
        };
        sight.confirmed = sight.orphans.keys().filter(is_confirmed).cloned().collect();
        Some(sight)
    }

    /// The copies of one kind. `None`: nobody can tell of which of them the consumer has the origin.
    fn count(
        &self,
        brokered: &Brokered,
        consumer: &ClusterName,
        cluster: &Cluster,
        ring: &broker_core::assignment::KeyRing,
        deleted: &HashSet<u64>,
        prefix: &str,
    ) -> Option<Counted> {
        let origins = cluster.index(&brokered.spec).filter(|index| index.is_complete())?;
        let mut counted = Counted::default();
        for (provider, copies, keys) in self.copies_of(brokered, consumer) {
            let mut lost = 0;
            for (key, copy) in copies.those(&keys) {
                if copy.deleting {
                    continue;
                }
                let copy_of = Copied { brokered, provider: &provider, consumer, ring, deleted };
                match copy_of.origin(&origins, &key, &copy, prefix) {
                    Some(Has::Origin) => counted.copies += 1,
                    Some(Has::None) => lost += 1,
                    Some(Has::Unknown) => return None,
                    None => {}
                }
            }
            if lost > 0 {
                counted.copies += lost;
                counted.lost.push((provider.name().clone(), lost));
            }
        }
        Some(counted)
    }

    /// AcceptAPIs of a provider for a kind.
    fn accept_apis_of(&self, provider: &Cluster, brokered: &Brokered) -> Vec<(ObjectKey, Arc<Object>)> {
        let Some(index) = provider.index(&self.watches.accept_apis) else { return Vec::new() };
        let kind = provider.kind(&brokered.gvk);
        let Some(info) = kind.found() else { return Vec::new() };
        let speaks = |gvr: &Gvr| {
            gvr.group == brokered.kind.group && gvr.version == brokered.kind.version && gvr.resource == info.plural
        };
        let registry = self.accept_apis.load();
        let entries = registry.entries_of(provider.name()).filter(|(_, entry)| entry.gvr.as_ref().is_some_and(speaks));
        let keys = entries.map(|(id, _)| accept_api_key(id));
        keys.filter_map(|key| index.get(&key).found().map(|object| (key, object))).collect()
    }

    fn is_confirmed(&self, provider: &Cluster, brokered: &Brokered, consumer: &ClusterName) -> bool {
        self.accept_apis_of(provider, brokered).iter().any(|(_, object)| {
            let marks = object.marks().annotations;
            let said = marks.get(keys::CONFIRM_DELETIONS).map(String::as_str).unwrap_or_default();
            said.split(',').map(str::trim).any(|name| name == consumer.name() || name == consumer.to_string())
        })
    }

    /// Has those looked at again whose copies may go now, and tells of those that are kept from now on.
    fn tell_of_held(&self, consumer: &ClusterName, before: &Sight, now: &Sight) {
        let was: BTreeSet<_> = before.held().map(|(place, _)| place).collect();
        let is: BTreeSet<_> = now.held().map(|(place, _)| place).collect();
        if was.difference(&is).next().is_some() {
            info!(%consumer, "copies that had been kept may go, or have their origins again");
            for brokered in &self.watches.brokered {
                self.enqueue_copies(brokered, consumer);
            }
        }
        for ((provider, kind), here) in now.held().filter(|(place, _)| !was.contains(place)) {
            let message = message(consumer, now, here);
            warn!(%consumer, %provider, kind = kind.kind, "{message}");
            let Some(cluster) = self.fleet().cluster(provider) else { continue };
            let Some(brokered) = self.watches.brokered.iter().find(|brokered| *brokered.kind == *kind) else {
                continue;
            };
            for (key, object) in self.accept_apis_of(&cluster, brokered).into_iter().take(TOLD) {
                let kind = Kind::from(&self.watches.accept_apis.gvk);
                let about = Regarding::new(provider, kind, &key, &object.uid);
                self.engine.tell(about, Note::warning(broker_api::condition::ORIGINS_VANISHED, message.clone()));
            }
        }
    }
}

/// How many copies of one kind and consumer there are, and how many of them at which provider have lost their origins.
#[derive(Default)]
struct Counted {
    copies: usize,
    lost: Vec<(ClusterName, usize)>,
}

/// What a copy has of its origin.
enum Has {
    Origin,
    None,
    Unknown,
}

/// Copies of one consumer at one provider.
struct Copied<'a> {
    brokered: &'a Brokered,
    provider: &'a Cluster,
    consumer: &'a ClusterName,
    ring: &'a broker_core::assignment::KeyRing,
    deleted: &'a HashSet<u64>,
}

impl Copied<'_> {
    /// Whether the consumer has a copy's origin. `None`: it is no copy of ours, or its origin's deletion was seen.
    fn origin(&self, origins: &Index, key: &ObjectKey, copy: &Object, prefix: &str) -> Option<Has> {
        if !copy.has_body() {
            let origin = ObjectKey { namespace: Arc::clone(&key.namespace), name: key.name[prefix.len()..].into() };
            return Some(match origins.get(&origin) {
                Lookup::Found(_) => Has::Origin,
                Lookup::Absent => Has::None,
                Lookup::Unknown => Has::Unknown,
            });
        }
        let Marks { annotations, .. } = copy.marks();
        let mark = |name: &str| annotations.get(name).map(String::as_str);
        let (namespace, name, uid) =
            (mark(keys::CONSUMER_NAMESPACE)?, mark(keys::CONSUMER_NAME)?, mark(keys::CONSUMER_UID)?);
        match origins.get(&ObjectKey::new(namespace, name)) {
            Lookup::Found(origin) if *origin.uid == *uid => return Some(Has::Origin),
            Lookup::Found(_) | Lookup::Absent => {}
            Lookup::Unknown => return Some(Has::Unknown),
        }
        // Only a signed one is deleted, and only a signed one counts: others may make as many objects as they like.
        let origin = origin_key(self.consumer, &self.brokered.kind, &ObjectKey::new(namespace, name));
        self.ring.verify_origin(&origin.subject(uid), self.provider.name().name(), mark(keys::ORIGIN)?)?;
        (!self.deleted.contains(&digest(uid))).then_some(Has::None)
    }
}
