//! `MovedOrigin`: which origin a Migration is about: the one that its annotations name, or the one that the copy that it is to
//! leave was made from.

use std::sync::Arc;

use broker_api::{ClusterName, condition, keys};
use runtime_effect::{kind::Kind, seen::Seen, view::View};

use super::known::{Known, Side};
use crate::{assignment::KeyRing, copy, naming::leading_hash, snapshot::OriginKey};

/// Which origin a Migration is about.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum MovedOrigin {
    /// Not known yet.
    #[default]
    Unknown,
    /// This one, with this uid.
    Known(OriginKey, Box<str>),
    /// None: CamelCase word, and why.
    Refused(&'static str, String),
}

impl MovedOrigin {
    /// Whether it is the object with this uid.
    pub fn is_of(&self, uid: &str) -> bool {
        matches!(self, Self::Known(_, own) if **own == *uid)
    }

    /// The origin, if it is known.
    pub fn origin(&self) -> Option<&OriginKey> {
        match self {
            Self::Known(key, _) => Some(key),
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

fn no_copy(from: &Side, why: &str) -> MovedOrigin {
    MovedOrigin::Refused(
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
fn signed(kind: &Arc<Kind>, from: &Side, copy: &View, ring: &KeyRing) -> Option<(OriginKey, Box<str>)> {
    let mark = |name: &str| copy.annotation(name);
    let origin = OriginKey {
        cluster: ClusterName::consumer(mark(keys::CONSUMER_CLUSTER)?),
        gvk: Arc::clone(kind),
        namespace: mark(keys::CONSUMER_NAMESPACE)?.into(),
        name: mark(keys::CONSUMER_NAME)?.into(),
    };
    let uid = mark(keys::CONSUMER_UID)?;
    copy::signed_origin(&origin, uid, &from.provider, copy, ring)?;
    // What was copied with its marks to another place is no copy.
    is_copy_of(from, &origin).then(|| (origin, uid.into()))
}

/// The origin of the copy in `spec.from`, by what there is under its name.
fn by_copy(kind: &Arc<Kind>, from: &Side, found: impl FnOnce() -> Seen, ring: Option<&KeyRing>) -> MovedOrigin {
    // Copies are named so; what is not is never read.
    if leading_hash(&from.key.name).is_none() {
        return no_copy(from, "is not named like a copy");
    }
    match (found(), ring) {
        (Seen::Unknown, _) | (_, None) => MovedOrigin::Unknown,
        (Seen::Absent, _) => no_copy(from, "does not exist"),
        (Seen::Present(copy), Some(ring)) => match signed(kind, from, &copy, ring) {
            Some((origin, uid)) => MovedOrigin::Known(origin, uid),
            None => no_copy(from, "does not carry the broker's signature"),
        },
    }
}

/// Whether a provider is one of this broker's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engaged {
    /// After a start the sources of clusters are read one after the other.
    Unknown,
    /// It is.
    Yes,
    /// It is not, or not any more.
    No,
}

/// What it takes to tell which origin a Migration is about.
pub struct Surroundings<'a> {
    /// The broker's own namespace.
    pub own: &'a str,
    /// Whether no Migration may be in the namespace where this one is, if it is not the broker's own.
    pub reserved: bool,
    /// The kind of `spec.from` as it is shared among the keys of its origins; `None`: it is not brokered.
    pub kind: Option<&'a Arc<Kind>>,
    /// Whether a provider is one of this broker's.
    pub engaged: &'a dyn Fn(&ClusterName) -> Engaged,
    /// What there is under the name of the copy in `spec.from`.
    pub copy: &'a dyn Fn() -> Seen,
    /// Signing keys.
    pub ring: Option<&'a KeyRing>,
    /// Whether another Migration makes the copy in `spec.from` first: see [`Known::makes_for`].
    pub is_made: &'a dyn Fn() -> bool,
}

impl MovedOrigin {
    /// Which origin a Migration is about, as far as can be told.
    pub fn of(known: &Known, around: &Surroundings<'_>) -> Self {
        let from = &known.from;
        if let Some((reason, why)) = misplaced(known, around.own, around.reserved) {
            return Self::Refused(reason, why);
        }
        let Some(kind) = around.kind else {
            let why = format!(
                "spec.from.gvk is {} {}, which is not among the broker's --watch-kind",
                from.kind.kind,
                from.kind.api_version()
            );
            return Self::Refused("KindNotBrokered", why);
        };
        let flaw = flaw(known).filter(|_| known.view.by_person && known.is_new());
        if let Some((reason, why)) = flaw {
            return Self::Refused(reason, why);
        }
        // What the broker has taken up carries its origin, whatever became of the copy since.
        if let Some((carried, _)) = &known.carried {
            let origin = carried.origin(kind);
            if is_copy_of(from, &origin) && is_copy_of(&known.to, &origin) {
                return Self::Known(origin, carried.uid.clone());
            }
        }
        for (side, field) in [(from, "spec.from"), (&known.to, "spec.to")] {
            match (around.engaged)(&side.provider) {
                Engaged::Yes => {}
                Engaged::Unknown => return Self::Unknown,
                Engaged::No => {
                    let why = format!("{field} names {}, which is no provider of this broker", side.provider.name());
                    return Self::Refused("ProviderUnknown", why);
                }
            }
        }
        match by_copy(kind, from, around.copy, around.ring) {
            // It has its turn when the copy that it is to leave has been made.
            Self::Refused(..) if (around.is_made)() => Self::Unknown,
            about => about,
        }
    }
}

#[cfg(test)]
mod tests {
    use runtime_effect::object_key::ObjectKey;
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        assignment::{Key, OriginRef, Seal},
        migration::known::tests::{migration, ours, view},
    };

    fn ring(secret: u8) -> KeyRing {
        KeyRing::new(vec![Key { id: "k1".into(), secret: vec![secret; 32] }]).unwrap()
    }

    fn kind() -> Arc<Kind> {
        let (group, version) = ("example.platform-mesh.io".into(), "v1alpha1".into());
        Arc::new(Kind { group, version, kind: "Certificate".into() })
    }

    fn origin(consumer: &str) -> OriginKey {
        let cluster = ClusterName::consumer(consumer);
        OriginKey { cluster, gvk: kind(), namespace: "n".into(), name: "cert".into() }
    }

    /// A copy of a consumer's `n/cert` that was signed for a provider.
    fn copy(provider: &str) -> Seen {
        let cluster = ClusterName::consumer("consumer#cluster");
        let subject = OriginRef {
            cluster: &cluster,
            group: "example.platform-mesh.io",
            kind: "Certificate",
            namespace: "n",
            name: "cert",
            uid: "1",
        };
        let signature = ring(1).sign_origin(&subject, provider, &Seal { epoch: 1, digest: [0; 8] });
        let object = json!({"metadata": {"name": "a8b70b353e97-cert", "namespace": "n", "uid": "c", "resourceVersion": "1", "annotations": {
            keys::CONSUMER_CLUSTER: "consumer#cluster", keys::CONSUMER_NAMESPACE: "n", keys::CONSUMER_NAME: "cert", keys::CONSUMER_UID: "1", keys::ORIGIN: signature,
        }}});
        Seen::Present(view(&object))
    }

    fn reason(about: &MovedOrigin) -> &str {
        match about {
            MovedOrigin::Refused(reason, _) => reason,
            MovedOrigin::Unknown => "Unknown",
            MovedOrigin::Known(..) => "Origin",
        }
    }

    #[test]
    fn the_origin_is_that_of_a_signed_copy_only() {
        let known = migration(&json!({}));
        let about = by_copy(&kind(), &known.from, || copy("one"), Some(&ring(1)));
        assert_eq!(about, MovedOrigin::Known(origin("consumer#cluster"), "1".into()));
        // Signed for another provider, or by somebody else.
        for (found, ring) in [(copy("two"), ring(1)), (copy("one"), ring(2))] {
            let about = by_copy(&kind(), &known.from, || found, Some(&ring));
            assert_eq!(reason(&about), "FromIsNoCopy");
        }
    }

    #[test]
    fn a_copy_that_was_taken_elsewhere_with_its_marks_is_none() {
        for patch in [json!({"namespace": "m"}), json!({"name": "a8b70b353e97-other"})] {
            let known = migration(&json!({"spec": {"from": patch, "to": patch}}));
            assert_eq!(reason(&by_copy(&kind(), &known.from, || copy("one"), Some(&ring(1)))), "FromIsNoCopy");
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
        let about = |found: Seen, ring: Option<&KeyRing>| by_copy(&kind(), &known.from, || found, ring);
        assert_eq!(about(Seen::Unknown, Some(&ring(1))), MovedOrigin::Unknown);
        assert_eq!(about(copy("one"), None), MovedOrigin::Unknown);
        assert_eq!(reason(&about(Seen::Absent, Some(&ring(1)))), "FromIsNoCopy");
    }

    #[test]
    fn an_object_that_is_not_named_like_a_copy_is_none() {
        let known = migration(&json!({"spec": {"from": {"name": "cert"}}}));
        let about = by_copy(&kind(), &known.from, || Seen::Unknown, Some(&ring(1)));
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

    /// What is around a Migration.
    struct Scene {
        reserved: bool,
        brokered: bool,
        engaged: fn(&ClusterName) -> Engaged,
        copy: fn() -> Seen,
        made: bool,
    }

    /// All is well.
    const WELL: Scene =
        Scene { reserved: false, brokered: true, engaged: |_| Engaged::Yes, copy: || copy("one"), made: false };

    fn about(known: &Known, scene: &Scene) -> MovedOrigin {
        let (kind, ring) = (kind(), ring(1));
        let around = Surroundings {
            own: "own",
            reserved: scene.reserved,
            kind: Some(&kind).filter(|_| scene.brokered),
            engaged: &scene.engaged,
            copy: &scene.copy,
            ring: Some(&ring),
            is_made: &|| scene.made,
        };
        MovedOrigin::of(known, &around)
    }

    #[test]
    fn what_is_misplaced_is_told_nothing_of_what_it_names() {
        let known = migration(&json!({"spec": {"from": {"gvk": {"kind": "Other"}, "namespace": "team-b"}}}));
        let blind = Scene { brokered: false, engaged: |_| panic!("looked"), copy: || panic!("looked"), ..WELL };
        assert_eq!(reason(&about(&known, &blind)), "NamespaceNotAllowed");
        let reserved = Scene { reserved: true, ..blind };
        assert_eq!(reason(&about(&migration(&json!({})), &reserved)), "NamespaceNotAllowed");
    }

    #[test]
    fn the_copy_is_looked_at_last() {
        let known = migration(&json!({}));
        let unlooked = Scene { copy: || panic!("looked"), ..WELL };
        assert!(about(&known, &WELL).is_of("1") && !about(&known, &WELL).is_of("2"));
        assert_eq!(reason(&about(&known, &Scene { brokered: false, ..unlooked })), "KindNotBrokered");
        for (provider, field) in [("one", "spec.from"), ("two", "spec.to")] {
            let known = match provider {
                "one" => migration(&json!({"spec": {"to": {"clusterName": "three"}}})),
                _ => migration(&json!({"spec": {"from": {"clusterName": "three"}}})),
            };
            let engaged = |provider: &ClusterName| if provider.name() == "three" { Engaged::Yes } else { Engaged::No };
            let why = format!("{field} names {provider}, which is no provider of this broker");
            let refused = MovedOrigin::Refused("ProviderUnknown", why);
            assert_eq!(about(&known, &Scene { engaged, ..unlooked }), refused);
            let engaged =
                |provider: &ClusterName| if provider.name() == "three" { Engaged::Yes } else { Engaged::Unknown };
            assert_eq!(about(&known, &Scene { engaged, ..unlooked }), MovedOrigin::Unknown);
        }
    }

    #[test]
    fn a_flaw_is_a_persons_and_told_before_anything_is_begun() {
        let flawed = |status: Value| migration(&json!({"spec": {"to": {"clusterName": "one"}}, "status": status}));
        assert_eq!(reason(&about(&flawed(json!({"state": "Pending"})), &WELL)), "SameProvider");
        assert_eq!(reason(&about(&flawed(json!({"state": "InitialInProgress"})), &WELL)), "Origin");
        let mut own = ours(7);
        own.to.provider = own.from.provider.clone();
        assert_eq!(reason(&about(&own, &WELL)), "Origin");
    }

    #[test]
    fn what_the_broker_has_taken_up_carries_its_origin() {
        let alone = Scene { engaged: |_| Engaged::No, copy: || panic!("looked"), ..WELL };
        let mut known = ours(7);
        known.carried.as_mut().unwrap().0.cluster = ClusterName::consumer("consumer#cluster");
        assert_eq!(about(&known, &alone), MovedOrigin::Known(origin("consumer#cluster"), "1".into()));
        // What it carries is not what its sides name.
        let other = || ObjectKey::new("n", "a8b70b353e97-other");
        let (mut from, mut to) = (known.clone(), known);
        (from.from.key, to.to.key) = (other(), other());
        for elsewhere in [from, to] {
            assert_eq!(reason(&about(&elsewhere, &alone)), "ProviderUnknown");
        }
    }

    #[test]
    fn a_copy_that_is_being_made_is_waited_for() {
        let known = migration(&json!({}));
        let absent = Scene { copy: || Seen::Absent, ..WELL };
        assert_eq!(reason(&about(&known, &absent)), "FromIsNoCopy");
        assert_eq!(about(&known, &Scene { made: true, ..absent }), MovedOrigin::Unknown);
        assert!(about(&known, &Scene { made: true, ..WELL }).is_of("1"), "it is there");
    }
}
