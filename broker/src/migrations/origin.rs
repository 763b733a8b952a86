//! Which origin a Migration is about: the one that its annotations name, or the one that the copy that it is to leave
//! was made from.

use broker_api::{ClusterName, condition, keys};
use broker_core::{
    assignment::{KeyRing, Subject},
    copy,
    snapshot::OriginKey,
};
use runtime_fleet::{
    index::Lookup,
    object::{Object, ObjectKey},
};

use super::known::{Known, Side};
use crate::{
    broker::{Broker, Brokered},
    observer::leading_hash,
};

/// Which origin a Migration is about.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum About {
    /// Not known yet.
    #[default]
    Unknown,
    /// This one, with this uid.
    Origin(OriginKey, Box<str>),
    /// None: CamelCase word, and why.
    Refused(&'static str, String),
}

impl About {
    /// Whether it is the object with this uid.
    pub fn is_of(&self, uid: &str) -> bool {
        matches!(self, Self::Origin(_, own) if **own == *uid)
    }

    /// The origin, if it is known.
    pub fn origin(&self) -> Option<&OriginKey> {
        match self {
            Self::Origin(key, _) => Some(key),
            Self::Unknown | Self::Refused(..) => None,
        }
    }
}

/// What is wrong with a Migration whatever else there is.
fn flaw(known: &Known) -> Option<(&'static str, String)> {
    let Known { from, to, .. } = known;
    if from.provider == to.provider {
        let why =
            format!("spec.from and spec.to are both at {}: name another provider in spec.to", from.provider.name());
        return Some(("SameProvider", why));
    }
    if from.kind != to.kind {
        let why = format!(
            "a copy is of its origin's kind wherever it is: write {} {} in spec.to.gvk, too",
            from.kind.kind,
            from.kind.api_version()
        );
        return Some(("KindsDiffer", why));
    }
    if from.key != to.key {
        let why = format!("a copy has the same name everywhere: write {} in spec.to, too", from.key);
        return Some(("NamesDiffer", why));
    }
    None
}

fn no_copy(from: &Side, why: &str) -> About {
    About::Refused(
        "FromIsNoCopy",
        format!("{} {} at {} {why}; name a copy in spec.from", from.kind.kind, from.key, from.provider.name()),
    )
}

/// Why a Migration may not be where it is. What it names is not looked at: that would tell what other namespaces hold.
/// `own` is the broker's namespace.
fn misplaced(known: &Known, own: &str, reserved: bool) -> Option<(&'static str, String)> {
    let namespace = &*known.key.namespace;
    if namespace == own {
        return None;
    }
    let elsewhere = [&known.from, &known.to].into_iter().find(|side| *side.key.namespace != *namespace);
    let why = match elsewhere {
        Some(side) => format!(
            "it is in namespace {namespace} and names a copy in {}: a Migration is in the namespace of its object, or in \
             the broker's own; create it there",
            side.key.namespace
        ),
        None if reserved => {
            format!("no Migration runs in namespace {namespace}, which is reserved or not among --migration-namespace")
        }
        None => return None,
    };
    Some((condition::NAMESPACE_NOT_ALLOWED, why))
}

/// Whether the copy of an origin would be there.
fn is_copy_of(side: &Side, origin: &OriginKey) -> bool {
    side.key.namespace == origin.namespace && *side.key.name == *copy::name(origin)
}

/// The origin that a copy's signature speaks of.
fn signed(brokered: &Brokered, from: &Side, copy: &Object, ring: &KeyRing) -> Option<(OriginKey, Box<str>)> {
    let marks = copy.marks().annotations;
    let mark = |name: &str| marks.get(name).map(String::as_str);
    let (namespace, name) = (mark(keys::CONSUMER_NAMESPACE)?, mark(keys::CONSUMER_NAME)?);
    let (cluster, uid) = (ClusterName::consumer(mark(keys::CONSUMER_CLUSTER)?), mark(keys::CONSUMER_UID)?);
    let kind = &brokered.kind;
    let subject = Subject { cluster: &cluster, group: &kind.group, kind: &kind.kind, namespace, name, uid };
    ring.verify_origin(&subject, from.provider.name(), mark(keys::ORIGIN)?)?;
    let origin = Broker::origin_key(&cluster, kind, &ObjectKey::new(namespace, name));
    // What was copied with its marks to another place is no copy.
    is_copy_of(from, &origin).then(|| (origin, uid.into()))
}

/// The origin of the copy in `spec.from`, by what the provider's index says of it.
fn by_copy(brokered: &Brokered, from: &Side, found: &Lookup, ring: Option<&KeyRing>) -> About {
    // Copies are named so; what is not is never read.
    if leading_hash(&from.key.name).is_none() {
        return no_copy(from, "is not named like a copy");
    }
    match (found, ring) {
        (Lookup::Unknown, _) | (_, None) => About::Unknown,
        (Lookup::Absent, _) => no_copy(from, "does not exist"),
        (Lookup::Found(copy), _) if !copy.has_body() => About::Unknown,
        (Lookup::Found(copy), Some(ring)) => match signed(brokered, from, copy, ring) {
            Some((origin, uid)) => About::Origin(origin, uid),
            None => no_copy(from, "does not carry the broker's signature"),
        },
    }
}

impl Broker {
    /// Which origin a Migration is about, as far as the indexes tell.
    pub(crate) fn about(&self, known: &Known) -> About {
        let from = &known.from;
        if let Some((reason, why)) = misplaced(known, &self.namespace, self.is_reserved(&known.key.namespace)) {
            return About::Refused(reason, why);
        }
        let brokered = self.watches.brokered.iter().find(|brokered| *brokered.kind == from.kind);
        let Some(brokered) = brokered else {
            let why = format!(
                "spec.from.gvk is {} {}, which is not among the broker's --watch-kind",
                from.kind.kind,
                from.kind.api_version()
            );
            return About::Refused("KindNotBrokered", why);
        };
        let flaw = flaw(known).filter(|_| known.view.by_person && known.is_new());
        if let Some((reason, why)) = flaw {
            return About::Refused(reason, why);
        }
        // What the broker has taken up carries its origin, whatever became of the copy since.
        if let Some((carried, _)) = &known.carried {
            let origin = Self::origin_key(&carried.cluster, &brokered.kind, &carried.key);
            if is_copy_of(from, &origin) && is_copy_of(&known.to, &origin) {
                return About::Origin(origin, carried.uid.clone());
            }
        }
        for (side, field) in [(from, "spec.from"), (&known.to, "spec.to")] {
            // After a start the sources of clusters are read one after the other.
            if self.fleet().cluster(&side.provider).is_some() {
                continue;
            }
            if self.departures.absent(&side.provider).is_none() {
                return About::Unknown;
            }
            let why = format!("{field} names {}, which is no provider of this broker", side.provider.name());
            return About::Refused("ProviderUnknown", why);
        }
        let provider = self.fleet().cluster(&from.provider);
        let index = provider.and_then(|provider| provider.index(&brokered.spec));
        let found = index.map_or(Lookup::Unknown, |index| index.get(&from.key));
        match by_copy(brokered, from, &found, self.ring.load().as_deref()) {
            // It has its turn when the copy that it is to leave has been made.
            About::Refused(..) if self.migrations.makes(&from.key, &from.provider, known) => About::Unknown,
            about => about,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use broker_core::assignment::{Key, Origin};
    use runtime_effect::kind::Kind;
    use runtime_fleet::watch::WatchSpec;
    use serde_json::json;

    use super::*;
    use crate::migrations::known::tests::migration;

    fn ring(secret: u8) -> KeyRing {
        KeyRing::new(vec![Key { id: "k1".into(), secret: vec![secret; 32] }]).unwrap()
    }

    fn brokered() -> Brokered {
        let kind =
            Kind { group: "example.platform-mesh.io".into(), version: "v1alpha1".into(), kind: "Certificate".into() };
        let gvk = kind.to_gvk();
        Brokered { kind: Arc::new(kind), gvk: gvk.clone(), spec: Arc::new(WatchSpec::all(gvk)) }
    }

    /// A copy of a consumer's `n/cert` that was signed for a provider.
    fn copy(provider: &str) -> Lookup {
        let cluster = ClusterName::consumer("consumer#cluster");
        let subject = Subject {
            cluster: &cluster,
            group: "example.platform-mesh.io",
            kind: "Certificate",
            namespace: "n",
            name: "cert",
            uid: "1",
        };
        let signature = ring(1).sign_origin(&subject, provider, &Origin { epoch: 1, digest: [0; 8] });
        let object = json!({"metadata": {"name": "a8b70b353e97-cert", "namespace": "n", "uid": "c", "resourceVersion": "1", "annotations": {
            keys::CONSUMER_CLUSTER: "consumer#cluster", keys::CONSUMER_NAMESPACE: "n", keys::CONSUMER_NAME: "cert", keys::CONSUMER_UID: "1", keys::ORIGIN: signature,
        }}});
        Lookup::Found(Arc::new(crate::conventions::object(&object).1))
    }

    fn reason(about: &About) -> &str {
        match about {
            About::Refused(reason, _) => reason,
            About::Unknown => "Unknown",
            About::Origin(..) => "Origin",
        }
    }

    #[test]
    fn the_origin_is_that_of_a_signed_copy_only() {
        let known = migration(&json!({}));
        let about = by_copy(&brokered(), &known.from, &copy("one"), Some(&ring(1)));
        let key = Broker::origin_key(
            &ClusterName::consumer("consumer#cluster"),
            &brokered().kind,
            &ObjectKey::new("n", "cert"),
        );
        assert_eq!(about, About::Origin(key, "1".into()));
        // Signed for another provider, or by somebody else.
        for (found, ring) in [(copy("two"), ring(1)), (copy("one"), ring(2))] {
            let about = by_copy(&brokered(), &known.from, &found, Some(&ring));
            assert_eq!(reason(&about), "FromIsNoCopy");
        }
    }

    #[test]
    fn a_copy_that_was_taken_elsewhere_with_its_marks_is_none() {
        for patch in [json!({"namespace": "m"}), json!({"name": "a8b70b353e97-other"})] {
            let known = migration(&json!({"spec": {"from": patch, "to": patch}}));
            assert_eq!(reason(&by_copy(&brokered(), &known.from, &copy("one"), Some(&ring(1)))), "FromIsNoCopy");
        }
    }

    #[test]
    fn a_migration_is_in_its_objects_namespace_or_the_brokers_own() {
        let why = |patch, own: &str, reserved| misplaced(&migration(&patch), own, reserved).map(|(reason, _)| reason);
        assert_eq!(why(json!({}), "own", false), None);
        assert_eq!(why(json!({}), "own", true), Some("NamespaceNotAllowed"));
        assert_eq!(why(json!({}), "n", true), None, "the broker's own");
        for side in ["from", "to"] {
            let elsewhere = json!({"spec": {side: {"namespace": "team-b"}}});
            assert_eq!(why(elsewhere.clone(), "own", false), Some("NamespaceNotAllowed"));
            assert_eq!(why(elsewhere, "n", false), None);
        }
    }

    #[test]
    fn what_is_not_known_yet_is_no_refusal() {
        let known = migration(&json!({}));
        let about = |found: &Lookup, ring: Option<&KeyRing>| by_copy(&brokered(), &known.from, found, ring);
        assert_eq!(about(&Lookup::Unknown, Some(&ring(1))), About::Unknown);
        assert_eq!(about(&copy("one"), None), About::Unknown);
        assert_eq!(reason(&about(&Lookup::Absent, Some(&ring(1)))), "FromIsNoCopy");
    }

    #[test]
    fn an_object_that_is_not_named_like_a_copy_is_none() {
        let known = migration(&json!({"spec": {"from": {"name": "cert"}}}));
        let about = by_copy(&brokered(), &known.from, &Lookup::Unknown, Some(&ring(1)));
        assert_eq!(reason(&about), "FromIsNoCopy");
    }

    #[test]
    fn both_sides_are_the_same_copy_at_two_providers() {
        let reason = |patch| flaw(&migration(&patch)).map(|(reason, _)| reason);
        assert_eq!(reason(json!({})), None);
        assert_eq!(reason(json!({"spec": {"to": {"clusterName": "one"}}})), Some("SameProvider"));
        assert_eq!(reason(json!({"spec": {"to": {"name": "other"}}})), Some("NamesDiffer"));
        assert_eq!(reason(json!({"spec": {"to": {"gvk": {"version": "v2"}}}})), Some("KindsDiffer"));
    }
}
