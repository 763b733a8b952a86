//! `Known`: one Migration, as it was read.

use std::{collections::BTreeMap, sync::Arc};

use broker_api::{ClusterName, Migration, MigrationRef, MigrationState, Role, keys, migration::millis_of};
use runtime_effect::{kind::Kind, object_key::ObjectKey, view::View};
use serde::Deserialize as _;

use crate::{
    assignment::{Errand, KeyRing, Maker, OriginRef},
    movement::MigrationView,
    snapshot::OriginKey,
};

/// The copy on one side of a move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side {
    /// Its provider.
    pub provider: ClusterName,
    /// Its kind.
    pub kind: Kind,
    /// Its namespace and name.
    pub key: ObjectKey,
}

/// The origin that a Migration is about, as the broker has written and signed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Carried {
    /// Consumer cluster.
    pub cluster: ClusterName,
    /// Namespace and name.
    pub key: ObjectKey,
    /// uid.
    pub uid: Box<str>,
}

impl Carried {
    /// Its key; `kind` is shared among all origins of that kind.
    pub fn origin(&self, kind: &Arc<Kind>) -> OriginKey {
        let ObjectKey { namespace, name } = self.key.clone();
        OriginKey { cluster: self.cluster.clone(), gvk: Arc::clone(kind), namespace, name }
    }
}

/// One Migration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// Its namespace and name.
    pub key: ObjectKey,
    /// Its uid.
    pub uid: Box<str>,
    /// What concerns the origin.
    pub view: MigrationView,
    /// The copy that is left.
    pub from: Side,
    /// The copy that takes over.
    pub to: Side,
    /// Whether a finalizer holds it: something of it may be left although it has ended.
    pub held: bool,
    /// `status.id`.
    pub id: Option<String>,
    /// The origin that its annotations name, and who made it, as the broker's signature proves.
    pub carried: Option<(Carried, Maker)>,
    /// Whether signatures could be told from forgeries. Without keys nothing is decided.
    pub judged: bool,
}

/// `core` is the core group, as in `status.relatedResources`.
pub fn kind_of(gvk: &broker_api::Gvk) -> Kind {
    let group = if gvk.group == "core" { "" } else { gvk.group.as_str() };
    Kind { group: group.into(), version: gvk.version.clone(), kind: gvk.kind.clone() }
}

fn side(place: &MigrationRef, namespace: &str) -> Side {
    let provider = ClusterName::written(Role::Provider, &place.cluster_name);
    let namespace = place.namespace.as_deref().unwrap_or(namespace);
    Side { provider, kind: kind_of(&place.gvk), key: ObjectKey::new(namespace, place.name.as_str()) }
}

/// What the annotations say, if the broker's signature is among them.
fn carried(
    annotations: &BTreeMap<String, String>,
    kind: &Kind,
    errand: &Errand<'_>,
    ring: &KeyRing,
) -> Option<(Carried, Maker)> {
    let mark = |name: &str| annotations.get(name).map(String::as_str);
    let (cluster, name) = (ClusterName::consumer(mark(keys::CONSUMER_CLUSTER)?), mark(keys::CONSUMER_NAME)?);
    let (namespace, uid) = (mark(keys::CONSUMER_NAMESPACE).unwrap_or_default(), mark(keys::CONSUMER_UID)?);
    let subject = OriginRef { cluster: &cluster, group: &kind.group, kind: &kind.kind, namespace, name, uid };
    let maker = ring.verify_migration(&subject, errand, mark(keys::ORIGIN)?)?;
    let key = ObjectKey::new(namespace, name);
    Some((Carried { cluster, key, uid: uid.into() }, maker))
}

impl Known {
    /// Reads a Migration. The API server has checked it against the CRD; what it let through nevertheless is an error.
    ///
    /// Anybody may write its marks: they count with a signature. One that was found good once, in `before`, stays so while
    /// the Migration is there: whoever takes it away has it put back.
    pub fn parse(
        key: &ObjectKey,
        object: &View,
        ring: Option<&KeyRing>,
        before: Option<&Self>,
    ) -> Result<Self, String> {
        let read = Migration::deserialize(&*object.value).map_err(|error| error.to_string())?;
        let Migration { metadata, spec, status } = read;
        let status = status.unwrap_or_default();
        let (from, to) = (side(&spec.from, &key.namespace), side(&spec.to, &key.namespace));
        let before = before.filter(|before| before.uid == object.uid).and_then(|before| before.carried.clone());
        let carried = before.or_else(|| {
            let errand = Errand {
                namespace: &key.namespace,
                name: &key.name,
                uid: &object.uid,
                from: from.provider.name(),
                to: to.provider.name(),
            };
            carried(&metadata.annotations.unwrap_or_default(), &from.kind, &errand, ring?)
        });
        let ended = matches!(status.state, MigrationState::CutoverCompleted | MigrationState::Failed);
        let created = metadata.creation_timestamp.as_ref().map_or(0, millis_of);
        // The conditions turn when it ends, and not again.
        let turned = status.conditions.iter().map(|condition| millis_of(&condition.last_transition_time)).max();
        Ok(Self {
            key: key.clone(),
            uid: object.uid.clone(),
            view: MigrationView {
                namespace: key.namespace.to_string(),
                name: key.name.to_string(),
                by_person: !matches!(carried, Some((_, Maker::Broker(_)))),
                from: from.provider.clone(),
                to: to.provider.clone(),
                force: spec.force,
                state: status.state,
                deleting: object.deleting,
                aborted: spec.abort,
                created,
                ended: ended.then(|| turned.unwrap_or(created)),
            },
            from,
            to,
            held: object.finalizers().next().is_some(),
            id: status.id,
            judged: ring.is_some() || carried.is_some(),
            carried,
        })
    }

    /// Whether nothing has been begun for it.
    pub fn is_new(&self) -> bool {
        matches!(self.view.state, MigrationState::Unknown | MigrationState::Pending)
    }

    /// Who made it, as far as that is proven.
    pub fn maker(&self) -> Maker {
        self.carried.as_ref().map_or(Maker::Person, |(_, maker)| *maker)
    }

    /// The epoch of the move that the broker made it for.
    pub fn epoch(&self) -> Option<u64> {
        match self.maker() {
            Maker::Broker(epoch) => Some(epoch),
            Maker::Person => None,
        }
    }

    /// Whether anything is left to do for it but to be removed in the end.
    pub fn is_open(&self) -> bool {
        !self.view.has_ended() || self.view.deleting || self.held
    }

    /// Whether this one makes the copy that another of the same copy's name is to leave, and goes first: the other has its
    /// turn when that is done. `has_origin`: it is known which origin this one is about.
    pub fn makes_for(&self, has_origin: bool, other: &Self) -> bool {
        let (own, others) = (self.view.created, other.view.created);
        // Of two that were made at once, one that has an origin goes before one that waits for it.
        let before = own < others || own == others && has_origin;
        self.key != other.key && self.is_open() && self.to.provider == other.from.provider && before
    }

    /// The copies that the next decision looks at: both while a stage runs, and as long as it is not known which origin it is
    /// about the one that tells. `has_origin`: that is known.
    pub fn looks_at(&self, has_origin: bool) -> impl Iterator<Item = &Side> {
        let runs = matches!(self.view.state, MigrationState::InitialInProgress | MigrationState::CutoverInProgress);
        let from = self.is_open() && (runs || !has_origin);
        from.then_some(&self.from).into_iter().chain(runs.then_some(&self.to))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::assignment::Key;

    pub(crate) fn ring() -> KeyRing {
        KeyRing::new(vec![Key { id: "k1".into(), secret: vec![1; 32] }]).unwrap()
    }

    /// Annotations of homer's `n/cert`, signed for the Migration `n/<name>` with this uid.
    fn marks(name: &str, uid: &str, maker: Maker) -> Value {
        let cluster = ClusterName::consumer("homer");
        let (group, kind) = ("example.platform-mesh.io", "Certificate");
        let subject = OriginRef { cluster: &cluster, group, kind, namespace: "n", name: "cert", uid: "1" };
        let errand = Errand { namespace: "n", name, uid, from: "one", to: "two" };
        let signature = ring().sign_migration(&subject, &errand, maker);
        json!({
            keys::CONSUMER_CLUSTER: "homer", keys::CONSUMER_NAMESPACE: "n", keys::CONSUMER_NAME: "cert",
            keys::CONSUMER_UID: "1", keys::ORIGIN: signature,
        })
    }

    /// The broker's Migration for the move of this epoch.
    pub(crate) fn ours(epoch: u64) -> Known {
        let name = format!("certificate-a8b70b353e97-{epoch}");
        let annotations = marks(&name, "u", Maker::Broker(epoch));
        migration(&json!({"metadata": {"name": name, "annotations": annotations}}))
    }

    /// A person's Migration of `a8b70b353e97-cert` from `one` to `two`, with these fields put over it.
    pub(crate) fn migration(patch: &Value) -> Known {
        read(patch, Some(&ring()), None)
    }

    fn read(patch: &Value, ring: Option<&KeyRing>, before: Option<&Known>) -> Known {
        let gvk = json!({"group": "example.platform-mesh.io", "version": "v1alpha1", "kind": "Certificate"});
        let side =
            |cluster: &str| json!({"gvk": gvk, "name": "a8b70b353e97-cert", "namespace": "n", "clusterName": cluster});
        let mut value = json!({
            "metadata": {"name": "m", "namespace": "n", "uid": "u", "resourceVersion": "1", "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"from": side("one"), "to": side("two")},
        });
        json_patch(&mut value, patch);
        let metadata = &value["metadata"];
        let text = |field: &str| metadata[field].as_str().unwrap();
        let key = ObjectKey::new(text("namespace"), text("name"));
        Known::parse(&key, &view(&value), ring, before).unwrap()
    }

    /// An object as it was seen.
    pub(crate) fn view(value: &Value) -> View {
        View {
            uid: value["metadata"]["uid"].as_str().unwrap().into(),
            resource_version: 1,
            deleting: value["metadata"].get("deletionTimestamp").is_some(),
            applied_by_us: false,
            value: Arc::new(value.clone()),
            unread: None,
            conditions_known: true,
        }
    }

    fn json_patch(target: &mut Value, patch: &Value) {
        match patch.as_object() {
            Some(fields) => {
                for (name, value) in fields {
                    json_patch(&mut target[name], value);
                }
            }
            None => *target = patch.clone(),
        }
    }

    #[test]
    fn a_migration_of_the_broker_is_told_from_a_persons() {
        let known = migration(&json!({}));
        assert!(known.view.by_person && known.epoch().is_none() && known.is_new());
        assert_eq!(known.view.from, ClusterName::provider("one"));
        assert_eq!(known.view.created, 1_767_225_600_000);

        let known = ours(1_767_225_600_123);
        assert!(!known.view.by_person);
        assert_eq!(known.epoch(), Some(1_767_225_600_123));
    }

    #[test]
    fn marks_count_with_a_signature_for_this_very_migration() {
        let with = |annotations: Value, patch: Value| {
            let mut whole =
                json!({"metadata": {"annotations": annotations, "labels": {keys::MANAGED_BY: keys::MANAGER}}});
            json_patch(&mut whole, &patch);
            migration(&whole)
        };
        let expected =
            Carried { cluster: ClusterName::consumer("homer"), key: ObjectKey::new("n", "cert"), uid: "1".into() };
        let known = with(marks("m", "u", Maker::Person), json!({}));
        assert_eq!((known.carried.clone(), known.view.by_person), (Some((expected, Maker::Person)), true));
        assert!(!with(marks("m", "u", Maker::Broker(7)), json!({})).view.by_person);
        let mut unsigned = marks("m", "u", Maker::Broker(7));
        unsigned.as_object_mut().unwrap().remove(keys::ORIGIN);
        let mut others = marks("m", "u", Maker::Broker(7));
        others[keys::CONSUMER_NAME] = json!("other");
        for (annotations, patch) in [
            (unsigned, json!({})),
            (others, json!({})),
            (marks("m", "u", Maker::Broker(7)), json!({"metadata": {"name": "m2"}})),
            (marks("m", "u", Maker::Broker(7)), json!({"spec": {"to": {"clusterName": "three"}}})),
            // Another one of its name.
            (marks("m", "u", Maker::Person), json!({"metadata": {"uid": "u2"}})),
        ] {
            let known = with(annotations, patch);
            assert!(known.carried.is_none() && known.view.by_person && known.judged, "{known:?}");
        }
    }

    #[test]
    fn what_was_proven_stays_so_until_another_takes_its_name() {
        let before = ours(7);
        let name = json!({"metadata": {"name": before.key.name}});
        let stripped = read(&name, Some(&ring()), Some(&before));
        assert_eq!((stripped.carried.clone(), stripped.epoch()), (before.carried.clone(), Some(7)));
        let recreated = json!({"metadata": {"name": before.key.name, "uid": "u2"}});
        assert!(read(&recreated, Some(&ring()), Some(&before)).view.by_person);
        assert!(!read(&name, None, None).judged, "without keys nobody knows");
    }

    #[test]
    fn a_cluster_may_be_written_with_its_role() {
        let known = migration(&json!({"spec": {"from": {"clusterName": "provider#one"}}}));
        assert_eq!(known.from.provider, ClusterName::provider("one"));
    }

    #[test]
    fn it_ended_when_its_conditions_turned_last() {
        let condition = |kind: &str, at: &str| json!({"type": kind, "status": "True", "reason": "R", "message": "", "lastTransitionTime": at});
        let conditions = json!([condition("A", "2026-01-01T00:00:05Z"), condition("B", "2026-01-01T00:00:09Z")]);
        let status = json!({"state": "InitialCompleted", "conditions": conditions});
        assert_eq!(migration(&json!({"status": status})).view.ended, None);
        let status = json!({"state": "Failed", "conditions": conditions});
        assert_eq!(migration(&json!({"status": status})).view.ended, Some(1_767_225_609_000));
    }

    #[test]
    fn it_is_open_until_nothing_of_it_is_left() {
        let open = |patch: Value| migration(&patch).is_open();
        assert!(open(json!({})));
        assert!(!open(json!({"status": {"state": "Failed"}})));
        assert!(open(json!({"status": {"state": "Failed"}, "metadata": {"finalizers": [keys::FINALIZER]}})));
        let deleting = json!({"deletionTimestamp": "2026-01-01T00:00:00Z"});
        assert!(open(json!({"status": {"state": "CutoverCompleted"}, "metadata": deleting})));
    }

    #[test]
    fn a_stage_looks_at_both_copies_and_who_has_no_origin_at_the_one_that_tells() {
        let looks_at = |patch: Value, has_origin: bool| -> Vec<String> {
            let known = migration(&patch);
            known.looks_at(has_origin).map(|side| side.provider.name().to_owned()).collect()
        };
        for state in ["InitialInProgress", "CutoverInProgress"] {
            assert_eq!(looks_at(json!({"status": {"state": state}}), true), ["one", "two"], "{state}");
        }
        for state in ["Pending", "InitialCompleted"] {
            assert!(looks_at(json!({"status": {"state": state}}), true).is_empty(), "{state}");
            assert_eq!(looks_at(json!({"status": {"state": state}}), false), ["one"], "{state}");
        }
        assert!(looks_at(json!({"status": {"state": "Failed"}}), false).is_empty());
    }

    #[test]
    fn who_makes_the_copy_that_another_is_to_leave_goes_first() {
        let next = migration(&json!({"spec": {"from": {"clusterName": "two"}, "to": {"clusterName": "three"}}}));
        let made = |patch: Value| {
            let mut whole = json!({"metadata": {"name": "first", "creationTimestamp": "2025-01-01T00:00:00Z"}});
            json_patch(&mut whole, &patch);
            migration(&whole)
        };
        assert!(made(json!({})).makes_for(false, &next));
        assert!(!made(json!({"metadata": {"name": "m"}})).makes_for(false, &next), "nobody waits for itself");
        assert!(!made(json!({"spec": {"to": {"clusterName": "three"}}})).makes_for(false, &next), "elsewhere");
        assert!(!made(json!({"status": {"state": "Failed"}})).makes_for(true, &next), "not any more");
        let later = made(json!({"metadata": {"creationTimestamp": "2026-01-01T00:00:01Z"}}));
        assert!(!later.makes_for(true, &next));
        let at_once = made(json!({"metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"}}));
        assert!(at_once.makes_for(true, &next) && !at_once.makes_for(false, &next));
    }

    #[test]
    fn core_is_the_group_without_a_name() {
        let gvk = broker_api::Gvk { group: "core".into(), version: "v1".into(), kind: "Secret".into() };
        assert_eq!(kind_of(&gvk).group, "");
    }
}
