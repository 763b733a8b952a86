//! Many worlds, on as many threads as there are processors.

use std::{
    collections::HashMap,
    env,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    thread,
};

use crate::{
    panics::survived,
    plan::Plan,
    story::{Told, tell},
};

/// A calm story, or what is wrong with it.
type Calm = Result<Told, String>;

/// Calm stories, each told once; and how many requests a story took at the most.
#[derive(Default)]
struct Calms(Mutex<HashMap<String, Arc<OnceLock<Calm>>>>, AtomicU64);

impl Calms {
    fn place(&self, plan: &Plan) -> Arc<OnceLock<Calm>> {
        Arc::clone(self.0.lock().unwrap().entry(plan.story()).or_default())
    }

    /// What is wrong with a story, held against its calm twin.
    fn check(&self, plan: &Plan) -> Result<(), String> {
        let place = self.place(plan);
        let calm = place.get_or_init(|| {
            let told = tell(&plan.calm());
            told.check(&told).map_err(|why| format!("even when all is calm: {why}"))?;
            // Of what happened only the end is held against others.
            Ok(Told { entries: Vec::new(), ..told })
        });
        let told = tell(plan);
        self.1.fetch_max(told.requests, Ordering::Relaxed);
        told.check(calm.as_ref().map_err(Clone::clone)?)
    }
}

/// Those of the seeds whose worlds go wrong, lowest first.
pub(crate) fn crowd(seeds: &[u64]) -> Vec<u64> {
    let calms = Calms::default();
    let failed = each(seeds, |seed| calms.check(&Plan::drawn(*seed)).err()).into_iter().copied().collect();
    println!("none took more than {} requests", calms.1.into_inner());
    failed
}

/// Those for which `test` says what is wrong, in their order.
pub(crate) fn each<T: Sync>(all: &[T], test: impl Fn(&T) -> Option<String> + Sync + Send) -> Vec<&T> {
    let threads = env::var("THREADS").ok().and_then(|text| text.parse().ok());
    let threads = threads.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from));
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(one) = all.get(at) else { return };
                    if goes_wrong(at, || test(one)) {
                        failed.lock().unwrap().push(at);
                    }
                }
            });
        }
    });
    let mut failed = failed.into_inner().unwrap();
    failed.sort_unstable();
    failed.into_iter().map(|at| &all[at]).collect()
}

/// Tells people, and `make mutants`, what `test` says is wrong with the one at this place, if it says so.
pub(crate) fn goes_wrong(at: usize, test: impl FnOnce() -> Option<String>) -> bool {
    // A world that panics has gone wrong, too.
    let found = survived(test);
    let Some(why) = found.unwrap_or_else(|panic| Some(format!("it panics: {panic}"))) else { return false };
    println!("no. {}: {}", at + 1, why.chars().take(300).collect::<String>());
    true
}
