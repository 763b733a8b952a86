//! From what happens in clusters to the origins that it concerns. Only looks up and enqueues: decisions come later.

use std::sync::Arc;

use broker_api::{ClusterName, Role, keys};
use broker_core::{decision::State, snapshot::OriginKey};
use runtime_cel::schema::Schema;
use runtime_effect::{interest::Interest, kind::Kind};
use runtime_fleet::{
    GroupVersionKind,
    cluster::{ClusterState, Observer},
    index::{Change, Index},
    kind::KindState,
    object::{Object, ObjectKey},
    watch::WatchSpec,
};
use serde_json::Value;

use crate::{
    broker::{AcceptChange, Broker, Brokered, SecretChange},
    owned::{Place, owners},
};

/// Length of the hash in front of a copy's name.
const HASH: usize = 12;

/// The hash that leads a name, if it looks like one.
pub(crate) fn leading_hash(name: &str) -> Option<(&str, &str)> {
    let (hash, rest) = name.split_once('-')?;
    let hex = hash.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    (hash.len() == HASH && hex && !rest.is_empty()).then_some((hash, rest))
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

    fn related_moved(&self, index: &Index, change: &Change) {
        let before = change.old.as_deref().map(owners).unwrap_or_default();
        let after = change.new.as_deref().map(owners).unwrap_or_default();
        let place = Place { cluster: index.cluster().clone(), spec: Arc::clone(index.spec()), key: change.key.clone() };
        self.owned.moved(&place, &after);
        for owner in before.iter().chain(&after) {
            let brokered =
                self.watches.brokered.iter().find(|brokered| {
                    brokered.kind.kind == owner.kind && brokered.kind.api_version() == owner.api_version
                });
            if let Some(brokered) = brokered {
                let key = ObjectKey { namespace: Arc::clone(&change.key.namespace), name: owner.name.as_str().into() };
                self.enqueue(Self::origin_key(index.cluster(), &brokered.kind, &key));
            }
        }
    }

    fn interest(index: &Index, key: &ObjectKey) -> Interest {
        Interest {
            cluster: index.cluster().clone(),
            kind: Kind::from(&index.spec().gvk),
            namespace: key.namespace.to_string(),
            name: key.name.to_string(),
        }
    }

    /// Origins of a kind that are served by a provider, or wait for one, are looked at again.
    pub(crate) fn enqueue_concerned(&self, provider: &ClusterName, kind: Option<&Kind>) {
        for key in self.concerned(provider, kind) {
            self.enqueue(key);
        }
    }

    /// Origins of a kind that are served by a provider, or wait for one.
    pub(crate) fn concerned(&self, provider: &ClusterName, kind: Option<&Kind>) -> Vec<OriginKey> {
        let waits = |state| {
            matches!(
                state,
                State::Unknown
                    | State::Waiting
                    | State::Blocked
                    | State::NotAccepted
                    | State::Deleting
                    | State::Placing
                    | State::Moving
            )
        };
        self.records.select(|key, record| {
            kind.is_none_or(|kind| *key.gvk == *kind)
                && (record.provider.as_ref() == Some(provider) || waits(record.state) || record.restless)
        })
    }

    /// Origins of a kind that wait for room.
    pub(crate) fn enqueue_waiting(&self, kind: &Kind) {
        let waits = |state| matches!(state, State::Waiting | State::NotAccepted | State::Moving);
        for key in self.records.select(|key, record| *key.gvk == *kind && (waits(record.state) || record.restless)) {
            self.enqueue(key);
        }
    }

    /// Origins of a consumer that nobody serves.
    pub(crate) fn enqueue_unplaced(&self, consumer: &ClusterName) {
        for key in self.records.select(|key, record| key.cluster == *consumer && record.state == State::Waiting) {
            self.enqueue(key);
        }
    }

    /// All origins of a consumer cluster.
    pub(crate) fn enqueue_consumer(&self, consumer: &ClusterName, kind: Option<&Kind>) {
        let concerned =
            self.records.select(|key, _| key.cluster == *consumer && kind.is_none_or(|kind| *key.gvk == *kind));
        for key in concerned {
            self.enqueue(key);
        }
    }

    /// Copies of a consumer cluster's objects, wherever they are: orphans are among them.
    pub(crate) fn enqueue_copies(&self, brokered: &Brokered, consumer: &ClusterName) {
        let prefix = format!("{}-", broker_core::naming::consumer_hash(consumer));
        for provider in self.fleet().in_role(Role::Provider) {
            let Some(index) = provider.index(&brokered.spec) else { continue };
            for (key, object) in index.snapshot() {
                if !key.name.starts_with(&prefix) {
                    continue;
                }
                for origin in self.origins_of(brokered, &key, &[Some(&object)]) {
                    self.enqueue(origin);
                }
            }
        }
    }

    /// Copies in a provider that does not serve their origins, as far as is remembered. A provider that comes back may hold
    /// what was given up meanwhile (a released finalizer, an object placed anew), and its watch tells of nothing that did
    /// not change there.
    pub(crate) fn enqueue_stranded(&self, provider: &ClusterName, kind: Option<&Kind>) {
        let Some(cluster) = self.fleet().cluster(provider) else { return };
        let wanted = |brokered: &&Brokered| kind.is_none_or(|kind| *brokered.kind == *kind);
        for brokered in self.watches.brokered.iter().filter(wanted) {
            let Some(index) = cluster.index(&brokered.spec) else { continue };
            for (key, object) in index.snapshot() {
                for origin in self.origins_of(brokered, &key, &[Some(&object)]) {
                    if self.records.provider(&origin).as_ref() != Some(provider) {
                        self.enqueue(origin);
                    }
                }
            }
        }
    }

    /// Whether an object of a provider may be a copy or a related object: those are named like copies of an engaged
    /// consumer's objects, or listened to. Copies of one that is engaged later are read when they are needed.
    fn is_read(&self, index: &Index, key: &ObjectKey) -> bool {
        if leading_hash(&key.name).is_some_and(|(hash, _)| self.consumer_by_hash(hash).is_some()) {
            return true;
        }
        let interest = Self::interest(index, key);
        !self.records.interested(&interest).is_empty() || self.migrations.is_interested(&interest)
    }
}

impl Observer for Broker {
    fn keep(&self, index: &Index, key: &ObjectKey) -> bool {
        let spec = &**index.spec();
        match index.cluster().role() {
            Role::Consumer | Role::Coordination | Role::Compute => true,
            Role::Provider => *spec == *self.watches.accept_apis || self.is_read(index, key),
        }
    }

    fn reads_again(&self, cluster: &ClusterName, spec: &WatchSpec) -> bool {
        let own = *spec == *self.watches.accept_apis;
        matches!(cluster.role(), Role::Consumer | Role::Provider) && !own
    }

    fn changed(&self, index: &Index, change: &Change) {
        let spec = index.spec();
        let cluster = index.cluster();
        match cluster.role() {
            Role::Consumer => match self.watches.brokered_by(spec) {
                Some(brokered) => {
                    self.brake.note(cluster, change);
                    self.enqueue(Self::origin_key(cluster, &brokered.kind, &change.key));
                }
                None => self.related_moved(index, change),
            },
            Role::Provider => {
                if *spec == self.watches.accept_apis {
                    let _ = self.accept_changes.send(AcceptChange::Changed(cluster.clone(), change.key.clone()));
                    return;
                }
                if let Some(brokered) = self.watches.brokered_by(spec) {
                    self.recount(index, brokered, change);
                    for origin in self.origins_of(brokered, &change.key, &[change.old.as_ref(), change.new.as_ref()]) {
                        self.enqueue(origin);
                    }
                    if change.new.is_none() {
                        self.copy_gone(cluster, &change.key.namespace);
                    }
                    self.migrations.copy_moved(&change.key);
                }
                let interest = Self::interest(index, &change.key);
                for origin in self.records.interested(&interest) {
                    self.enqueue(origin);
                }
                self.migrations.related_moved(&interest);
            }
            Role::Coordination | Role::Compute if self.hub_changed(index, change) => {}
            Role::Coordination if *spec == self.watches.signing_key => self.read_signing_key(change.new.as_deref()),
            Role::Coordination if *spec == self.watches.signing_backup => self.signing.wake(),
            Role::Coordination => {
                let _ = self.secret_changes.send(SecretChange::Changed(change.key.clone()));
            }
            Role::Compute => {}
        }
    }

    fn completed(&self, index: &Index) {
        let cluster = index.cluster();
        match (cluster.role(), self.watches.brokered_by(index.spec())) {
            (Role::Consumer, Some(brokered)) => self.enqueue_copies(brokered, cluster),
            // Related copies are known now: those that nobody lists any more can go.
            (Role::Consumer, None) => self.enqueue_consumer(cluster, None),
            (Role::Provider, _) if *index.spec() == self.watches.accept_apis => {
                let _ = self.accept_changes.send(AcceptChange::Complete(cluster.clone()));
            }
            (Role::Provider, Some(brokered)) => {
                self.records.copies_known(cluster, &brokered.kind);
                self.enqueue_concerned(cluster, Some(&brokered.kind));
                self.enqueue_stranded(cluster, Some(&brokered.kind));
                self.migrations.enqueue_open();
            }
            (Role::Provider, None) => self.enqueue_concerned(cluster, None),
            (Role::Coordination, _)
                if [&self.watches.signing_key, &self.watches.signing_backup].contains(&index.spec()) =>
            {
                self.signing.wake();
            }
            (Role::Coordination, _) if self.watches.cluster_secrets.iter().any(|own| own.spec == *index.spec()) => {
                let _ = self.secret_changes.send(SecretChange::Complete);
            }
            (Role::Coordination | Role::Compute, _) => self.hub_completed(index),
        }
    }

    fn kind(&self, cluster: &ClusterName, gvk: &GroupVersionKind, state: &KindState, schema: Option<&Value>) {
        let kind = Kind::from(gvk);
        if *state != KindState::Missing {
            self.set_schema(cluster, kind.clone(), schema.map(Schema::compile));
        }
        match cluster.role() {
            Role::Consumer => self.enqueue_consumer(cluster, Some(&kind)),
            Role::Provider => {
                if let KindState::Found(info) = state {
                    self.set_plural(cluster, &kind, &info.plural);
                }
                // Its CRDs are its own to edit, as often as it likes.
                for key in self.concerned(cluster, Some(&kind)) {
                    self.enqueue_later(key, cluster);
                }
            }
            Role::Coordination | Role::Compute => self.hub_kind(&kind, state),
        }
    }

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
                self.enqueue_concerned(cluster, None);
                if matches!(state, ClusterState::Ready) {
                    self.enqueue_stranded(cluster, None);
                }
                self.migrations.enqueue_open();
            }
            Role::Coordination | Role::Compute => self.hub_state(state),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_hash_leads() {
        assert_eq!(leading_hash("a8b70b353e97-cert"), Some(("a8b70b353e97", "cert")));
        assert_eq!(leading_hash("a8b70b353e97-"), None);
        assert_eq!(leading_hash("certificate1-x"), None);
        assert_eq!(leading_hash("a8b70b353e9-x"), None);
    }
}
