//! `Fleet`: clusters that do what they are assigned, without any API server.

use std::collections::{BTreeMap, BTreeSet};

use broker_api::{
    ClusterName,
    graphs::{keys, rollout::Offboarding},
};
use graphs_core::rollout::{
    Assigned, Begun, Decision, Mark, Member, Reach, Reason, Settings, Snapshot, Spoke, Trouble, decide,
};
use serde_json::Value;

pub(crate) fn settings(spec: &Value) -> Settings {
    Settings::of(Some(&serde_json::from_value(spec.clone()).unwrap())).unwrap()
}

/// A cluster.
#[derive(Debug, Clone, Default)]
pub(crate) struct Toy {
    pub(crate) ring: Option<String>,
    pub(crate) mark: Option<Mark>,
    /// Instances in ERROR.
    pub(crate) errors: u32,
    /// Why nothing can be brought there.
    pub(crate) trouble: Option<Reason>,
    /// Revisions that were tried in vain.
    pub(crate) tried: BTreeSet<i64>,
    /// Its kinds are not Established.
    pub(crate) is_slow: bool,
    /// Nothing that is written there is answered.
    pub(crate) is_stuck: bool,
    pub(crate) begun: Option<Begun>,
    /// Since when it is as settled as it is.
    pub(crate) since: u64,
    /// Somebody has asked for it to be let go.
    pub(crate) offboard: Option<&'static str>,
    /// The RGD has left it.
    pub(crate) left: Option<Offboarding>,
    /// Since when it is not reached.
    pub(crate) lost: Option<u64>,
}

/// Clusters by their names.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fleet {
    pub(crate) clusters: BTreeMap<String, Toy>,
    pub(crate) now: u64,
    /// All that was ever brought somewhere.
    pub(crate) history: Vec<(String, i64)>,
    /// The RGD is being deleted.
    pub(crate) ends: bool,
    /// What the rollout's status says was taken back.
    pub(crate) given_up: Option<i64>,
    /// What the rollout's status says all clusters ran.
    pub(crate) completed: Option<i64>,
}

impl Toy {
    fn troubles(&self) -> Vec<Trouble> {
        let trouble = |reason| move |revision: &i64| Trouble { revision: *revision, reason, message: "no".to_owned() };
        self.trouble.map(|reason| self.tried.iter().map(trouble(reason)).collect()).unwrap_or_default()
    }
}

impl Fleet {
    /// Clusters with their label `ring`.
    pub(crate) fn of(clusters: &[(&str, &str)]) -> Self {
        let mut fleet = Self { now: 1_000_000, ..Self::default() };
        for (name, ring) in clusters {
            fleet.add(name, Some(ring));
        }
        fleet
    }

    pub(crate) fn add(&mut self, name: &str, ring: Option<&str>) {
        self.clusters.insert(name.to_owned(), Toy { ring: ring.map(str::to_owned), ..Toy::default() });
    }

    pub(crate) fn name(&self, name: &str) -> ClusterName {
        assert!(self.clusters.contains_key(name));
        ClusterName::provider(name)
    }

    pub(crate) fn member(&mut self, name: &str) -> &mut Toy {
        self.clusters.get_mut(name).unwrap()
    }

    pub(crate) fn lose(&mut self, name: &str) {
        self.member(name).lost = Some(self.now);
    }

    pub(crate) fn later(&mut self, seconds: u64) {
        self.now += seconds * 1000;
    }

    /// What runs where, as `a1`.
    pub(crate) fn running(&self) -> Vec<String> {
        let running = self.clusters.iter().filter_map(|(name, toy)| Some((name, toy.mark.as_ref()?)));
        running.map(|(name, mark)| format!("{name}{}", mark.revision)).collect()
    }

    pub(crate) fn members(&self) -> Vec<Member> {
        let member = |(name, toy): (&String, &Toy)| {
            let reach = match toy.lost {
                Some(since) => Reach::Unreachable { reason: Reason::Unreachable, message: "away".to_owned(), since },
                None => Reach::Reached(Spoke {
                    mark: toy.mark.clone(),
                    settled: toy.mark.is_some() && !toy.is_slow,
                    since: toy.since,
                    errors: toy.errors,
                    left: toy.left,
                    troubles: toy.troubles(),
                    begun: toy.begun.clone(),
                }),
            };
            let offboard = toy.offboard.map(|value| (keys::OFFBOARD.to_owned(), value.to_owned()));
            let labels = toy.ring.iter().map(|ring| ("ring".to_owned(), ring.clone())).chain(offboard).collect();
            Member { cluster: self.name(name), labels, reach }
        };
        self.clusters.iter().map(member).collect()
    }

    /// Decides, and does what was decided.
    pub(crate) fn turn(&mut self, settings: &Settings, newest: Option<i64>) -> Decision {
        let members = self.members();
        let Self { ends, given_up, completed, now, .. } = *self;
        let decision = decide(&Snapshot { settings, ends, newest, given_up, completed, members: &members, now });
        if decision.gives_up {
            self.given_up = decision.target;
        }
        for (cluster, assigned) in &decision.assigned {
            self.carry_out(cluster.name(), *assigned);
        }
        decision
    }

    fn carry_out(&mut self, name: &str, assigned: Assigned) {
        let now = self.now;
        let toy = self.clusters.get_mut(name).unwrap();
        let to = match assigned {
            Assigned::Leave(_) => return,
            Assigned::Stay => {
                if let Some(begun) = &mut toy.begun {
                    begun.turn(false, now);
                }
                return;
            }
            Assigned::Done(revision) => {
                assert_eq!(toy.mark.as_ref().unwrap().revision, revision);
                toy.mark = assigned.mark(toy.mark.as_ref(), toy.errors);
                return;
            }
            Assigned::Revision(to) | Assigned::TakenBack(to) => to,
        };
        assert!(toy.lost.is_none(), "{name} is away");
        if toy.mark.as_ref().is_some_and(|mark| mark.revision == to) {
            return;
        }
        if toy.trouble.is_some() {
            toy.tried.insert(to);
            return;
        }
        if toy.is_stuck {
            let begun = toy.begun.take().filter(|begun| begun.revision == to);
            let begun = begun.unwrap_or_else(|| Begun { revision: to, error: "boom".to_owned(), ..Begun::default() });
            toy.begun.insert(begun).turn(true, now);
            return;
        }
        toy.begun = None;
        toy.mark = assigned.mark(toy.mark.as_ref(), toy.errors);
        toy.since = now;
        self.history.push((name.to_owned(), to));
    }

    /// The hub starts again: it knows only what is written down.
    pub(crate) fn restart(&mut self) {
        for toy in self.clusters.values_mut() {
            toy.tried.clear();
            toy.begun = None;
            toy.since = self.now;
            toy.lost = toy.lost.map(|_| self.now);
        }
    }

    /// Until nothing changes.
    pub(crate) fn turns(&mut self, settings: &Settings, newest: Option<i64>) -> Decision {
        loop {
            let before = self.members();
            let decision = self.turn(settings, newest);
            if self.members() == before {
                return decision;
            }
        }
    }
}
