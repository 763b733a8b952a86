//! Sends requests: at a pace, or as fast as so many clients can.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

/// One request of a load: the position in it, when it was sent and when its answer was read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    /// Position, from 0.
    pub(crate) number: usize,
    /// Before the request.
    pub(crate) begun: Instant,
    /// After its answer.
    pub(crate) answered: Instant,
}

/// When the first request was sent.
pub(crate) fn first(sent: &[Request]) -> Option<Instant> {
    sent.iter().map(|one| one.begun).min()
}

/// Requests per second, from the first request to the last answer.
pub(crate) fn rate(sent: &[Request]) -> f64 {
    let last = sent.iter().map(|one| one.answered).max();
    match (first(sent), last) {
        (Some(first), Some(last)) => per_second(sent.len(), last.duration_since(first)),
        _ => 0.0,
    }
}

/// So many in this time, per second.
#[allow(clippy::cast_precision_loss)]
pub(crate) fn per_second(count: usize, took: Duration) -> f64 {
    count as f64 / took.as_secs_f64()
}

/// `count` requests at `per_second`, each at its time, however long those before it take.
pub(crate) async fn paced<F, W>(count: usize, per_second: u32, request: F) -> anyhow::Result<Vec<Request>>
where
    F: Fn(usize) -> W,
    W: Future<Output = anyhow::Result<()>> + Send + 'static,
{
    let mut ticks = interval(Duration::from_secs(1) / per_second);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut requests = JoinSet::new();
    for number in 0..count {
        ticks.tick().await;
        let work = request(number);
        requests.spawn(timed(number, work));
    }
    requests.join_all().await.into_iter().collect()
}

/// `count` requests from `clients` at once, each sending its next as soon as it has an answer.
pub(crate) async fn at_full_speed<F, W>(count: usize, clients: usize, request: F) -> anyhow::Result<Vec<Request>>
where
    F: Fn(usize) -> W + Send + Sync + 'static,
    W: Future<Output = anyhow::Result<()>> + Send + 'static,
{
    let next = Arc::new(AtomicUsize::new(0));
    let request = Arc::new(request);
    let mut workers = JoinSet::new();
    for _ in 0..clients {
        let (next, request) = (Arc::clone(&next), Arc::clone(&request));
        workers.spawn(async move {
            let mut sent = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return anyhow::Ok(sent);
                }
                sent.push(timed(number, request(number)).await?);
            }
        });
    }
    let sent: Vec<Vec<Request>> = workers.join_all().await.into_iter().collect::<Result<_, _>>()?;
    Ok(sent.concat())
}

async fn timed(number: usize, work: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<Request> {
    let begun = Instant::now();
    work.await?;
    Ok(Request { number, begun, answered: Instant::now() })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[tokio::test]
    async fn every_request_is_sent_once_and_errors_are_told() {
        let mut numbers: Vec<_> =
            at_full_speed(100, 8, async |_| Ok(())).await.unwrap().iter().map(|one| one.number).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..100).collect::<Vec<_>>());
        assert_eq!(paced(3, 1_000, async |_| Ok(())).await.unwrap().len(), 3);
        let failing = async |number| if number < 5 { Ok(()) } else { Err(anyhow::anyhow!("refused")) };
        assert!(at_full_speed(9, 2, failing).await.is_err());
    }
}
