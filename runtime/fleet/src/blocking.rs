//! Work that keeps a thread: done where it keeps nobody else.

use tokio::{
    sync::Semaphore,
    task::{JoinError, spawn_blocking},
};

use crate::random;

/// Does work that takes long without waiting for anybody, or waits without letting others go on, on a thread of the
/// runtime's for such work. `Err`: it panicked. On the thread of a simulator (see [`random::seed`]) it is done at once: when
/// another thread would be ready is chance.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, JoinError> {
    if random::is_seeded() { Ok(work()) } else { spawn_blocking(work).await }
}

/// How much work that only computes is done at the same time.
static COMPUTING: Semaphore = Semaphore::const_new(4);

/// [`blocking`] for work that only computes, and never waits: a few at a time. A thousand clusters that answer at once would
/// have hundreds of threads, and each leaves memory behind that it has touched.
///
/// A simulator does it at once, without waiting for its turn: on other threads there may be other worlds.
pub async fn computing<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, JoinError> {
    if random::is_seeded() {
        return Ok(work());
    }
    // Never closed.
    let _turn = COMPUTING.acquire().await.ok();
    blocking(work).await
}

/// [`blocking`] for work that needs a thread of its own only where `blocks`.
pub async fn blocking_where<T: Send + 'static>(
    blocks: bool,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, JoinError> {
    if blocks { blocking(work).await } else { Ok(work()) }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[tokio::test]
    async fn a_simulator_does_it_itself() {
        let elsewhere = blocking(|| thread::current().id()).await.unwrap();
        assert_ne!(elsewhere, thread::current().id());
        random::seed(1);
        assert_eq!(blocking(|| thread::current().id()).await.unwrap(), thread::current().id());
    }
}
