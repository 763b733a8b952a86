//! Which cluster gets which revision of an RGD now: a pure function of the rollout, of what its clusters say they run, and of
//! the time.
//!
//! What a cluster runs is written on its CRD, see [`Mark`]: that alone is remembered, so that a controller that starts again
//! in the middle of a wave goes on where the other one ended.

mod assigned;
mod member;
mod news;
mod settings;
mod standing;
mod status;
mod wave;

use std::{collections::BTreeMap, time::Duration};

use broker_api::{
    ClusterName,
    graphs::rollout::{ClusterCounts, Offboarding, OnFailure, ResourceGraphRolloutSpec},
};

pub use self::{
    assigned::Assigned,
    member::{Begun, Mark, Member, Reach, Spoke, Trouble},
    news::news,
    settings::{Settings, SettingsError},
    standing::{Reason, Standing},
    status::{completed, distributed, given_up, names, status, status_without_graph},
};
use self::{standing::Goal, wave::Wave};

/// All that one decision looks at.
#[derive(Debug, Clone, Copy)]
pub struct Snapshot<'a> {
    /// What is asked for.
    pub settings: &'a Settings,
    /// The RGD is being deleted: it leaves all clusters.
    pub ends: bool,
    /// The newest revision that compiles; `None`: there is none, or it is not known yet.
    pub newest: Option<i64>,
    /// The revision that the rollout's status says was taken back, if nobody has edited the rollout since.
    pub given_up: Option<i64>,
    /// The revision that the rollout's status says all clusters ran, if nobody has edited the rollout since: whatever fails
    /// from then on, in a cluster that comes or in one that changes, stops and takes back nothing in the others.
    pub completed: Option<i64>,
    /// All clusters there are but for the hub, whether they are selected or not.
    pub members: &'a [Member],
    /// Milliseconds since 1970 by a steady clock.
    pub now: u64,
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
    /// Name of the first wave that is not done, or that stopped the rollout; empty for the clusters that are in none.
    pub wave: Option<String>,
    /// How many stand how.
    pub clusters: ClusterCounts,
    /// All that fail, by their names.
    pub failing: Vec<Failing>,
    /// Clusters in which something is still to be done before the RGD has left them.
    pub leaving: Vec<ClusterName>,
    /// Too many have failed: no further cluster begins.
    pub stopped: bool,
    /// The target is taken back: [`Snapshot::given_up`] from now on, to be written before anything else.
    pub gives_up: bool,
    /// Look again after this time, even if nothing changes.
    pub again: Option<Duration>,
}

/// What each cluster is to run now.
pub fn decide(snapshot: &Snapshot<'_>) -> Decision {
    let mut pass = Pass { snapshot, decision: Decision::default() };
    pass.run();
    pass.decision.failing.sort_by(|one, other| one.cluster.cmp(&other.cluster));
    pass.decision
}

/// What the clusters of all waves are assigned now.
struct Turn {
    target: i64,
    /// The target is taken back.
    back: bool,
    /// Nobody begins, not even again.
    paused: bool,
}

impl Turn {
    /// What a cluster is to run. `room`: so many more of its wave may be under way; `open`: such that are not begun, too.
    fn of(&self, member: &Member, standing: &Standing, room: &mut usize, open: bool) -> Assigned {
        let target = self.target;
        if self.back {
            return match member.returns_to(target) {
                Some(to) => Assigned::TakenBack(to),
                None if member.spoke().is_some_and(|spoke| spoke.runs(target).is_some()) => Assigned::Revision(target),
                None => Assigned::Stay,
            };
        }
        let is_there = member.spoke().is_some_and(|spoke| spoke.runs(target).is_some());
        match standing {
            Standing::Updated { noted: false } => Assigned::Done(target),
            _ if is_there => Assigned::Revision(target),
            Standing::Waiting | Standing::Updating { .. } if !open => Assigned::Stay,
            // It is begun: it has its room.
            Standing::Updating { .. } => Assigned::Revision(target),
            // What is in the way of one that failed may go: it is tried as long as it is wanted.
            Standing::Waiting | Standing::Failed(..) if *room > 0 && !self.paused => {
                *room -= 1;
                Assigned::Revision(target)
            }
            _ => Assigned::Stay,
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
            if self.snapshot.ends || member.is_leaving() || !settings.selector.selects(&member.labels) {
                self.leaves(member);
            } else if let Some(pin) = settings.pins.iter().find(|pin| pin.selector.selects(&member.labels)) {
                self.pinned(member, pin.revision);
            } else if let Some(wave) = waves.iter_mut().find(|wave| wave.selects(&member.labels)) {
                wave.members.push(member);
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

    fn leaves(&mut self, member: &Member) {
        let offboarding = self.snapshot.settings.offboarding;
        let is_left = match &member.reach {
            Reach::Reached(spoke) => spoke.left == Some(offboarding),
            // Whatever is there is another cluster's.
            Reach::Unreachable { reason, .. } => *reason == Reason::DuplicateCluster,
        };
        if offboarding != Offboarding::Orphan && !is_left {
            self.decision.leaving.push(member.cluster.clone());
        }
        self.decision.assigned.insert(member.cluster.clone(), Assigned::Leave(offboarding));
    }

    /// Pins have no waves: all that can be reached get their revision at once, unless the rollout is paused.
    fn pinned(&mut self, member: &'a Member, revision: i64) {
        let goal = Goal { revision, soak: 0, deadline: self.snapshot.settings.deadline };
        let standing = goal.standing(member, self.snapshot.now);
        self.count(member, &standing, revision);
        let spoke = member.spoke();
        let begins = spoke.is_some() && !self.snapshot.settings.paused;
        let assigned = match standing {
            Standing::Updated { noted: false } => Assigned::Done(revision),
            _ if begins || spoke.is_some_and(|spoke| spoke.runs(revision).is_some()) => Assigned::Revision(revision),
            _ => Assigned::Stay,
        };
        self.decision.assigned.insert(member.cluster.clone(), assigned);
    }

    fn roll_out(&mut self, target: i64, waves: &[Wave<'a>]) {
        let Snapshot { settings, given_up, completed, now, .. } = *self.snapshot;
        let standings: Vec<Vec<Standing>> = waves
            .iter()
            .map(|wave| {
                let goal = Goal { revision: target, soak: wave.soak, deadline: settings.deadline };
                wave.members.iter().map(|member| goal.standing(member, now)).collect()
            })
            .collect();
        let too_many = completed != Some(target)
            && waves.iter().zip(&standings).any(|(wave, standings)| {
                let failed = standings.iter().filter(|standing| matches!(standing, Standing::Failed(..))).count();
                failed >= settings.threshold.of(wave.members.len()).max(1)
            });
        let gave_up = given_up == Some(target);
        let back = gave_up || (too_many && settings.on_failure == OnFailure::Rollback);
        self.decision.gives_up = back;
        self.decision.stopped = back || (too_many && settings.on_failure != OnFailure::Continue);
        let turn = Turn { target, back, paused: settings.paused };
        let mut is_open = !settings.paused && !self.decision.stopped;
        for (wave, standings) in waves.iter().zip(&standings) {
            let is_done = standings.iter().all(Standing::is_final);
            // One that has failed is done with, and still it is where a rollout stops.
            let stops_here =
                self.decision.stopped && standings.iter().any(|one| !matches!(one, Standing::Updated { .. }));
            if (!is_done || stops_here) && self.decision.wave.is_none() {
                self.decision.wave = Some(wave.name.to_owned());
            }
            let under_way = standings.iter().filter(|standing| standing.takes_room()).count();
            let mut room = wave.room().saturating_sub(under_way);
            let mut assign = |wanted: fn(&Standing) -> bool, decision: &mut Decision| {
                for (member, standing) in wave.members.iter().zip(standings).filter(|(_, standing)| wanted(standing)) {
                    let assigned = turn.of(member, standing, &mut room, is_open);
                    decision.assigned.insert(member.cluster.clone(), assigned);
                }
            };
            // Those that have not begun first: one that fails again and again is not to take their room.
            assign(|standing| !matches!(standing, Standing::Failed(..)), &mut self.decision);
            assign(|standing| matches!(standing, Standing::Failed(..)), &mut self.decision);
            for (member, standing) in wave.members.iter().zip(standings) {
                self.count(member, standing, target);
            }
            is_open &= is_done;
        }
    }

    fn count(&mut self, member: &Member, standing: &Standing, revision: i64) {
        let counts = &mut self.decision.clusters;
        counts.total += 1;
        let again = match standing {
            Standing::Updated { .. } => {
                counts.updated += 1;
                return;
            }
            Standing::Waiting => return,
            Standing::Updating { again } => {
                counts.updating += 1;
                *again
            }
            Standing::Unreachable { reason, message, again } => {
                counts.unreachable += 1;
                self.failing(member, revision, *reason, message);
                *again
            }
            Standing::Failed(reason, message) => {
                counts.failed += 1;
                counts.conflicted += u32::from(*reason == Reason::Conflict);
                return self.failing(member, revision, *reason, message);
            }
        };
        if again > 0 {
            let wait = Duration::from_millis(again);
            self.decision.again = Some(self.decision.again.map_or(wait, |held| held.min(wait)));
        }
    }

    fn failing(&mut self, member: &Member, revision: i64, reason: Reason, message: &str) {
        let (cluster, message) = (member.cluster.clone(), message.to_owned());
        self.decision.failing.push(Failing { cluster, revision, reason, message });
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
