//! Which cluster gets which revision of an RGD now: a pure function of the rollout, of what its clusters say they run, and of
//! the time.
//!
//! What a cluster runs is written on its CRD, see [`Mark`]: that alone is remembered, so that a controller that starts again
//! in the middle of a wave goes on where the other one ended.

mod member;
mod settings;
mod standing;
mod wave;

use std::{collections::BTreeMap, time::Duration};

use broker_api::{
    ClusterName,
    graphs::rollout::{ClusterCounts, OnFailure, ResourceGraphRolloutSpec},
};

pub use self::{
    member::{Mark, Member, Reach, Spoke, Trouble},
    settings::{Settings, SettingsError},
    standing::{Reason, Standing},
};
use self::{standing::Goal, wave::Wave};

/// All that one decision looks at.
#[derive(Debug, Clone, Copy)]
pub struct Snapshot<'a> {
    /// What is asked for.
    pub settings: &'a Settings,
    /// The newest revision that compiles; `None`: there is none, or it is not known yet.
    pub newest: Option<i64>,
    /// All clusters there are but for the hub, whether they are selected or not.
    pub members: &'a [Member],
    /// Milliseconds since 1970 by a steady clock.
    pub now: u64,
}

/// What a cluster is to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Assigned {
    /// It does not get this RGD.
    Leave,
    /// What it runs now; its turn has not come.
    Stay,
    /// This revision.
    Revision(i64),
    /// This revision, which it had before that of a rollout that failed.
    TakenBack {
        /// What it runs again.
        to: i64,
        /// What it ran.
        from: i64,
    },
    /// The revision that it runs has soaked: that is to be written on its CRD.
    Soaked(i64),
}

/// A cluster that fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failing {
    /// Which.
    pub cluster: ClusterName,
    /// The revision that it was to get.
    pub revision: i64,
    /// Why.
    pub reason: Reason,
    /// For people.
    pub message: String,
}

/// What is to be done, and how it stands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Decision {
    /// What each cluster is to run.
    pub assigned: BTreeMap<ClusterName, Assigned>,
    /// The revision that clusters get unless they are pinned.
    pub target: Option<i64>,
    /// Name of the wave that is under way; empty for the clusters that are in none.
    pub wave: Option<String>,
    /// How many stand how.
    pub clusters: ClusterCounts,
    /// All that fail, by their names.
    pub failing: Vec<Failing>,
    /// Too many have failed: no further cluster begins.
    pub stopped: bool,
    /// Look again after this time, even if nothing changes.
    pub again: Option<Duration>,
}

/// What each cluster is to run now.
pub fn decide(snapshot: &Snapshot<'_>) -> Decision {
    let mut pass = Pass { snapshot, decision: Decision::default() };
    pass.run();
    pass.decision
}

/// What the clusters of all waves are assigned now.
struct Turn {
    target: i64,
    /// The target is taken back.
    back: bool,
}

impl Turn {
    /// What a cluster is to run; `room`: so many more of its wave may begin.
    fn of(&self, member: &Member, standing: &Standing, room: &mut usize) -> Assigned {
        let target = self.target;
        if self.back
            && let Some(to) = member.returns_to(target)
        {
            return Assigned::TakenBack { to, from: target };
        }
        match standing {
            Standing::Soaked => Assigned::Soaked(target),
            Standing::Waiting if *room > 0 => {
                *room -= 1;
                Assigned::Revision(target)
            }
            Standing::Updating { .. } | Standing::Updated => Assigned::Revision(target),
            // Tried again for as long as it is wanted: what is in its way may go.
            Standing::Failed(..) if !member.gave_up(target) && member.is_reached() => Assigned::Revision(target),
            Standing::Waiting | Standing::Unreachable { .. } | Standing::Failed(..) => Assigned::Stay,
        }
    }
}

struct Pass<'a> {
    snapshot: &'a Snapshot<'a>,
    decision: Decision,
}

impl<'a> Pass<'a> {
    fn run(&mut self) {
        let Snapshot { settings, newest, members, .. } = *self.snapshot;
        self.decision.target = settings.revision.or(newest);
        let mut waves = Wave::all(settings);
        for member in members {
            if !settings.selector.selects(&member.labels) {
                self.decision.assigned.insert(member.cluster.clone(), Assigned::Leave);
                continue;
            }
            if let Some(pin) = settings.pins.iter().find(|pin| pin.selector.selects(&member.labels)) {
                self.pinned(member, pin.revision);
                continue;
            }
            match waves.iter_mut().find(|wave| wave.selects(&member.labels)) {
                Some(wave) => wave.members.push(member),
                None => unreachable!("the last wave selects all"),
            }
        }
        for wave in &mut waves {
            // Those whose turn is next are the same whenever they are looked at.
            wave.members.sort_by(|one, other| one.cluster.cmp(&other.cluster));
        }
        if let Some(target) = self.decision.target {
            self.roll_out(target, &waves);
        } else {
            for member in waves.into_iter().flat_map(|wave| wave.members) {
                self.count(member, &Standing::Waiting, 0);
                self.decision.assigned.insert(member.cluster.clone(), Assigned::Stay);
            }
        }
    }

    fn pinned(&mut self, member: &'a Member, revision: i64) {
        let goal = Goal { revision, soak: 0, deadline: self.snapshot.settings.deadline };
        let standing = goal.standing(member, self.snapshot.now);
        self.count(member, &standing, revision);
        self.decision.assigned.insert(member.cluster.clone(), Assigned::Revision(revision));
    }

    fn roll_out(&mut self, target: i64, waves: &[Wave<'a>]) {
        let settings = self.snapshot.settings;
        let standings: Vec<Vec<(&Member, Standing)>> = waves
            .iter()
            .map(|wave| {
                let goal = Goal { revision: target, soak: wave.soak, deadline: settings.deadline };
                let of = |member: &&'a Member| (*member, goal.standing(member, self.snapshot.now));
                wave.members.iter().map(of).collect()
            })
            .collect();
        let taken_back = waves.iter().flat_map(|wave| &wave.members).any(|member| member.gave_up(target));
        let too_many = |wave: &Wave<'_>, standings: &[(&Member, Standing)]| {
            let failed = standings.iter().filter(|(_, standing)| matches!(standing, Standing::Failed(..))).count();
            failed > 0 && failed >= settings.threshold.of(wave.members.len()).max(1)
        };
        let failed = waves.iter().zip(&standings).any(|(wave, standings)| too_many(wave, standings));
        let back = settings.on_failure == OnFailure::Rollback && (failed || taken_back);
        self.decision.stopped = taken_back || (failed && settings.on_failure != OnFailure::Continue);
        let turn = Turn { target, back };
        let mut is_open = !settings.paused && !self.decision.stopped;
        for (wave, standings) in waves.iter().zip(standings) {
            let is_done = standings.iter().all(|(_, standing)| standing.is_final());
            if !is_done && self.decision.wave.is_none() {
                self.decision.wave = Some(wave.name.to_owned());
            }
            let under_way = standings.iter().filter(|(_, standing)| standing.is_unavailable()).count();
            let mut room = if is_open { wave.room().saturating_sub(under_way) } else { 0 };
            for (member, standing) in standings {
                self.count(member, &standing, target);
                let assigned = turn.of(member, &standing, &mut room);
                self.decision.assigned.insert(member.cluster.clone(), assigned);
            }
            is_open &= is_done;
        }
    }

    fn count(&mut self, member: &Member, standing: &Standing, revision: i64) {
        let counts = &mut self.decision.clusters;
        counts.total += 1;
        match standing {
            Standing::Updated | Standing::Soaked => counts.updated += 1,
            Standing::Waiting => {}
            Standing::Updating { .. } => counts.updating += 1,
            Standing::Unreachable { .. } => counts.unreachable += 1,
            Standing::Failed(reason, message) => {
                counts.failed += 1;
                counts.unreachable += u32::from(*reason == Reason::Unreachable);
                counts.conflicted += u32::from(*reason == Reason::Conflict);
                let (cluster, reason, message) = (member.cluster.clone(), *reason, message.clone());
                self.decision.failing.push(Failing { cluster, revision, reason, message });
            }
        }
        if let Standing::Updating { again } | Standing::Unreachable { again } = standing {
            let wait = Duration::from_millis(*again);
            self.decision.again = Some(self.decision.again.map_or(wait, |held| held.min(wait)));
        }
    }
}

impl Settings {
    /// Of the spec of a rollout; of none, what is done where there is none: all clusters at once.
    ///
    /// # Errors
    /// A selector or an amount that cannot be read.
    pub fn of(spec: Option<&ResourceGraphRolloutSpec>) -> Result<Self, SettingsError> {
        spec.map_or_else(|| Ok(Self::default()), Self::read)
    }
}
