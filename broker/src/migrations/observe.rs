//! From indexes to what one decision about a Migration looks at. Reads caches only.

use std::{collections::BTreeSet, time::Duration};

use broker_api::{ClusterName, Role};
use broker_core::{
    assignment::{KeyRing, Maker},
    memory::Memory,
    migration::{
        known::{Known, Side},
        machine::migrate,
        maker::maker,
        moved_origin::{Engaged, MovedOrigin, Surroundings},
        observed::{Applicable, Decided, Observed, StageView},
        standing::{Bearer, Standing, movement},
    },
    movement::{MigrationView, Movement},
    snapshot::OriginKey,
};
use runtime_effect::{kind::Kind, note::Note, reach::Reach, seen::Seen, serving::Serving, view::View};
use runtime_engine::{bodies::Needs, clock::now, view::view};
use runtime_fleet::{cluster::Cluster, index::Lookup, kind::KindState, object::ObjectKey};

use super::{look::compute_reach, stages::BY_ID};
use crate::{
    broker::Broker,
    origins::{key::object_key, records::Record},
    reach::{BLIP, serving},
};

/// The objects of stages, in the compute cluster's indexes.
struct Stage<'a> {
    broker: &'a Broker,
    compute: &'a Cluster,
    migration: &'a ObjectKey,
}

impl StageView for Stage<'_> {
    fn reaches(&self, namespace: &str) -> bool {
        self.broker.stages.reaches(namespace)
    }

    fn serving(&self, kind: &Kind) -> Serving {
        serving(&self.broker.clusters, self.compute, kind)
    }

    fn object(&self, kind: &Kind, namespace: &str, name: &str) -> Seen {
        let spec = self.broker.stages.spec_of(kind, namespace);
        spec.map_or(Seen::Unknown, |spec| {
            self.broker.engine.look(self.compute, &spec, &ObjectKey::new(namespace, name))
        })
    }

    fn all(&self, id: &str) -> Vec<(Kind, View)> {
        let mut found = Vec::new();
        for (kind, spec) in self.broker.stages.specs() {
            let Some(index) = self.compute.index(&spec) else { continue };
            let views = index.sorted(BY_ID.name, id).into_iter().filter_map(|key| view(&*index.get(&key).found()?));
            found.extend(views.map(|view| (kind.clone(), view)));
        }
        found
    }

    fn all_known(&self, kinds: &BTreeSet<Kind>) -> bool {
        let hidden = self.broker.engine.hidden(self.migration);
        kinds.iter().all(|kind| {
            if hidden.iter().any(|(_, other)| other == kind) {
                return false;
            }
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

impl Broker {
    /// The Migrations of the origin with this uid, the oldest first.
    pub fn migrations_of(&self, origin: &OriginKey, uid: &str) -> Vec<MigrationView> {
        self.migrations.of(origin, uid)
    }

    /// Whether all Migrations are known, and which origins they are about. Where their kind is not installed there are none.
    pub fn migrations_known(&self) -> bool {
        let spec = &self.watches.migrations;
        // An index is complete a moment before the registry has heard of what is in it.
        self.hub().is_some_and(|hub| hub.kind(&spec.gvk) == KindState::Missing || hub.has_told_of(spec))
    }

    /// An object in a provider. One whose body is not held is not known: a copy is read before the decision
    /// ([`Self::migration_needs`]), what a copy relates to by whoever listens to it.
    fn provided(&self, provider: &ClusterName, kind: &Kind, key: &ObjectKey) -> Seen {
        let Some(provider) = self.fleet().cluster(provider) else {
            // What a provider that was taken out for good held is not to be had any more.
            let absent =
                self.clusters.departures.absent(provider).is_some_and(|absent| absent >= self.options.orphan_grace);
            return if absent { Seen::Absent } else { Seen::Unknown };
        };
        let spec = self.watches.spec_of(Role::Provider, kind);
        spec.map_or(Seen::Unknown, |spec| self.engine.look(&provider, spec, key))
    }

    fn copy_at(&self, side: &Side) -> Seen {
        self.provided(&side.provider, &side.kind, &side.key)
    }

    /// What the next decision about a Migration needs: of its copies, those that it looks at. The origin's own decisions read
    /// them when they need them, which is not when a stage does.
    pub(super) fn migration_needs(&self, migration: &ObjectKey) -> Needs {
        let mut needs = Needs::default();
        let Some((known, about, _)) = self.migrations.get(migration) else { return needs };
        for side in known.looks_at(about.origin().is_some()) {
            let provider = self.fleet().cluster(&side.provider);
            if let Some((provider, spec)) = provider.zip(self.watches.spec_of(Role::Provider, &side.kind)) {
                needs.look(&self.engine.bodies, provider, spec, &side.key);
            }
        }
        needs
    }

    /// Which origin a Migration is about, as far as the indexes tell and these keys prove.
    pub(crate) fn about(&self, known: &Known, ring: Option<&KeyRing>) -> MovedOrigin {
        let from = &known.from;
        let brokered = self.watches.brokered.iter().find(|brokered| *brokered.kind == from.kind);
        let engaged = |provider: &ClusterName| match self.fleet().cluster(provider) {
            Some(_) => Engaged::Yes,
            None if self.clusters.departures.absent(provider).is_some() => Engaged::No,
            None => Engaged::Unknown,
        };
        let around = Surroundings {
            own: &self.namespace,
            reserved: self.is_reserved(&known.key.namespace),
            kind: brokered.map(|brokered| &brokered.kind),
            engaged: &engaged,
            copy: &|| self.copy_at(from),
            ring,
            is_made: &|| self.migrations.makes_for(known),
        };
        MovedOrigin::of(known, &around)
    }

    /// Who bears an origin's name.
    fn bearer(&self, origin: &OriginKey) -> Bearer {
        let consumer = self.fleet().cluster(&origin.cluster);
        let index = consumer.zip(self.watches.spec_of(Role::Consumer, &origin.gvk));
        let index = index.and_then(|(consumer, spec)| consumer.index(spec));
        let key = object_key(origin);
        match index.map_or(Lookup::Unknown, |index| index.get(&key)) {
            Lookup::Unknown => Bearer::Unknown,
            Lookup::Absent => Bearer::Nobody,
            Lookup::Found(object) => Bearer::Object(object.uid.clone()),
        }
    }

    /// What is known of the move that a Migration is about.
    fn movement(&self, known: &Known, about: &MovedOrigin) -> Movement {
        let said = |record: &mut Record| {
            if record.is_doubted() {
                return Movement::Unknown;
            }
            let standing = Standing { state: record.state(), moving: record.moving(), requests: &record.requests };
            standing.movement(known)
        };
        movement(known, about, |origin| self.bearer(origin), |origin| self.origins.records.with(origin, said))
    }

    /// Who made a Migration.
    fn maker(&self, known: &Known, about: &MovedOrigin) -> Maker {
        let moving = |record: &mut Record| record.moving().cloned();
        maker(known, about, |origin| self.origins.records.with(origin, moving).flatten())
    }

    /// Observes a Migration and decides. `None`: it, the compute cluster or the keys are not known.
    pub(super) fn migrate(&self, known: &Known, about: &MovedOrigin, memory: &Memory) -> Option<Decided> {
        let ring = self.signing.ring.load_full().filter(|_| known.judged)?;
        let (hub, compute) = (self.hub()?, self.compute()?);
        let object = self.engine.look(&hub, &self.watches.migrations, &known.key);
        let object = object.present()?;
        // In this order: of what is known now none is missing.
        let known_all = self.configurations_known();
        let configurations = self.configuring.current.load();
        let applicable = if known_all {
            configurations.applicable(&(known.from.kind.clone(), known.to.kind.clone()))
        } else {
            Applicable::Unknown
        };
        let related: Vec<Kind> = self.watches.related.iter().map(|related| related.kind.clone()).collect();
        let stage = Stage { broker: self, compute: &compute, migration: &known.key };
        let observed = Observed {
            now: now(),
            object,
            movement: self.movement(known, about),
            origin: match about {
                MovedOrigin::Known(origin, uid) => Some((origin, &**uid)),
                MovedOrigin::Unknown | MovedOrigin::Refused(..) => None,
            },
            applicable,
            from: self.copy_at(&known.from),
            to: self.copy_at(&known.to),
            coordination: hub.name().clone(),
            compute: compute.name().clone(),
            compute_reach: compute_reach(&compute),
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
        let mut decided = migrate(&observed);
        if self.tell_of_blindness(&compute, &mut decided) || matches!(observed.compute_reach, Reach::Lost(_)) {
            decided.again = Some(decided.again.map_or(BLIP, |again| again.min(BLIP)));
        }
        if let Some(left) = self.departing(known) {
            decided.again = Some(decided.again.map_or(left, |again| again.min(left)));
        }
        Some(decided)
    }

    /// When a side's provider that is not engaged will count as gone.
    fn departing(&self, known: &Known) -> Option<Duration> {
        let missing = |side: &&Side| self.fleet().cluster(&side.provider).is_none();
        let left =
            |side: &Side| self.options.orphan_grace.checked_sub(self.clusters.departures.absent(&side.provider)?);
        [&known.from, &known.to].into_iter().filter(missing).filter_map(left).filter(|left| !left.is_zero()).min()
    }

    /// Says why stage objects cannot be seen. Returns whether some cannot: nothing tells of a watch that fails.
    fn tell_of_blindness(&self, compute: &Cluster, decided: &mut Decided) -> bool {
        let mut blind = false;
        let specs = |kind| self.stages.specs_of(kind).into_iter().flatten().map(move |spec| (kind, spec));
        for (kind, spec) in decided.watches.iter().flat_map(specs) {
            let index = compute.index(&spec);
            let Some(index) = index.filter(|index| !index.is_complete()) else { continue };
            blind |= compute.kind(&kind.to_gvk()) != KindState::Missing;
            if let Some(why) = index.trouble() {
                let message = format!("the broker cannot watch {} at {}: {why}", kind.kind, compute.name());
                decided.notes.push(Note::warning("CannotWatch", message));
            }
        }
        blind
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, thread, time::Instant};

    use broker_core::{
        assignment::Key,
        decision::{Decision, State},
        migration_object,
    };
    use runtime_fleet::{listener::Observer, subscription::Subscription};
    use serde_json::json;

    use super::*;
    use crate::{
        broker::Channels,
        conventions,
        migrations::listen::listen,
        origins::{key::origin_key, records::bounds::Bounds},
    };

    fn ring() -> KeyRing {
        KeyRing::new(vec![Key { id: "k".into(), secret: vec![1; 32] }]).unwrap()
    }

    /// The origins that move, by number.
    fn origin(broker: &Broker, number: usize) -> OriginKey {
        let kind = Arc::clone(&broker.watches.brokered[0].kind);
        let key = ObjectKey::new("n", format!("cert-{number}").as_str());
        origin_key(&ClusterName::consumer("homer"), &kind, &key)
    }

    /// A broker in whose hub the first list of Migrations has just come: one for each of so many origins that move. Nobody
    /// has been told of it. With it comes what ends with the test.
    fn with_list(moves: usize) -> (Arc<Broker>, (Channels, Vec<Subscription>)) {
        let (broker, channels) = Broker::of_one_kind();
        let hub = ClusterName::new(Role::Coordination, "hub");
        broker.engage_unreachable(&hub);
        let subscriptions = listen(&broker, broker.fleet());
        let sides = (&ClusterName::provider("one"), &ClusterName::provider("two"));
        let migration = |number: usize| {
            let key = origin(&broker, number);
            let name = migration_object::name(&key, "1", 7);
            let mut value = migration_object::body(&key, "1", &name, sides, 7, &ring());
            let named = json!({"name": name, "namespace": "n", "uid": name, "resourceVersion": "1"});
            value["metadata"].as_object_mut().unwrap().extend(named.as_object().unwrap().clone());
            conventions::object(&value)
        };
        let index = broker.hub().unwrap().index(&broker.watches.migrations).unwrap();
        index.replace((0..moves).map(migration).collect(), 1);
        (broker, (channels, subscriptions))
    }

    #[tokio::test]
    async fn what_nobody_has_heard_of_is_not_known() {
        let (broker, _rest) = with_list(1);
        assert!(broker.hub_knows(&broker.watches.migrations), "the list is there");
        assert!(!broker.migrations_known(), "an origin would miss its own");
    }

    #[tokio::test]
    async fn who_moves_or_might_is_looked_at_again_once_all_is_told() {
        let (broker, _rest) = with_list(0);
        let decided = |number: usize, decision: &Decision| {
            broker.origins.records.absorb(&origin(&broker, number), decision, Bounds::ONE_MOVE).unwrap();
        };
        decided(0, &Decision { restless: true, ..Decision::state(State::Served) });
        decided(1, &Decision::state(State::Moving));
        decided(2, &Decision::state(State::Served));
        let hub = broker.hub().unwrap().name().clone();
        Observer::completed(&*broker, &hub, &broker.watches.configurations);
        assert_eq!(broker.origins.queue.stats().depth, 0);
        Observer::completed(&*broker, &hub, &broker.watches.migrations);
        assert_eq!(broker.origins.queue.stats().depth, 2, "neither has been told whether it has a Migration");
    }

    #[tokio::test]
    async fn no_key_counts_before_migrations_are_read_with_it() {
        const MOVES: usize = 300;
        let (broker, _rest) = with_list(MOVES);
        thread::scope(|threads| {
            let worker = threads.spawn(|| {
                let deadline = Instant::now() + Duration::from_secs(10);
                while broker.signing.ring.load().is_none() {
                    assert!(Instant::now() < deadline, "no keys");
                }
                (0..MOVES).filter(|number| broker.migrations_of(&origin(&broker, *number), "1").is_empty()).count()
            });
            broker.set_ring(ring());
            assert_eq!(worker.join().unwrap(), 0, "so many origins miss their Migration");
        });
        assert_eq!(broker.migrations.queue.stats().depth, MOVES, "each is looked at with them");
    }
}
