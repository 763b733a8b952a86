//! What the binary's indexes and records are here, for the rules that link the two machines.

use broker_api::ClusterName;
use broker_core::{
    assignment::Maker,
    decision::{Decision, State},
    migration::{
        known::{Known, Side},
        maker::maker,
        moved_origin::{Engaged, MovedOrigin, Surroundings},
        standing::{self, Bearer, Standing},
    },
    movement::{Movement, Moving, Request},
};
use runtime_effect::{object_key::ObjectKey, seen::Seen};

use crate::decide::world::{At, NAMESPACE, Server, World, web};
use crate::joint::hub::{hub, migration_at};

/// An origin as its last decision left it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Record {
    pub(crate) state: State,
    moving: Option<Box<Moving>>,
    requests: Vec<(String, Request)>,
}

impl Record {
    /// Takes a decision in.
    pub(crate) fn absorb(record: &mut Option<Self>, decision: &Decision) {
        if decision.forgets() {
            *record = None;
            return;
        }
        let record = record.get_or_insert_with(Self::default);
        standing::take_in(decision, &mut record.moving, &mut record.requests);
        record.state = decision.state;
    }

    fn says(&self, known: &Known) -> Movement {
        let Self { state, moving, requests } = self;
        Standing { state: *state, moving: moving.as_deref(), requests }.movement(known)
    }
}

/// A Migration as it is in the coordination cluster.
pub(crate) fn known(world: &World, name: &str, before: Option<&Known>) -> Option<Known> {
    let stored = world.servers[&hub()].objects.stored(&migration_at(name))?;
    let key = ObjectKey::new(NAMESPACE, name);
    Some(Known::parse(&key, &Server::view(stored), Some(&world.ring), before).unwrap())
}

/// An object in a provider.
pub(crate) fn provided(world: &World, provider: &ClusterName, at: &At) -> Seen {
    match world.moves.absent(provider, world.millis) {
        None => world.servers[provider].seen(at),
        Some(absent) if absent >= world.moves.patience.orphan_grace => Seen::Absent,
        Some(_) => Seen::Unknown,
    }
}

pub(crate) fn copy_at(world: &World, side: &Side) -> Seen {
    let at = (side.kind.clone(), side.key.namespace.to_string(), side.key.name.to_string());
    provided(world, &side.provider, &at)
}

/// Which origin a Migration is about, as far as can be told now. `is_made`: another makes the copy that it is to leave.
pub(crate) fn about(world: &World, known: &Known, is_made: &dyn Fn() -> bool) -> MovedOrigin {
    let kind = web().gvk;
    let left = |provider: &ClusterName| world.moves.left.contains_key(provider);
    let around = Surroundings {
        own: "resource-broker",
        reserved: world.moves.reserved,
        kind: Some(&kind).filter(|kind| ***kind == known.from.kind),
        engaged: &|provider| if left(provider) { Engaged::No } else { Engaged::Yes },
        copy: &|| copy_at(world, &known.from),
        ring: Some(&world.ring),
        is_made,
    };
    MovedOrigin::of(known, &around)
}

/// What is known of the move that a Migration is about, and who made it.
pub(crate) fn linked(world: &World, known: &Known, about: &MovedOrigin, record: Option<&Record>) -> (Movement, Maker) {
    let bearer = |key: &_| match world.servers[&web().cluster].seen(&World::origin_at(key)) {
        Seen::Unknown => Bearer::Unknown,
        Seen::Absent => Bearer::Nobody,
        Seen::Present(origin) => Bearer::Object(origin.uid),
    };
    let movement = standing::movement(known, about, bearer, |_| record.map(|record| record.says(known)));
    let maker = maker(known, about, |_| record?.moving.as_deref().cloned());
    (movement, maker)
}
