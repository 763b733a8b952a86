//! Which AcceptAPIs speak of an origin, and how much room they have.
//!
//! An AcceptAPI names a resource by its plural, and each API server gives plurals as it likes. What counts is the word of
//! the provider that the AcceptAPI is in; what a consumer calls its kind decides nothing.

use std::{
    sync::{Arc, PoisonError},
    time::Duration,
};

use broker_api::{ClusterName, Gvr, condition};
use broker_core::acceptance::{AcceptId, Acceptance};
use runtime_effect::kind::Kind;
use runtime_fleet::{
    cluster::Cluster,
    index::{Change, Index},
    object::{Object, ObjectKey},
};

use crate::{
    broker::{Broker, Brokered},
    observer::leading_hash,
    registry::Entry,
};

/// How long room that has come is gathered before those who wait for it are looked at.
const GATHER: Duration = Duration::from_millis(100);

/// AcceptAPIs that speak of a kind, and for each provider whether these are all of its own.
pub(crate) struct Spoken {
    pub(crate) acceptances: Vec<Arc<Acceptance>>,
    pub(crate) known: Vec<bool>,
}

impl Broker {
    /// A provider has said under which plural it serves a kind.
    pub(crate) fn set_plural(&self, provider: &ClusterName, kind: &Kind, plural: &str) {
        let mut plurals = self.plurals.write().unwrap_or_else(PoisonError::into_inner);
        plurals.entry(provider.clone()).or_default().insert(kind.clone(), plural.to_owned());
    }

    /// The AcceptAPIs that speak of a kind at these providers. `consumers_plural` is for words only: a provider that does
    /// not serve the kind gets nothing whatever its AcceptAPIs say, but people are told which of them need its CRD.
    pub(crate) fn acceptances_of(&self, kind: &Kind, providers: &[Arc<Cluster>], consumers_plural: &str) -> Spoken {
        let registry = self.registry.load();
        let plurals = self.plurals.read().unwrap_or_else(PoisonError::into_inner);
        let mut gvr = Gvr { group: kind.group.clone(), version: kind.version.clone(), resource: String::new() };
        let mut spoken = Spoken { acceptances: Vec::new(), known: Vec::with_capacity(providers.len()) };
        for provider in providers {
            let said = plurals.get(provider.name()).and_then(|kinds| kinds.get(kind));
            let plural = said.map_or(consumers_plural, String::as_str);
            if gvr.resource != plural {
                plural.clone_into(&mut gvr.resource);
            }
            spoken.acceptances.extend(registry.accepting(provider.name(), &gvr).iter().cloned());
            spoken.known.push(said.is_some() && registry.knows(provider.name()));
        }
        spoken
    }

    /// The brokered kind that a resource is at a provider, as that says or has last said.
    pub(crate) fn brokered_at(&self, provider: &ClusterName, gvr: &Gvr) -> Option<&Brokered> {
        let plurals = self.plurals.read().unwrap_or_else(PoisonError::into_inner);
        let kinds = plurals.get(provider)?;
        let is = |brokered: &&Brokered| {
            brokered.kind.group == gvr.group
                && brokered.kind.version == gvr.version
                && kinds.get(&*brokered.kind) == Some(&gvr.resource)
        };
        self.watches.brokered.iter().find(is)
    }

    /// What is to be told of an AcceptAPI: whether it is used, a word, and words.
    pub(crate) fn verdict(&self, id: &AcceptId, entry: &Entry) -> (bool, &'static str, String) {
        let acceptance = match &entry.compiled {
            Err(errors) if entry.too_many => return (false, condition::TOO_MANY, errors.join("; ")),
            Err(errors) => return (false, condition::INVALID, errors.join("; ")),
            Ok(acceptance) => acceptance,
        };
        if let Some(why) = acceptance.silence() {
            return (false, condition::EXPRESSION_SILENT, why);
        }
        let gvr = &acceptance.gvr;
        let is = |brokered: &&Brokered, cluster: &Arc<Cluster>| {
            brokered.kind.group == gvr.group
                && brokered.kind.version == gvr.version
                && cluster.kind(&brokered.gvk).found().is_some_and(|info| info.plural == gvr.resource)
        };
        let served = |cluster: &Arc<Cluster>| self.watches.brokered.iter().find(|brokered| is(brokered, cluster));
        let Some(brokered) = self.fleet().cluster(&id.provider).and_then(|provider| served(&provider)) else {
            let Gvr { group, version, resource } = gvr;
            // Others' words decide which of the two is told, nothing else.
            if self.fleet().clusters().iter().any(|cluster| served(cluster).is_some()) {
                let message = format!("this cluster does not serve {resource}.{version}.{group}; install its CRD");
                return (false, condition::KIND_MISSING, message);
            }
            let message = format!(
                "no cluster serves {resource}.{version}.{group} among the kinds that the broker watches; check gvr, or add the kind to the broker's --watch-kind"
            );
            return (false, "NotWatched", message);
        };
        if let Some(policy) = acceptance.policy() {
            if acceptance.is_suspended() {
                let message = format!(
                    "takes nothing new until the platform's policy for this provider can be read: {}",
                    policy.errors().join("; ")
                );
                return (false, condition::POLICY_INVALID, message);
            }
            if !policy.serves(&brokered.kind) {
                let message = format!("the platform's policy does not let this provider serve {}", brokered.kind.kind);
                return (false, condition::NOT_PERMITTED, message);
            }
        }
        let mut message = if acceptance.is_draining() {
            "cordoned and being drained: its objects move to other providers".to_owned()
        } else if acceptance.cordoned {
            "in use for the objects that are here; cordoned for new ones".to_owned()
        } else {
            "in use".to_owned()
        };
        let cuts = acceptance.cuts();
        if !cuts.is_empty() {
            message.push_str("; by the platform's policy for this provider ");
            message.push_str(&cuts.join(", "));
        }
        let slow = acceptance.slow_for();
        if slow > 0 {
            let why = "; spec.expression has run out of time again and again for objects of";
            return (true, condition::EXPRESSION_SILENT, format!("{message}{why} {slow} consumers: simplify it"));
        }
        (true, "Ready", message)
    }

    /// Objects that an AcceptAPI holds: those that are counted for it, and, where it is the only one for its resource at
    /// its provider, the copies that no known origin accounts for.
    pub(crate) fn placed(&self, id: &AcceptId, gvr: Option<&Gvr>) -> u64 {
        let counted = self.records.count(id);
        let Some(gvr) = gvr.filter(|gvr| self.registry.load().accepting(&id.provider, gvr).len() == 1) else {
            return counted;
        };
        let brokered = self.brokered_at(&id.provider, gvr);
        counted + brokered.map_or(0, |brokered| self.records.strays(&id.provider, &brokered.kind))
    }

    /// Whether a provider holds a copy of ours under this key.
    pub(crate) fn holds_copy(&self, provider: &ClusterName, kind: &Kind, copy: &ObjectKey) -> bool {
        let spec = self.watches.brokered.iter().find(|brokered| *brokered.kind == *kind).map(|brokered| &brokered.spec);
        let index = spec.and_then(|spec| self.fleet().cluster(provider)?.index(spec));
        index.is_some_and(|index| is_held(&index, copy))
    }

    /// A copy came, changed or went: whether it takes up room for its origin, or by itself.
    pub(crate) fn recount(&self, index: &Index, brokered: &Brokered, change: &Change) {
        let ours = |object: &Option<Arc<Object>>| object.as_ref().is_some_and(|object| object.applied_by_us);
        if leading_hash(&change.key.name).is_none() || ours(&change.old) == ours(&change.new) {
            return;
        }
        let (provider, kind) = (index.cluster(), &brokered.kind);
        let origins = self.origins_of(brokered, &change.key, &[change.old.as_ref(), change.new.as_ref()]);
        let went = self.records.copy_moved(provider, kind, &change.key, &origins, || is_held(index, &change.key));
        if went && self.limits(provider, brokered) {
            self.room_came(kind);
        }
    }

    /// Whether a provider limits how many objects of a kind it takes.
    fn limits(&self, provider: &ClusterName, brokered: &Brokered) -> bool {
        let plurals = self.plurals.read().unwrap_or_else(PoisonError::into_inner);
        let Some(plural) = plurals.get(provider).and_then(|kinds| kinds.get(&*brokered.kind)) else { return false };
        let Kind { group, version, .. } = &*brokered.kind;
        let gvr = Gvr { group: group.clone(), version: version.clone(), resource: plural.clone() };
        self.registry.load().accepting(provider, &gvr).iter().any(|acceptance| acceptance.capacity.is_some())
    }

    /// Looks at those who wait for room, once for all that comes at about the same time.
    fn room_came(&self, kind: &Arc<Kind>) {
        let roomy = || self.roomy.lock().unwrap_or_else(PoisonError::into_inner);
        if !roomy().insert(Arc::clone(kind)) {
            return;
        }
        let (broker, kind) = (self.itself(), Arc::clone(kind));
        tokio::spawn(async move {
            tokio::time::sleep(GATHER).await;
            broker.roomy.lock().unwrap_or_else(PoisonError::into_inner).remove(&kind);
            broker.enqueue_waiting(&kind);
        });
    }
}

/// Whether there is a copy of ours under this key.
fn is_held(index: &Index, copy: &ObjectKey) -> bool {
    leading_hash(&copy.name).is_some() && index.get(copy).found().is_some_and(|object| object.applied_by_us)
}
