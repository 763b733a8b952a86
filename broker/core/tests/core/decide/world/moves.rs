//! What the world knows of moves: Migrations as a scripted machine leaves them, configurations, who left when.

use std::collections::BTreeMap;

use broker_api::{ClusterName, MigrationState, Role};
use broker_core::{
    decision::{Decision, Write},
    migration::standing,
    movement::{Configured, MigrationView, Moving, Phase, Request, Route},
    snapshot::{Moves, OriginKey, Patience},
    turns::{Place, Turns},
};
use runtime_effect::write::Op;
use serde_json::Value;

use super::Refused;

/// What an origin's last decision said of its move.
#[derive(Default)]
struct Said {
    moving: Option<Box<Moving>>,
    requests: Vec<(String, Request)>,
}

pub(crate) struct MovesWorld {
    pub(crate) configured: Configured,
    pub(crate) migrations_known: bool,
    pub(crate) reserved: bool,
    pub(crate) migrations: Vec<(OriginKey, MigrationView)>,
    /// When a provider was taken out of the configuration.
    pub(crate) left: BTreeMap<ClusterName, u64>,
    pub(crate) most: usize,
    pub(crate) patience: Patience,
    turns: Turns,
    /// What each origin has of them.
    places: BTreeMap<OriginKey, Place>,
    said: BTreeMap<OriginKey, Said>,
}

impl Default for MovesWorld {
    fn default() -> Self {
        Self {
            configured: Configured::No,
            migrations_known: true,
            reserved: false,
            migrations: Vec::new(),
            left: BTreeMap::new(),
            most: 50,
            patience: Patience { orphan_grace: 60_000, ready_timeout: 600_000 },
            turns: Turns::default(),
            places: BTreeMap::new(),
            said: BTreeMap::new(),
        }
    }
}

impl MovesWorld {
    pub(crate) fn of<'a>(
        &self,
        key: &OriginKey,
        may_move: &'a dyn Fn(&Route) -> bool,
        absent: &'a dyn Fn(&ClusterName) -> Option<u64>,
    ) -> Moves<'a> {
        let own = self.migrations.iter().filter(|(owner, _)| owner == key).map(|(_, view)| view.clone());
        Moves {
            coordination: Some(ClusterName::new(Role::Coordination, "hub")),
            migrations: own.collect(),
            migrations_known: self.migrations_known,
            configured: self.configured.clone(),
            reserved: self.reserved,
            absent,
            may_move,
            patience: self.patience,
        }
    }

    pub(crate) fn absent(&self, provider: &ClusterName, millis: u64) -> Option<u64> {
        self.left.get(provider).map(|left| millis.saturating_sub(*left))
    }

    pub(crate) fn may_move(&self, key: &OriginKey, route: &Route) -> bool {
        let place = self.places.get(key).cloned().unwrap_or_default();
        self.turns.may_move(key, &place, route, self.most)
    }

    pub(crate) fn absorb(&mut self, key: &OriginKey, decision: &Decision) {
        let is_moving = self.moving(key).is_some();
        let place = self.places.entry(key.clone()).or_default();
        // Nobody else has decided meanwhile.
        assert!(
            self.turns.admits(key, place, is_moving, decision, self.most),
            "it takes no turn of others: {decision:#?}"
        );
        let after = place.after(decision);
        // Whose turn has come is not told: tests look at each whenever they like.
        self.turns.take(key, place, after, self.most);
        let Said { moving, requests } = self.said.entry(key.clone()).or_default();
        standing::take_in(decision, moving, requests);
    }

    /// The move that an origin's last decision says is under way.
    pub(crate) fn moving(&self, key: &OriginKey) -> Option<&Moving> {
        self.said.get(key)?.moving.as_deref()
    }

    /// What it said of Migrations that are not.
    pub(crate) fn requests(&self, key: &OriginKey) -> &[(String, Request)] {
        self.said.get(key).map(|said| &*said.requests).unwrap_or_default()
    }

    /// Nothing is remembered of who moves.
    pub(crate) fn forget_turns(&mut self) {
        (self.turns, self.places) = Default::default();
    }

    /// The broker makes a Migration.
    pub(crate) fn make(&mut self, key: &OriginKey, write: &Write, millis: u64) -> Result<(), Refused> {
        let Op::Create(body) = &write.op else { panic!("a Migration is only created") };
        if self.migrations.iter().any(|(_, held)| held.name == write.name && held.namespace == write.namespace) {
            return Err(Refused::Exists);
        }
        let provider = |side: &Value| ClusterName::provider(side["clusterName"].as_str().unwrap());
        let view = MigrationView {
            namespace: write.namespace.clone(),
            name: write.name.clone(),
            by_person: false,
            from: provider(&body["spec"]["from"]),
            to: provider(&body["spec"]["to"]),
            force: false,
            state: MigrationState::Unknown,
            deleting: false,
            aborted: false,
            created: millis,
            ended: None,
        };
        self.migrations.push((key.clone(), view));
        Ok(())
    }

    /// A person makes a Migration.
    pub(crate) fn ask(&mut self, key: &OriginKey, name: &str, from: &str, to: &str, millis: u64) {
        let view = MigrationView {
            namespace: "team".into(),
            name: name.into(),
            by_person: true,
            from: ClusterName::provider(from),
            to: ClusterName::provider(to),
            force: false,
            state: MigrationState::Pending,
            deleting: false,
            aborted: false,
            created: millis,
            ended: None,
        };
        self.migrations.push((key.clone(), view));
    }

    /// The machine goes one step on with an unfinished Migration: with the move of its origin, or to its end without it.
    pub(crate) fn step(&mut self, which: usize, millis: u64) {
        use MigrationState::{
            CutoverCompleted, CutoverInProgress, Failed, InitialCompleted, InitialInProgress, Pending, Unknown,
        };
        let Some((key, view)) = self.migrations.get_mut(which) else { return };
        let Said { moving, requests } = self.said.entry(key.clone()).or_default();
        let moving = moving.as_deref().filter(|moving| moving.from == view.from && moving.to == view.to);
        let own = |moving: &&Moving| view.by_person || view.name.ends_with(&format!("-{}", moving.epoch));
        let phase = moving.filter(own).map(|moving| moving.phase);
        let refused =
            |(name, request): &(String, Request)| name.ends_with(&view.name) && matches!(request, Request::Refused(..));
        let refused = requests.iter().any(refused);
        view.state = match (view.state, phase) {
            (ended @ (CutoverCompleted | Failed), _) => ended,
            _ if refused => Failed,
            (Unknown, _) => Pending,
            (Pending, Some(Phase::Ready | Phase::Switched)) => InitialInProgress,
            (InitialInProgress, Some(Phase::Ready | Phase::Switched)) => InitialCompleted,
            (InitialCompleted, Some(Phase::Switched)) => CutoverInProgress,
            (CutoverInProgress, Some(_)) => CutoverCompleted,
            // A person's waits for its turn.
            (Pending, None) if view.by_person => Pending,
            (_, None) => Failed,
            (state, Some(_)) => state,
        };
        view.ended = view.ended.or(view.has_ended().then_some(millis));
    }

    /// The machine has brought the last Migration to this state.
    pub(crate) fn reach(&mut self, state: MigrationState, millis: u64) {
        let (_, view) = self.migrations.last_mut().unwrap();
        view.state = state;
        view.ended = view.has_ended().then_some(millis);
    }
}
