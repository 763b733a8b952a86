//! `Fleet`: clusters that do what they are assigned, without any API server.

use std::collections::BTreeMap;

use broker_api::ClusterName;
use graphs_core::rollout::{
    Assigned, Decision, Mark, Member, Reach, Reason, Settings, Snapshot, Spoke, Trouble, decide,
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
    /// Its kinds are not Established.
    pub(crate) is_slow: bool,
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
                Some(since) => {
                    let trouble = Trouble { reason: Reason::Unreachable, message: "away".to_owned() };
                    Reach::Unreachable { trouble, since }
                }
                None => Reach::Reached(Spoke {
                    mark: toy.mark.clone(),
                    settled: toy.mark.is_some() && !toy.is_slow,
                    errors: toy.errors,
                    trouble: toy.trouble.map(|reason| Trouble { reason, message: "no".to_owned() }),
                }),
            };
            let labels = toy.ring.iter().map(|ring| ("ring".to_owned(), ring.clone())).collect();
            Member { cluster: self.name(name), labels, reach }
        };
        self.clusters.iter().map(member).collect()
    }

    /// Decides, and does what was decided.
    pub(crate) fn turn(&mut self, settings: &Settings, newest: Option<i64>) -> Decision {
        let members = self.members();
        let decision = decide(&Snapshot { settings, newest, members: &members, now: self.now });
        for (cluster, assigned) in &decision.assigned {
            self.carry_out(cluster.name(), *assigned);
        }
        decision
    }

    fn carry_out(&mut self, name: &str, assigned: Assigned) {
        let now = self.now;
        let toy = self.clusters.get_mut(name).unwrap();
        let (to, taken_back) = match assigned {
            Assigned::Leave | Assigned::Stay => return,
            Assigned::Soaked(_) => {
                if let Some(mark) = &mut toy.mark {
                    mark.soaked = true;
                }
                return;
            }
            Assigned::Revision(to) => (to, None),
            Assigned::TakenBack { to, from } => (to, Some(from)),
        };
        assert!(toy.lost.is_none(), "{name} is away");
        let before = toy.mark.as_ref().map(|mark| mark.revision);
        if before == Some(to) || toy.trouble.is_some() {
            return;
        }
        toy.mark =
            Some(Mark { revision: to, previous: before, at: now, errors: toy.errors, soaked: false, taken_back });
        self.history.push((name.to_owned(), to));
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
