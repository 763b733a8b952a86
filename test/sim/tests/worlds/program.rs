//! `Program`: what runs as a process: it starts, it may crash, and is started anew.

use std::{any::Any, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use runtime_fleet::{
    crash::Crash,
    fleet::Fleet,
    wall::{Jump, Wall, skewed},
};
use sim::{Weather, Wire, World};
use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{Instant, sleep},
};

/// How long it takes until a process is started anew.
const RESTART: Duration = Duration::from_secs(1);

/// How long a process runs until its clock jumps, where one does.
const JUMPS: Duration = Duration::from_secs(25);

/// What a process holds until it ends.
pub(crate) struct Running {
    fleet: Arc<Fleet>,
    _held: Box<dyn Any + Send>,
}

impl Running {
    pub(crate) fn new(fleet: &Arc<Fleet>, held: impl Any + Send) -> Self {
        Self { fleet: Arc::clone(fleet), _held: Box::new(held) }
    }
}

impl Drop for Running {
    /// What it knew would stay: its parts refer to each other.
    fn drop(&mut self) {
        self.fleet.abandon();
    }
}

/// What can be started as a process.
pub(crate) trait Starts: Send + 'static {
    /// What it calls itself.
    fn name(&self) -> &'static str;

    /// Which of several it is.
    fn at(&self) -> u64;

    /// So many seconds the wall clocks of every other process, and of every other program, are wrong, and jump of all others.
    fn skew(&self) -> i64;

    /// Starts a process that reaches API servers through `wire`.
    fn start(&self, wire: Wire) -> BoxFuture<'_, Running>;
}

/// One that runs.
#[derive(Clone)]
struct Process {
    wire: Wire,
    crash: Crash,
}

/// A program that is started anew whenever its process crashes.
pub(crate) struct Program {
    process: watch::Receiver<Option<Process>>,
    weather: watch::Sender<Weather>,
    supervisor: JoinHandle<()>,
}

impl Program {
    /// The first process crashes after the first of so many writes, the next after the second.
    pub(crate) fn start(starts: impl Starts, world: &Arc<World>, seed: u64, crashes: Vec<u64>) -> Self {
        let (tell, process) = watch::channel(None);
        let weather = watch::Sender::new(Weather::CALM);
        let supervised = supervise(Box::new(starts), Arc::clone(world), seed, crashes, tell, weather.subscribe());
        Self { process, weather, supervisor: tokio::spawn(supervised) }
    }

    /// From now on so much goes wrong, whichever process runs.
    pub(crate) fn set_weather(&self, weather: Weather) {
        self.weather.send_replace(weather);
        if let Some(process) = self.process.borrow().as_ref() {
            process.wire.set_weather(weather);
        }
    }

    /// How much the process has written that runs now.
    pub(crate) fn writes(&self) -> u64 {
        self.process.borrow().as_ref().map_or(0, |process| process.wire.writes())
    }

    /// How much of it was of no lease.
    pub(crate) fn work(&self) -> u64 {
        self.process.borrow().as_ref().map_or(0, |process| process.wire.work())
    }

    /// For so long nothing of the process that runs now gets through; every other time, by the number of seconds, it is stopped
    /// itself, as by SIGSTOP.
    pub(crate) fn freeze(&self, lasts: Duration) {
        let Some(Process { wire, crash }) = self.process.borrow().clone() else { return };
        if lasts.as_secs().is_multiple_of(2) {
            return wire.freeze(lasts);
        }
        wire.stopped(lasts);
        crash.stop();
        tokio::spawn(async move {
            sleep(lasts).await;
            crash.go_on();
        });
    }

    pub(crate) fn end(self) {
        self.supervisor.abort();
    }
}

async fn supervise(
    starts: Box<dyn Starts>,
    world: Arc<World>,
    seed: u64,
    crashes: Vec<u64>,
    tell: watch::Sender<Option<Process>>,
    weather: watch::Receiver<Weather>,
) {
    let name = starts.name();
    let mut crashes = crashes.into_iter();
    for process in 0.. {
        let wire = Wire::new(&world, name, seed.wrapping_add(process << 32), *weather.borrow(), crashes.next());
        world.tell("", name, "starts".to_owned());
        let crash = Crash::showing(shown(&world, starts.skew(), (process + starts.at()).is_multiple_of(2)));
        tell.send_replace(Some(Process { wire: wire.clone(), crash: crash.clone() }));
        let running = crash.of(starts.start(wire.clone())).await;
        wire.broken().await;
        world.tell("", name, "crashes".to_owned());
        crash.now();
        drop(running);
        sleep(RESTART).await;
    }
}

/// The clock of a process, in a world where clocks are wrong by so many seconds: it is from the beginning, or somebody sets it then.
fn shown(world: &World, skew: i64, begins_right: bool) -> Wall {
    let (since, right) = (Instant::now(), world.clock().wall());
    if begins_right {
        let jump = (skew != 0).then_some(Jump { after: JUMPS, by: skew });
        Wall { since, epoch: right, jump }
    } else {
        Wall { since, epoch: skewed(right, skew), jump: None }
    }
}
