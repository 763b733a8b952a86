//! What to measure, and how much of it.

use std::time::Duration;

use clap::{Parser, ValueEnum};

/// Measures the broker on its own API servers: one consumer, two providers, objects of 3 KB; and resource-graphs on one.
#[derive(Clone, Debug, Parser)]
#[command(name = "bench", max_term_width = 110)]
pub(crate) struct Options {
    /// Smaller numbers, for a look in about a minute; the goals hold for the full numbers only
    #[arg(long)]
    pub(crate) quick: bool,

    /// Measure only this (and what it needs); repeatable
    #[arg(long, value_name = "NAME", value_enum)]
    pub(crate) only: Vec<Part>,

    /// How much of its full numbers the part `scale` uses: 0.02 is a look in about a minute
    #[arg(long, value_name = "SHARE", default_value_t = 1.0)]
    pub(crate) scale: f64,

    /// Exit with 1 when a goal is missed
    #[arg(long)]
    pub(crate) check: bool,
}

/// A part of the bench, in the order in which they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// Latency of creates and status changes at 10 a second
    Paced,
    /// What each sort of write costs the API server
    Writes,
    /// Creates at full speed against the ceiling, and status changes at full speed
    Burst,
    /// Memory per object with many objects
    Memory,
    /// Time and writes after a restart with many objects
    Restart,
    /// Requests while nothing happens
    Idle,
    /// How long a person waits for kubectl broker, with many clusters and with many objects
    CommandLine,
    /// Moves between two providers, without and with a bound that matters
    Moves,
    /// Moves with a MigrationConfiguration of two stages
    Migrations,
    /// What one tenant waits while others attack
    Hostile,
    /// What a burst and a decision cost with many clusters known
    Fleet,
    /// The same with many objects held
    Held,
    /// resource-graphs: bursts, latency, memory, restart and idling of instances
    Graphs,
    /// resource-graphs: many definitions
    Definitions,
    /// resource-graphs: definitions for many clusters
    Distributor,
    /// 50,000 objects in 1,000 consumers, 100 providers; only where it is asked for
    Scale,
}

impl Part {
    /// What is measured of objects that stay where they are.
    pub(crate) const STAYING: [Self; 7] =
        [Self::Paced, Self::Writes, Self::Burst, Self::Memory, Self::Restart, Self::Idle, Self::CommandLine];
    /// What is measured of objects that move: on clusters of their own, where nothing else is.
    pub(crate) const MOVING: [Self; 2] = [Self::Moves, Self::Migrations];
    /// What is measured of sizes.
    pub(crate) const GROWING: [Self; 2] = [Self::Fleet, Self::Held];
}

impl Options {
    /// Whether a part is to be measured. The largest one takes a machine for itself, and has a target of its own.
    pub(crate) fn wants(&self, part: Part) -> bool {
        self.only.contains(&part) || self.only.is_empty() && part != Part::Scale
    }

    /// Whether one of these is to be measured.
    pub(crate) fn wants_any(&self, parts: &[Part]) -> bool {
        parts.iter().any(|part| self.wants(*part))
    }

    /// How much to measure.
    pub(crate) fn sizes(&self) -> Sizes {
        if self.quick { QUICK } else { FULL }
    }
}

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    /// Creates against one API server per degree of parallelism.
    pub(crate) ceiling: usize,
    /// Creates, and as many status changes, at [`RATE`].
    pub(crate) paced: usize,
    /// Creates, and as many status changes, at full speed.
    pub(crate) burst: usize,
    /// Objects for memory and restart.
    pub(crate) many: usize,
    /// How long to look for idle requests.
    pub(crate) idle: Duration,
    /// Objects that move.
    pub(crate) moves: usize,
    /// Objects that move with stages.
    pub(crate) migrations: usize,
    /// Clusters that the broker knows, from few to many. The first: those of the stage.
    pub(crate) clusters: [usize; 3],
    /// Objects that the broker holds, from few to many.
    pub(crate) held: [usize; 3],
    /// Instances of an RGD at full speed.
    pub(crate) instances_burst: usize,
    /// Instances one at a time.
    pub(crate) instances_single: usize,
    /// Instances for memory and restart.
    pub(crate) instances_many: usize,
    /// How long to look for requests with these.
    pub(crate) idle_instances: Duration,
    /// RGDs in one process.
    pub(crate) definitions: usize,
    /// Clusters that one RGD is brought to.
    pub(crate) spokes: usize,
    /// RGDs that are brought to one cluster.
    pub(crate) onboarded: usize,
}

/// Requests per second of the paced part.
pub(crate) const RATE: u32 = 10;

const FULL: Sizes = Sizes {
    ceiling: 1_500,
    paced: 200,
    burst: 2_000,
    many: 10_000,
    idle: Duration::from_secs(15),
    moves: 500,
    migrations: 200,
    clusters: [4, 100, 1_000],
    held: [1_000, 10_000, 50_000],
    instances_burst: 500,
    instances_single: 100,
    instances_many: 5_000,
    idle_instances: Duration::from_secs(10),
    definitions: 500,
    spokes: 500,
    onboarded: 100,
};
const QUICK: Sizes = Sizes {
    ceiling: 400,
    paced: 50,
    burst: 500,
    many: 2_000,
    idle: Duration::from_secs(5),
    moves: 100,
    migrations: 40,
    clusters: [4, 30, 200],
    held: [500, 1_000, 3_000],
    instances_burst: 150,
    instances_single: 30,
    instances_many: 1_000,
    idle_instances: Duration::from_secs(5),
    definitions: 60,
    spokes: 50,
    onboarded: 20,
};
