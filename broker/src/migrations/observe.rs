//! From indexes to what one decision about a Migration looks at. Reads caches only.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use broker_api::{ClusterName, Role};
use broker_core::{
    assignment::Maker,
    decision::State,
    memory::Memory,
    migration::{
        machine::migrate,
        observed::{Applicable, Observed, Outcome, StageView},
    },
    migration_object,
    movement::{MigrationView, Movement, Moving},
    snapshot::OriginKey,
};
use runtime_effect::{kind::Kind, note::Note, reach::Reach, seen::Seen, serving::Serving, view::View};
use runtime_fleet::{cluster::Cluster, index::Lookup, kind::KindState, object::ObjectKey};

use super::{
    known::{Known, Side},
    look::reach,
    movement::{Standing, movement},
    origin::About,
};
use crate::{
    broker::Broker,
    observe::{self, BLIP, look, view},
};

/// The objects of stages, in the compute cluster's indexes.
struct Stage<'a> {
    broker: &'a Broker,
    compute: &'a Cluster,
}

impl StageView for Stage<'_> {
    fn reaches(&self, namespace: &str) -> bool {
        self.broker.stages.reaches(namespace)
    }

    fn serving(&self, kind: &Kind) -> Serving {
        self.broker.serving(self.compute, kind)
    }

    fn object(&self, kind: &Kind, namespace: &str, name: &str) -> Seen {
        let spec = self.broker.stages.spec_of(kind, namespace);
        spec.map_or(Seen::Unknown, |spec| {
            look(&self.broker.bodies, self.compute, &spec, &ObjectKey::new(namespace, name))
        })
    }

    fn all(&self, id: &str) -> Vec<(Kind, View)> {
        let found = self.broker.stages.of(id).into_iter().filter_map(|(kind, key)| {
            let spec = self.broker.stages.spec_of(&kind, &key.namespace)?;
            let object = self.compute.index(&spec)?.get(&key).found()?;
            Some((kind, view(&object)?))
        });
        found.collect()
    }

    fn all_known(&self, kinds: &BTreeSet<Kind>) -> bool {
        kinds.iter().all(|kind| {
            self.compute.kind(&kind.to_gvk()) == KindState::Missing
                || self.broker.stages.specs_of(kind).is_some_and(|specs| {
                    let complete = |spec| self.compute.index(spec).is_some_and(|index| index.is_complete());
                    specs.iter().all(|spec| complete(spec))
                })
        })
    }

    fn source(&self, provider: &ClusterName, kind: &Kind, namespace: &str, name: &str) -> Seen {
        self.broker.provided(provider, kind, &ObjectKey::new(namespace, name))
    }
}

/// Whether a Migration is where, and is called as, the broker makes it for this move.
fn is_for(known: &Known, origin: &OriginKey, uid: &str, moving: &Moving) -> bool {
    let sides = (&known.view.from, &known.view.to) == (&moving.from, &moving.to);
    sides
        && known.key.namespace == origin.namespace
        && *known.key.name == *migration_object::name(origin, uid, moving.epoch)
}

impl Broker {
    /// The Migrations of the origin with this uid, the oldest first.
    pub fn migrations_of(&self, origin: &OriginKey, uid: &str) -> Vec<MigrationView> {
        self.migrations.of(origin, uid)
    }

    /// Whether all Migrations are known. Where their kind is not installed there are none.
    pub fn migrations_known(&self) -> bool {
        self.hub_knows(&self.watches.migrations)
    }

    /// An object in a provider. One whose body is not held is not known; it is read by whoever listens to it.
    fn provided(&self, provider: &ClusterName, kind: &Kind, key: &ObjectKey) -> Seen {
        let Some(provider) = self.fleet().cluster(provider) else {
            // What a provider that was taken out for good held is not to be had any more.
            let absent = self.departures.absent(provider).is_some_and(|absent| absent >= self.options.orphan_grace);
            return if absent { Seen::Absent } else { Seen::Unknown };
        };
        let spec = self.watches.spec_of(Role::Provider, kind);
        spec.map_or(Seen::Unknown, |spec| look(&self.bodies, &provider, spec, key))
    }

    fn copy_at(&self, side: &Side) -> Seen {
        self.provided(&side.provider, &side.kind, &side.key)
    }

    /// What is known of the move that a Migration is about.
    fn movement(&self, known: &Known, about: &About) -> Movement {
        let (origin, uid) = match about {
            About::Unknown => return Movement::Unknown,
            About::Refused(reason, why) => return Movement::Refused(reason, why.clone()),
            About::Origin(origin, uid) => (origin, uid),
        };
        let Some(consumer) = self.fleet().cluster(&origin.cluster) else { return Movement::Unknown };
        let Some(spec) = self.watches.spec_of(Role::Consumer, &origin.gvk) else { return Movement::Unknown };
        let key = ObjectKey { namespace: Arc::clone(&origin.namespace), name: Arc::clone(&origin.name) };
        let gone = || movement(known, &Standing { state: State::Gone, ..Standing::default() });
        match consumer.index(spec).map_or(Lookup::Unknown, |index| index.get(&key)) {
            Lookup::Unknown => Movement::Unknown,
            Lookup::Absent => gone(),
            // Recreated under its name: another object.
            Lookup::Found(object) if object.uid != *uid => gone(),
            Lookup::Found(_) => {
                let name = known.key.to_string();
                let standing = self.records.with(origin, |record| Standing {
                    state: record.state,
                    moving: record.moving.as_deref().cloned(),
                    request: record
                        .requests
                        .iter()
                        .find(|(asked, _)| *asked == name)
                        .map(|(_, request)| request.clone()),
                });
                standing.map_or(Movement::Unknown, |standing| movement(known, &standing))
            }
        }
    }

    /// Who made a Migration. What bears no mark, and is to the letter what the move that is under way waits for, is the
    /// broker's: an earlier release signed none, and somebody may have taken the mark away.
    fn maker(&self, known: &Known, about: &About) -> Maker {
        let (Maker::Person, About::Origin(origin, uid)) = (known.maker(), about) else { return known.maker() };
        let moving = self.records.with(origin, |record| record.moving.as_deref().cloned()).flatten();
        let own = moving.filter(|moving| is_for(known, origin, uid, moving));
        own.map_or(Maker::Person, |moving| Maker::Broker(moving.epoch))
    }

    /// Observes a Migration and decides. `None`: it, the compute cluster or the keys are not known.
    pub(super) fn migrate(&self, known: &Known, about: &About, memory: &Memory) -> Option<Outcome> {
        let ring = self.ring.load_full().filter(|_| known.judged)?;
        let (hub, compute) = (self.hub()?, self.compute()?);
        let object = look(&self.bodies, &hub, &self.watches.migrations, &known.key);
        let object = object.present()?;
        let configurations = self.configurations.load_full();
        let applicable = if self.configurations_known() {
            configurations.applicable(&(known.from.kind.clone(), known.to.kind.clone()))
        } else {
            Applicable::Unknown
        };
        let related: Vec<Kind> = self.watches.related.iter().map(|related| related.kind.clone()).collect();
        let stage = Stage { broker: self, compute: &compute };
        let observed = Observed {
            now: observe::now(),
            object,
            movement: self.movement(known, about),
            origin: match about {
                About::Origin(origin, uid) => Some((origin, &**uid)),
                About::Unknown | About::Refused(..) => None,
            },
            applicable,
            from: self.copy_at(&known.from),
            to: self.copy_at(&known.to),
            coordination: hub.name().clone(),
            compute: compute.name().clone(),
            compute_reach: reach(&compute),
            stage: &stage,
            related_kinds: &related,
            stage_namespaces: &self.options.stage_namespace,
            maker: self.maker(known, about),
            ring: &ring,
            evaluator: &self.evaluator,
            memory,
            ttl_millis: u64::try_from(self.options.migration_ttl.as_millis()).unwrap_or(u64::MAX),
        };
        // Expressions may be slow: others go on meanwhile.
        let mut outcome = migrate(&observed);
        if self.tell_of_blindness(&compute, &mut outcome) || matches!(observed.compute_reach, Reach::Lost(_)) {
            outcome.again = Some(outcome.again.map_or(BLIP, |again| again.min(BLIP)));
        }
        if let Some(left) = self.departing(known) {
            outcome.again = Some(outcome.again.map_or(left, |again| again.min(left)));
        }
        Some(outcome)
    }

    /// When a side's provider that is not engaged will count as gone.
    fn departing(&self, known: &Known) -> Option<Duration> {
        let missing = |side: &&Side| self.fleet().cluster(&side.provider).is_none();
        let left = |side: &Side| self.options.orphan_grace.checked_sub(self.departures.absent(&side.provider)?);
        [&known.from, &known.to].into_iter().filter(missing).filter_map(left).filter(|left| !left.is_zero()).min()
    }

    /// Says why stage objects cannot be seen. Returns whether some cannot: nothing tells of a watch that fails.
    fn tell_of_blindness(&self, compute: &Cluster, outcome: &mut Outcome) -> bool {
        let mut blind = false;
        let specs = |kind| self.stages.specs_of(kind).into_iter().flatten().map(move |spec| (kind, spec));
        for (kind, spec) in outcome.watches.iter().flat_map(specs) {
            let index = compute.index(&spec);
            let Some(index) = index.filter(|index| !index.is_complete()) else { continue };
            blind |= compute.kind(&kind.to_gvk()) != KindState::Missing;
            if let Some(why) = index.trouble() {
                let message = format!("the broker cannot watch {} at {}: {why}", kind.kind, compute.name());
                outcome.notes.push(Note::warning("CannotWatch", message));
            }
        }
        blind
    }
}

#[cfg(test)]
mod tests {
    use broker_core::movement::Phase;
    use serde_json::json;

    use super::*;
    use crate::migrations::known::tests::migration;

    #[test]
    fn what_the_move_under_way_waits_for_is_the_brokers() {
        let kind =
            Kind { group: "example.platform-mesh.io".into(), version: "v1alpha1".into(), kind: "Certificate".into() };
        let origin = Broker::origin_key(&ClusterName::consumer("homer"), &Arc::new(kind), &ObjectKey::new("n", "cert"));
        let moving = |to: &str, epoch| Moving {
            from: ClusterName::provider("one"),
            to: ClusterName::provider(to),
            epoch,
            phase: Phase::Ready,
            waits_for: String::new(),
        };
        let named = |namespace: &str| {
            let name = migration_object::name(&origin, "1", 7);
            migration(&json!({"metadata": {"name": name, "namespace": namespace}}))
        };
        assert!(is_for(&named("n"), &origin, "1", &moving("two", 7)));
        assert!(!is_for(&named("m"), &origin, "1", &moving("two", 7)));
        assert!(!is_for(&named("n"), &origin, "2", &moving("two", 7)));
        assert!(!is_for(&named("n"), &origin, "1", &moving("three", 7)));
        assert!(!is_for(&named("n"), &origin, "1", &moving("two", 8)));
        assert!(!is_for(&migration(&json!({})), &origin, "1", &moving("two", 7)));
    }
}
