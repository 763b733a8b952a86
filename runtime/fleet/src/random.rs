//! The one source of randomness: the system's, unless a simulator has seeded this thread.
//!
//! A simulator runs everything on one thread, so that a seed of that thread fixes all that is drawn. Nobody else seeds.

use std::{cell::RefCell, time::Duration};

use rand::{
    Rng, SeedableRng as _,
    distr::uniform::{SampleRange, SampleUniform},
    rngs::StdRng,
};

thread_local! {
    /// The seed, and what is drawn with it.
    static SEEDED: RefCell<Option<(u64, StdRng)>> = const { RefCell::new(None) };
}

fn draw<T>(with: impl FnOnce(&mut dyn rand::RngCore) -> T) -> T {
    SEEDED.with_borrow_mut(|seeded| match seeded {
        Some((_, source)) => with(source),
        None => with(&mut rand::rng()),
    })
}

/// From now on what this thread draws is fixed by a seed. For simulators only: keys are drawn from the same source.
pub fn seed(seed: u64) {
    SEEDED.set(Some((seed, StdRng::seed_from_u64(seed))));
}

/// The seed of this thread, if it is a simulator's.
pub(crate) fn seeded() -> Option<u64> {
    SEEDED.with_borrow(|seeded| seeded.as_ref().map(|(seed, _)| *seed))
}

/// Whether this thread is a simulator's.
pub fn is_seeded() -> bool {
    seeded().is_some()
}

/// A number of a range.
pub fn within<T: SampleUniform>(range: impl SampleRange<T>) -> T {
    draw(|source| source.random_range(range))
}

/// Any number.
pub fn number() -> u64 {
    draw(|source| source.next_u64())
}

/// Bytes that nobody can guess, unless this thread was seeded.
pub fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    draw(|source| source.fill_bytes(&mut bytes));
    bytes
}

/// Where other threads may come in between two steps that they see one by one. A simulated world has one thread only: there all
/// others have their turn here, now and then, as where a processor is taken away for a moment.
pub async fn interleave() {
    if !is_seeded() {
        return;
    }
    match within(0..8) {
        0 => tokio::time::sleep(Duration::from_millis(within(1..300))).await,
        1 | 2 => tokio::task::yield_now().await,
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_fixes_what_its_thread_draws_and_nobody_elses() {
        let drawn = |with: Option<u64>| {
            let thread = std::thread::spawn(move || {
                with.into_iter().for_each(seed);
                (number(), within(0.0..1.0_f64).to_bits(), bytes::<16>())
            });
            thread.join().unwrap()
        };
        assert_eq!(drawn(Some(1)), drawn(Some(1)));
        assert_ne!(drawn(Some(1)), drawn(Some(2)));
        assert_ne!(drawn(None), drawn(None));
    }
}
