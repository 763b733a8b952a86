//! Waiting for a fact with a deadline, instead of sleeping for a time that is hoped to be enough.

use std::fmt::Display;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

/// The first pause between two looks, and the longest one: fast where the fact comes soon, cheap where it does not.
const SHORTEST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// What one look at the world yields: the fact that is waited for, or a text that says what was seen instead.
///
/// - `Option<T>`: `Some` is the fact;
/// - `bool`: `true` is the fact;
/// - `Result<T, E>`: `Ok` is the fact, and `E` (an error, or a text) is what was seen instead.
pub trait Observation {
    /// What [`wait_for`] returns.
    type Fact;

    /// The fact, or what was seen instead of it.
    fn fact(self) -> Result<Self::Fact, String>;
}

impl<T> Observation for Option<T> {
    type Fact = T;

    fn fact(self) -> Result<T, String> {
        self.ok_or_else(|| "nothing".to_owned())
    }
}

impl Observation for bool {
    type Fact = ();

    fn fact(self) -> Result<(), String> {
        if self { Ok(()) } else { Err("it is not so".to_owned()) }
    }
}

impl<T, E: Display> Observation for Result<T, E> {
    type Fact = T;

    fn fact(self) -> Result<T, String> {
        // The alternate form prints an `anyhow` error with its causes.
        self.map_err(|seen| format!("{seen:#}"))
    }
}

/// Looks again and again until `look` yields the fact, at most for `deadline`.
///
/// # Errors
/// When the deadline passes: says `what` was waited for, for how long, and what was seen last. A look that does not
/// return (a stopped server) is cut off by the deadline as well.
pub async fn wait_for<O: Observation>(
    deadline: Duration,
    what: &str,
    mut look: impl AsyncFnMut() -> O,
) -> anyhow::Result<O::Fact> {
    let end = Instant::now() + deadline;
    let mut pause = SHORTEST_PAUSE;
    let mut last_seen = None;
    loop {
        let in_time = match timeout_at(end, look()).await.map(Observation::fact) {
            Ok(Ok(fact)) => return Ok(fact),
            Ok(Err(seen)) => {
                last_seen = Some(seen);
                Instant::now() < end
            }
            Err(_elapsed) => false,
        };
        if !in_time {
            let seen = last_seen.unwrap_or_else(|| "no look came back".to_owned());
            anyhow::bail!("waited {deadline:?} for {what}; last observed: {seen}");
        }
        sleep(pause.min(end.saturating_duration_since(Instant::now()))).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;

    #[tokio::test]
    async fn returns_the_fact_once_it_is_there() {
        let mut looks = 0;
        let fact = wait_for(Duration::from_mins(1), "the third look", async || {
            looks += 1;
            (looks == 3).then_some(looks)
        })
        .await;
        assert_eq!(fact.unwrap(), 3);
    }

    #[tokio::test]
    async fn says_what_it_waited_for_and_what_it_saw() {
        let error = wait_for(Duration::from_millis(20), "a phase", async || Err::<(), _>("Pending"))
            .await
            .expect_err("it never comes");
        assert_eq!(error.to_string(), "waited 20ms for a phase; last observed: Pending");
    }

    #[tokio::test]
    async fn cuts_off_a_look_that_hangs() {
        let error = wait_for(Duration::from_millis(20), "an answer", async || std::future::pending::<bool>().await)
            .await
            .expect_err("it never comes");
        assert!(error.to_string().ends_with("no look came back"), "{error:#}");
    }
}
