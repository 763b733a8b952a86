//! `Summary`: what the page shows, gathered from what the broker holds in memory. How much of it there is, is bounded; how long
//! it takes grows with clusters and Migrations, not with objects.

use std::collections::{BTreeMap, BTreeSet};

use broker_api::{ClusterName, MigrationState, Role};
use broker_core::decision::State;
use runtime_effect::kind::Kind;

use super::{
    flow::{MEASURES, Measure},
    graphs::GraphList,
    health::Health,
    migration::MigrationRow,
};
use crate::{broker::Broker, migrations::registry::overview::Overview, origins::records::spread::Spread};

/// Clusters that are shown.
const CLUSTERS: usize = 100;

/// Providers that are shown with how many objects they have.
const PROVIDERS: usize = 50;

/// Migrations that are shown.
const MIGRATIONS: usize = 50;

/// Sentences about what waits for a person that are shown.
const NOTES: usize = 20;

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Summary {
    /// Whether this process may write.
    pub(super) leads: bool,
    /// What waits for a person.
    pub(super) notes: Vec<String>,
    /// Bytes that are held of clusters, and that may be.
    pub(super) memory: (usize, usize),
    /// The clusters.
    pub(super) clusters: Clusters,
    /// The objects.
    pub(super) objects: Objects,
    /// How much goes on.
    pub(super) flow: [Measure; MEASURES.len()],
    /// Keys that wait for their turn, and that are worked on.
    pub(super) queue: (usize, usize),
    /// The Migrations.
    pub(super) migrations: Migrations,
    /// Graphs and their rollouts.
    pub(super) graphs: GraphList,
}

/// The clusters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Clusters {
    /// How many there are, by role and health.
    pub(super) counts: BTreeMap<(Role, Health), usize>,
    /// Some of them: those that need a look first.
    pub(super) rows: Vec<ClusterRow>,
    /// How many more there are.
    pub(super) more: usize,
}

/// One cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ClusterRow {
    /// How it stands with it.
    pub(super) health: Health,
    /// Its name.
    pub(super) name: ClusterName,
    /// What is wrong with it; empty where nothing is.
    pub(super) why: String,
    /// How many objects it asks for, or serves.
    pub(super) objects: usize,
}

/// The objects.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Objects {
    /// How many there are of each kind in each state.
    pub(super) kinds: BTreeMap<Kind, BTreeMap<State, usize>>,
    /// How many providers have, those with most first.
    pub(super) providers: Vec<(ClusterName, usize)>,
    /// How many more providers have any.
    pub(super) more: usize,
}

/// The Migrations.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Migrations {
    /// How many there are in each state.
    pub(super) counts: BTreeMap<MigrationState, usize>,
    /// Some of them: those under way first.
    pub(super) rows: Vec<MigrationRow>,
    /// How many more there are.
    pub(super) more: usize,
}

impl Summary {
    /// As of now, with what was counted and listed elsewhere.
    pub(super) fn gather(broker: &Broker, flow: [Measure; MEASURES.len()], graphs: GraphList) -> Self {
        let spread = broker.origins.records.spread();
        let budget = broker.fleet().budget();
        let queues = [broker.origins.queue.stats(), broker.migrations.queue.stats()];
        Self {
            leads: broker.leads(),
            notes: notes(broker),
            memory: (budget.used(), budget.limit()),
            clusters: Clusters::gather(broker, &spread),
            objects: Objects::new(spread),
            flow,
            queue: (queues.iter().map(|queue| queue.depth).sum(), queues.iter().map(|queue| queue.running).sum()),
            migrations: Migrations::gather(broker),
            graphs,
        }
    }
}

/// What waits for a person, or for the process to know all that it should.
fn notes(broker: &Broker) -> Vec<String> {
    let mut notes = Vec::new();
    if broker.signing.ring.load().is_none() {
        notes.push(broker.signing.trouble());
    }
    if !broker.intake.is_synced() {
        notes.push("Not all that there is has been looked at yet: the numbers are still growing.".to_owned());
    }
    for (consumer, count) in broker.brake.held() {
        notes.push(format!("{consumer}: {count} copies have lost their origins all at once, and are kept."));
    }
    let more = notes.len().saturating_sub(NOTES);
    if more > 0 {
        notes.truncate(NOTES);
        notes.push(format!("And {more} more like these."));
    }
    notes
}

impl Clusters {
    fn gather(broker: &Broker, spread: &Spread) -> Self {
        let counted: BTreeMap<&ClusterName, usize> =
            spread.consumers.iter().chain(&spread.providers).map(|(name, count)| (name, *count)).collect();
        let rows = broker.fleet().clusters().into_iter().map(|cluster| {
            let (health, why) = Health::of(&cluster);
            let objects = counted.get(cluster.name()).copied().unwrap_or_default();
            ClusterRow { health, name: cluster.name().clone(), why, objects }
        });
        Self::new(rows.collect())
    }

    /// Of all clusters.
    pub(super) fn new(mut rows: Vec<ClusterRow>) -> Self {
        let mut counts = BTreeMap::<(Role, Health), usize>::new();
        for row in &rows {
            *counts.entry((row.name.role(), row.health)).or_default() += 1;
        }
        rows.sort_unstable_by(|a, b| (a.health, &a.name).cmp(&(b.health, &b.name)));
        let more = rows.len().saturating_sub(CLUSTERS);
        rows.truncate(CLUSTERS);
        Self { counts, rows, more }
    }

    /// How many there are, and how many of them are as they should be.
    pub(super) fn totals(&self) -> (usize, usize) {
        let ready = self.counts.iter().filter(|((_, health), _)| *health == Health::Ready);
        (self.counts.values().sum(), ready.map(|(_, count)| count).sum())
    }
}

impl Objects {
    /// Of how many there are of what.
    pub(super) fn new(spread: Spread) -> Self {
        let mut kinds = BTreeMap::<Kind, BTreeMap<State, usize>>::new();
        for (kind, state, count) in spread.states {
            kinds.entry((*kind).clone()).or_default().insert(state, count);
        }
        let mut providers = spread.providers;
        providers.sort_by(|(a, some), (b, others)| others.cmp(some).then_with(|| a.cmp(b)));
        let more = providers.len().saturating_sub(PROVIDERS);
        providers.truncate(PROVIDERS);
        Self { kinds, providers, more }
    }

    /// The states that any is in.
    pub(super) fn states(&self) -> BTreeSet<State> {
        self.kinds.values().flat_map(BTreeMap::keys).copied().collect()
    }

    /// How many are in a state.
    pub(super) fn in_state(&self, state: State) -> usize {
        self.kinds.values().filter_map(|states| states.get(&state)).sum()
    }

    /// How many there are.
    pub(super) fn total(&self) -> usize {
        self.kinds.values().flat_map(BTreeMap::values).sum()
    }
}

impl Migrations {
    fn gather(broker: &Broker) -> Self {
        let Overview { states, first, more } = broker.migrations.overview(MIGRATIONS);
        let rows = first.iter().filter_map(|key| MigrationRow::of(broker, key)).collect();
        Self { counts: states, rows, more }
    }

    /// How many there are.
    pub(super) fn total(&self) -> usize {
        self.counts.values().sum()
    }

    /// How many have not come to their end.
    pub(super) fn under_way(&self) -> usize {
        let ended = [MigrationState::CutoverCompleted, MigrationState::Failed];
        let open = self.counts.iter().filter(|(state, _)| !ended.contains(state));
        open.map(|(_, count)| count).sum()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn row(name: &str, health: Health) -> ClusterRow {
        ClusterRow { health, name: ClusterName::consumer(name), why: String::new(), objects: 0 }
    }

    #[test]
    fn clusters_that_need_a_look_come_first_and_all_are_counted() {
        let mut all: Vec<ClusterRow> = (0..1000).map(|number| row(&format!("c{number:04}"), Health::Ready)).collect();
        all[998].health = Health::Lagging;
        all[999].health = Health::Unreachable;
        let clusters = Clusters::new(all);
        let names: Vec<&str> = clusters.rows.iter().take(3).map(|row| row.name.name()).collect();
        assert_eq!(names, ["c0999", "c0998", "c0000"]);
        assert_eq!((clusters.rows.len(), clusters.more, clusters.totals()), (CLUSTERS, 900, (1000, 998)));
    }

    #[test]
    fn objects_are_added_up() {
        let kind = |name: &str| Arc::new(Kind { group: "g".into(), version: "v1".into(), kind: name.into() });
        let providers = (0..150).map(|number| (ClusterName::provider(format!("p{number:03}")), number)).collect();
        let objects = Objects::new(Spread {
            states: vec![(kind("K"), State::Served, 5), (kind("K"), State::Waiting, 1), (kind("L"), State::Served, 2)],
            consumers: vec![],
            providers,
        });
        assert_eq!((objects.total(), objects.in_state(State::Served), objects.in_state(State::Moving)), (8, 7, 0));
        assert_eq!(objects.states(), [State::Waiting, State::Served].into());
        assert_eq!((objects.providers[0].1, objects.providers.len(), objects.more), (149, PROVIDERS, 100));
    }

    #[tokio::test]
    async fn a_broker_without_anything_says_what_it_waits_for() {
        let (broker, _channels) = Broker::of_one_kind();
        let summary = Summary::gather(&broker, Default::default(), GraphList::default());
        assert!(!summary.leads && summary.notes.len() == 2, "{:?}", summary.notes);
        assert_eq!((summary.clusters.totals(), summary.objects.total(), summary.migrations.total()), ((0, 0), 0, 0));
    }
}
