//! Which AcceptAPIs speak of an origin, and how much room they have.
//!
//! An AcceptAPI names a resource by its plural, and each API server gives plurals as it likes. What counts is the word of
//! the provider that the AcceptAPI is in; what a consumer calls its kind decides nothing.

use std::{collections::BTreeMap, sync::Arc};

use broker_api::{ClusterName, Gvr, condition};
use broker_core::{
    acceptance::{AcceptId, Acceptance},
    naming::leading_hash,
};
use runtime_effect::kind::Kind;
use runtime_fleet::{
    cluster::Cluster,
    index::{Change, Index},
    object::{Object, ObjectKey},
};

use super::registry::{Entry, Registry};
use crate::{broker::Broker, gathered::gather, watches::Brokered};

impl Broker {
    /// The AcceptAPIs that speak of a kind, by provider, engaged or not. `consumers_plural` is for words only: a provider
    /// that does not serve the kind gets nothing whatever its AcceptAPIs say, but people are told which of them need its CRD.
    pub(crate) fn acceptances_of<'r>(
        &self,
        registry: &'r Registry,
        kind: &Kind,
        consumers_plural: &str,
    ) -> BTreeMap<&'r ClusterName, &'r [Arc<Acceptance>]> {
        let mut plurals = self.clusters.plurals.of(kind);
        if !plurals.iter().any(|plural| **plural == *consumers_plural) {
            plurals.push(consumers_plural.into());
        }
        let mut spoken = BTreeMap::new();
        for plural in plurals {
            let gvr = gvr(kind, &plural);
            for provider in registry.speaking(&gvr) {
                let said = self.clusters.plurals.said(provider, kind);
                if said.as_deref().unwrap_or(consumers_plural) == &*plural {
                    spoken.insert(provider, registry.accepting(provider, &gvr));
                }
            }
        }
        spoken
    }

    /// Whether all AcceptAPIs of a provider are known, and which of them speak of a kind.
    pub(crate) fn knows_acceptances(&self, registry: &Registry, provider: &ClusterName, kind: &Kind) -> bool {
        registry.knows(provider) && self.clusters.plurals.said(provider, kind).is_some()
    }

    /// The brokered kinds of a resource's group and version: which of them it is, its plural says.
    fn alike<'b>(&'b self, gvr: &Gvr) -> impl Iterator<Item = &'b Brokered> {
        let is = |brokered: &&Brokered| brokered.kind.group == gvr.group && brokered.kind.version == gvr.version;
        self.watches.brokered.iter().filter(is)
    }

    /// The brokered kind that a resource is at a provider, as that says or has last said.
    pub(crate) fn brokered_at(&self, provider: &ClusterName, gvr: &Gvr) -> Option<&Brokered> {
        let says = |plural: Arc<str>| *plural == *gvr.resource;
        self.alike(gvr).find(|brokered| self.clusters.plurals.said(provider, &brokered.kind).is_some_and(says))
    }

    /// The brokered kinds that an AcceptAPI for this resource at a provider may speak of: by the provider's own word for a
    /// kind, and where it has none (it does not serve the kind yet), by anybody's.
    pub(super) fn spoken_of<'b>(&'b self, provider: &ClusterName, gvr: &Gvr) -> impl Iterator<Item = &'b Brokered> {
        self.alike(gvr).filter(move |brokered| match self.clusters.plurals.said(provider, &brokered.kind) {
            Some(plural) => *plural == *gvr.resource,
            None => self.clusters.plurals.is_said(&brokered.kind, &gvr.resource),
        })
    }

    /// Whether a resource is of a kind that is watched, as far as any cluster has said.
    pub(super) fn watches_resource(&self, gvr: &Gvr) -> bool {
        self.alike(gvr).any(|brokered| self.clusters.plurals.is_said(&brokered.kind, &gvr.resource))
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
            cluster.kind(&brokered.gvk).found().is_some_and(|info| info.plural == gvr.resource)
        };
        let served = |cluster: Arc<Cluster>| self.alike(gvr).find(|brokered| is(brokered, &cluster));
        let Some(brokered) = self.fleet().cluster(&id.provider).and_then(served) else {
            let Gvr { group, version, resource } = gvr;
            // Others' words decide which of the two is told, nothing else.
            if self.watches_resource(gvr) {
                let message = format!("this cluster does not serve {resource}.{version}.{group}; install its CRD");
                return (false, condition::KIND_MISSING, message);
            }
            let message = format!(
                "no cluster serves {resource}.{version}.{group} among the kinds that the broker watches; check gvr, or add the kind to the broker's --watch-kind"
            );
            return (false, condition::NOT_WATCHED, message);
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
        let counted = self.origins.records.count(id);
        let Some(gvr) = gvr.filter(|gvr| self.accept_apis.load().accepting(&id.provider, gvr).len() == 1) else {
            return counted;
        };
        let brokered = self.brokered_at(&id.provider, gvr);
        counted + brokered.map_or(0, |brokered| self.origins.records.strays(&id.provider, &brokered.kind))
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
        let went =
            self.origins.records.copy_moved(provider, kind, &change.key, &origins, || is_held(index, &change.key));
        // It may count for an AcceptAPI by itself, or no longer.
        self.recounted(provider, brokered, went);
    }

    /// All copies of a kind at a provider have been seen.
    pub(crate) fn recount_all(&self, index: &Index, brokered: &Brokered) {
        let provider = index.cluster();
        if self.origins.records.copies_known(provider, &brokered.kind, |copy| is_held(index, copy)) {
            self.recounted(provider, brokered, true);
        }
    }

    /// `went`: a copy that no known origin accounted for.
    fn recounted(&self, provider: &ClusterName, brokered: &Brokered, went: bool) {
        self.enqueue_statuses(provider);
        if went && self.limits(provider, brokered) {
            self.room_came(&brokered.kind);
        }
    }

    /// Whether a provider limits how many objects of a kind it takes.
    fn limits(&self, provider: &ClusterName, brokered: &Brokered) -> bool {
        let Some(plural) = self.clusters.plurals.said(provider, &brokered.kind) else { return false };
        let gvr = gvr(&brokered.kind, &plural);
        self.accept_apis.load().accepting(provider, &gvr).iter().any(|acceptance| acceptance.capacity.is_some())
    }

    /// Looks at those who wait for room, once for all that comes at about the same time.
    pub(crate) fn room_came(&self, kind: &Arc<Kind>) {
        gather(
            self.itself(),
            |broker: &Self| &broker.accept_apis.roomy,
            Arc::clone(kind),
            |broker, kind| broker.origins.enqueue_waiting(kind),
        );
    }
}

/// A kind under this plural.
fn gvr(kind: &Kind, plural: &str) -> Gvr {
    Gvr { group: kind.group.clone(), version: kind.version.clone(), resource: plural.to_owned() }
}

/// Whether there is a copy of ours under this key.
fn is_held(index: &Index, copy: &ObjectKey) -> bool {
    leading_hash(&copy.name).is_some() && index.get(copy).found().is_some_and(|object| object.applied_by_us)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::conventions;

    #[tokio::test]
    async fn each_provider_is_taken_at_its_own_word_for_a_kind() {
        let (broker, _channels) = Broker::of_one_kind();
        let kind = Arc::clone(&broker.watches.brokered[0].kind);
        let mut registry = Registry::default();
        for (provider, says, accepts) in [
            ("one", Some("ks"), "ks"),
            ("says-otherwise", Some("kays"), "ks"),
            ("silent", None, "ks"),
            ("other-plural", Some("kays"), "kays"),
            ("silent-too", None, "kays"),
        ] {
            let provider = ClusterName::provider(provider);
            if let Some(plural) = says {
                broker.clusters.plurals.set(&provider, &kind, plural);
            }
            let (key, object) = conventions::object(&json!({
                "apiVersion": "broker.platform-mesh.io/v1alpha1", "kind": "AcceptAPI",
                "metadata": {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "1", "generation": 1},
                "spec": {"gvr": {"group": "g", "version": "v1", "resource": accepts}},
            }));
            let id = AcceptId { provider: provider.clone(), namespace: key.namespace, name: key.name };
            let entry = Entry::read(&object, None).compiled(&id, &object, &broker.evaluator, &Arc::default());
            registry.take(&provider, [(id, Some(Arc::new(entry)))].into());
        }
        let spoken = |plural: &str| {
            let spoken = broker.acceptances_of(&registry, &kind, plural);
            assert!(spoken.values().all(|acceptances| acceptances.len() == 1));
            spoken.keys().map(|provider| provider.name().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(spoken("ks"), ["one", "other-plural", "silent"]);
        assert_eq!(spoken("kays"), ["one", "other-plural", "silent-too"]);
        assert_eq!(spoken(""), ["one", "other-plural"]);
        let one = ClusterName::provider("one");
        assert!(!broker.knows_acceptances(&registry, &one, &kind), "there may be more");
        registry.mark_known(&one);
        assert!(broker.knows_acceptances(&registry, &one, &kind));
        let silent = ClusterName::provider("silent");
        registry.mark_known(&silent);
        assert!(!broker.knows_acceptances(&registry, &silent, &kind), "nobody knows which of them speak of the kind");
    }
}
