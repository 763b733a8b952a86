//! `Newcomers`: how many servers are got to know at the same time.
//!
//! A thousand that are met at once would each have begun before the first is done, and all that each needs meanwhile would
//! be held a thousand times: what is freed afterwards lies between what stays, and is not given back.

use std::{pin::pin, time::Duration};

use tokio::{sync::Semaphore, time::sleep};

/// So many turns.
const TURNS: usize = 16;

/// How long a turn lasts at the most: one that is far away, or gets no answer, goes on without.
const TURN: Duration = Duration::from_millis(100);

/// Whose turn it is, in the order in which they came. So a server that does not answer costs the others a share of a tenth
/// of a second, whatever else it does.
#[derive(Debug)]
pub(crate) struct Newcomers(Semaphore);

impl Newcomers {
    pub(crate) fn new() -> Self {
        Self(Semaphore::new(TURNS))
    }

    /// Meets a server when its turn has come.
    pub(crate) async fn meet<T>(&self, server: impl Future<Output = T>) -> T {
        // Never closed.
        let turn = self.0.acquire().await.ok();
        let mut server = pin!(server);
        tokio::select! {
            met = &mut server => return met,
            () = sleep(TURN) => {}
        }
        drop(turn);
        server.await
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::pending,
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
    };

    use super::*;

    /// So many want to be met; how many have begun.
    fn meet(newcomers: &Arc<Newcomers>, count: usize, answers: bool) -> Arc<AtomicUsize> {
        let begun = Arc::<AtomicUsize>::default();
        for _ in 0..count {
            let (newcomers, begun) = (Arc::clone(newcomers), Arc::clone(&begun));
            tokio::spawn(async move {
                let server = async {
                    begun.fetch_add(1, Ordering::Relaxed);
                    if !answers {
                        pending::<()>().await;
                    }
                };
                newcomers.meet(server).await;
            });
        }
        begun
    }

    #[tokio::test(start_paused = true)]
    async fn those_that_do_not_answer_cost_the_others_a_turn_and_no_more() {
        let newcomers = Arc::new(Newcomers::new());
        let silent = meet(&newcomers, 3 * TURNS, false);
        let others = meet(&newcomers, 3 * TURNS, true);
        for round in 1..=3 {
            sleep(TURN / 2).await;
            assert_eq!((silent.load(Ordering::Relaxed), others.load(Ordering::Relaxed)), (round * TURNS, 0));
            sleep(TURN / 2).await;
        }
        sleep(TURN / 2).await;
        assert_eq!(others.load(Ordering::Relaxed), 3 * TURNS, "who answers gives its turn on at once");
        assert_eq!(newcomers.0.available_permits(), TURNS);
    }
}
