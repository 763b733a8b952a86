//! `Crash`: what ends all tasks of a program at once, as the end of its process would, or stops them for a while. For simulators,
//! which run more than one program in theirs; and [`spawn`], by which every task of ours begins, so that none is left out.

use std::{
    future::poll_fn,
    pin::pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
};

use tokio::task::{AbortHandle, JoinHandle};

use crate::{
    lock::lock,
    wall::{self, Wall},
};

tokio::task_local! {
    static OF: Crash;
}

/// Ends all tasks of a program at once. Cloning it yields the same one.
#[derive(Debug, Clone, Default)]
pub struct Crash {
    state: Arc<Mutex<State>>,
    /// What the program's wall clock shows. `None`: what all others' do.
    wall: Option<Wall>,
}

#[derive(Debug, Default)]
struct State {
    tasks: Vec<AbortHandle>,
    /// How many there may be before those that have ended are forgotten.
    room: usize,
    crashed: bool,
    /// Whom to wake when they go on; `None`: they do.
    stopped: Option<Vec<Waker>>,
}

impl State {
    /// Whether a task must not go on now.
    fn stops(&mut self, context: &Context<'_>) -> bool {
        let Some(wakers) = &mut self.stopped else { return false };
        wakers.push(context.waker().clone());
        true
    }
}

impl Crash {
    /// Of a program with a wall clock of its own.
    pub fn showing(wall: Wall) -> Self {
        Self { wall: Some(wall), ..Self::default() }
    }

    /// Runs what begins a program: its tasks, and theirs, are this one's to end.
    pub async fn of<T>(&self, main: impl Future<Output = T>) -> T {
        self.scope(main).await
    }

    /// A task of the program.
    fn scope<F: Future>(&self, task: F) -> impl Future<Output = F::Output> + use<F> {
        let (state, task) = (Arc::clone(&self.state), wall::shown(self.wall, task));
        let stoppable = async move {
            let mut task = pin!(task);
            poll_fn(|context| if lock(&state).stops(context) { Poll::Pending } else { task.as_mut().poll(context) })
                .await
        };
        OF.scope(self.clone(), stoppable)
    }

    /// Stops them all where they stand, as SIGSTOP does: time goes on without them.
    pub fn stop(&self) {
        lock(&self.state).stopped.get_or_insert_default();
    }

    /// They go on from there.
    pub fn go_on(&self) {
        let woken = lock(&self.state).stopped.take();
        woken.into_iter().flatten().for_each(Waker::wake);
    }

    /// Ends them all where they stand; what they would begin does not begin.
    pub fn now(&self) {
        let mut state = lock(&self.state);
        state.crashed = true;
        for task in state.tasks.drain(..) {
            task.abort();
        }
    }

    fn ends(&self, task: AbortHandle) {
        let mut state = lock(&self.state);
        if state.crashed {
            task.abort();
            return;
        }
        if state.tasks.len() >= state.room {
            state.tasks.retain(|task| !task.is_finished());
            state.room = 64 + 2 * state.tasks.len();
        }
        state.tasks.push(task);
    }
}

/// A task that is begun by other means than [`spawn`], and ended by whoever begins it: it belongs to the program, too.
pub fn within<T>(task: impl Future<Output = T>) -> impl Future<Output = T> {
    let crash = OF.try_with(Clone::clone);
    async move {
        match crash {
            Ok(crash) => crash.scope(task).await,
            Err(_) => task.await,
        }
    }
}

/// Begins a task. It ends with the program that it belongs to, where a simulator can let that crash.
pub fn spawn<F>(task: F) -> JoinHandle<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    match OF.try_with(Clone::clone) {
        Ok(crash) => {
            let begun = tokio::spawn(crash.scope(task));
            crash.ends(begun.abort_handle());
            begun
        }
        Err(_) => tokio::spawn(task),
    }
}

#[cfg(test)]
mod tests {
    use std::{future::pending, time::Duration};

    use tokio::{sync::mpsc, time::Instant};

    use super::*;

    #[tokio::test]
    async fn a_crash_ends_all_that_its_program_began_and_nothing_else() {
        let (held, mut holds) = mpsc::channel::<()>(1);
        let (crash, own) = (Crash::default(), held.clone());
        crash
            .of(async move {
                spawn(async move {
                    // One that was begun by another.
                    spawn(async move {
                        let _held = own;
                        pending::<()>().await;
                    });
                    pending::<()>().await;
                });
            })
            .await;
        let other = spawn(async { 7 });
        tokio::task::yield_now().await;
        crash.now();
        drop(held);
        assert!(holds.recv().await.is_none(), "all ends of the channel are gone");
        assert_eq!(other.await.unwrap(), 7);
        let late = crash.of(async { spawn(async {}).await }).await;
        assert!(late.unwrap_err().is_cancelled());
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_stopped_goes_on_where_it_stood() {
        let (tell, mut told) = mpsc::unbounded_channel();
        let crash = Crash::default();
        let ticks = async move {
            spawn(async move {
                loop {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    tell.send(Instant::now()).unwrap();
                }
            });
        };
        crash.of(ticks).await;
        told.recv().await.unwrap();
        crash.stop();
        crash.stop();
        tokio::time::sleep(Duration::from_mins(1)).await;
        assert!(told.is_empty());
        crash.go_on();
        let goes_on = Instant::now();
        assert!(told.recv().await.unwrap() >= goes_on);
        assert!(told.recv().await.unwrap() >= goes_on + Duration::from_secs(1));
    }

    #[tokio::test(start_paused = true)]
    async fn each_program_has_its_own_clock() {
        let showing =
            |epoch| Crash::showing(Wall { since: Instant::now(), epoch: Duration::from_secs(epoch), jump: None });
        let tells = || async { spawn(async { wall::now().as_second() }).await.unwrap() };
        let (early, late) = (showing(1_000), showing(5_000));
        assert_eq!((early.of(tells()).await, late.of(tells()).await), (1_000, 5_000));
        tokio::time::sleep(Duration::from_secs(7)).await;
        assert_eq!(early.of(tells()).await, 1_007);
        let elsewhere = async { tokio::spawn(within(async { wall::now().as_second() })).await.unwrap() };
        assert_eq!(early.of(elsewhere).await, 1_007);
        assert!(Crash::default().of(tells()).await > 1_700_000_000, "as all others");
    }

    #[tokio::test]
    async fn those_that_have_ended_are_forgotten() {
        let crash = Crash::default();
        for _ in 0..1000 {
            crash.of(async { spawn(async {}).await }).await.unwrap();
        }
        assert!(lock(&crash.state).tasks.len() <= 64);
    }
}
