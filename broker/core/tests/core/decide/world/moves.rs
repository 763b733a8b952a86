//! What the world knows of moves: Migrations as a scripted machine leaves them, configurations, who left when.

use std::collections::BTreeMap;

use broker_api::{ClusterName, MigrationState, Role};
use broker_core::{
    decision::{Decision, Write},
    movement::{Configured, MigrationView, Moving, Phase, Request, Route},
    snapshot::{Moves, OriginKey, Patience},
};
use runtime_effect::write::Op;
use serde_json::Value;

use super::Refused;

pub(crate) struct MovesWorld {
    pub(crate) configured: Configured,
    pub(crate) migrations_known: bool,
    pub(crate) reserved: bool,
    pub(crate) migrations: Vec<(OriginKey, MigrationView)>,
    /// When a provider was taken out of the configuration.
    pub(crate) left: BTreeMap<ClusterName, u64>,
    pub(crate) most: usize,
    pub(crate) patience: Patience,
    /// What each origin counts for while it moves.
    pub(crate) under_way: BTreeMap<OriginKey, Route>,
    pub(crate) requests: BTreeMap<OriginKey, Vec<(String, Request)>>,
    pub(crate) moving: BTreeMap<OriginKey, Moving>,
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
            under_way: BTreeMap::new(),
            requests: BTreeMap::new(),
            moving: BTreeMap::new(),
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
        let others = self.under_way.iter().filter(|(other, held)| *other != key && *held == route).count();
        others < if matches!(route, Route::Rebalance { .. }) { 5 } else { self.most }
    }

    pub(crate) fn absorb(&mut self, key: &OriginKey, decision: &Decision) {
        match (&decision.route, &decision.moving) {
            (Some(route), Some(_)) => self.under_way.insert(key.clone(), route.clone()),
            _ => self.under_way.remove(key),
        };
        if !decision.is_held_up() {
            self.requests.insert(key.clone(), decision.requests.clone());
            match &decision.moving {
                Some(moving) => self.moving.insert(key.clone(), moving.clone()),
                None => self.moving.remove(key),
            };
        }
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
        let moving = self.moving.get(key).filter(|moving| moving.from == view.from && moving.to == view.to);
        let own = |moving: &&Moving| view.by_person || view.name.ends_with(&format!("-{}", moving.epoch));
        let phase = moving.filter(own).map(|moving| moving.phase);
        let refused = self.requests.get(key).is_some_and(|all| {
            all.iter().any(|(name, request)| name.ends_with(&view.name) && matches!(request, Request::Refused(..)))
        });
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
