//! An hour in which nothing happens, with the whole broker above the model: nothing is written, and memory stays what it was.
//!
//! What is counted is every byte that is allocated and not freed, of the broker and of the model, which holds nothing more
//! where nothing is written. An hour of nothing takes seconds: time goes on when nobody has anything to do.
//! `OBJECTS=50000` is what `make bench-scale` looks at.

#![allow(clippy::unwrap_used)]

mod ground;

use std::{env, time::Duration};

use cap::Cap;
use mimalloc::MiMalloc;
use runtime_fleet::random;
use tokio::{
    runtime::{Builder, RngSeed},
    time::sleep,
};

use crate::ground::Ground;

/// That of the binary, with a count of what it has handed out.
#[global_allocator]
static ALLOCATOR: Cap<MiMalloc> = Cap::new(MiMalloc, usize::MAX);

/// The hour, and how often it is looked meanwhile.
const LOOKS: u32 = 6;
const BETWEEN: Duration = Duration::from_mins(10);

/// What is there only while something is asked for does not count: so many looks, a second apart, of which the least counts.
const GLANCES: usize = 30;

/// So many bytes more after the hour are none that are left over: what is drawn and kept for a while differs a little from
/// one moment to another.
const GROWTH: usize = 64 << 10;

/// All that was seen.
struct Seen {
    /// Clusters but the hub, and objects.
    clusters: usize,
    objects: usize,
    /// Bytes, at the beginning of the hour and after each part of it.
    bytes: Vec<usize>,
    /// How many changes there were in that hour, at all API servers.
    changes: u64,
}

async fn spend(objects: usize) -> Seen {
    let ground = Ground::prepare(objects).await;
    let _broker = ground.start().await;
    ground.serve().await;
    let before = ground.revisions();
    let mut bytes = vec![least(&ground).await];
    for _ in 0..LOOKS {
        sleep(BETWEEN).await;
        bytes.push(least(&ground).await);
    }
    Seen { clusters: ground.clusters(), objects, bytes, changes: ground.revisions() - before }
}

async fn least(ground: &Ground) -> usize {
    let mut least = usize::MAX;
    for _ in 0..GLANCES {
        sleep(Duration::from_secs(1)).await;
        // The model remembers all that has happened; that is not what is looked for.
        ground.forget();
        least = least.min(ALLOCATOR.allocated());
    }
    least
}

#[test]
fn an_hour_of_nothing_leaves_memory_as_it_was() {
    let objects = env::var("OBJECTS").ok().filter(|text| !text.is_empty());
    let objects = objects.map_or(200, |text| text.parse().unwrap());
    random::seed(1);
    let chance = RngSeed::from_bytes(&1_u64.to_le_bytes());
    let runtime = Builder::new_current_thread().enable_all().start_paused(true).rng_seed(chance).build().unwrap();
    let Seen { clusters, objects, bytes, changes } = runtime.block_on(spend(objects));
    let (first, last) = (bytes[0], bytes[bytes.len() - 1]);
    let grown = last.saturating_sub(first);
    let told: Vec<String> = bytes.iter().map(|bytes| (bytes >> 10).to_string()).collect();
    println!("an hour of nothing: {objects} objects, {clusters} clusters; KiB every ten minutes: {}", told.join(" "));
    println!("  writes: {changes}, {}", if changes == 0 { "ok" } else { "MISSED" });
    println!("  growth: {grown} B, at most {GROWTH}: {}", if grown <= GROWTH { "ok" } else { "MISSED" });
    assert_eq!(changes, 0, "nothing is written while nothing happens");
    assert!(grown <= GROWTH, "{bytes:?}");
}
