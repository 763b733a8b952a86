//! Works the queue of Migrations: observe, decide, act, until nothing is left to do for one.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use broker_core::migration::observed::Outcome as Decided;
use futures::FutureExt as _;
use runtime_fleet::{
    object::ObjectKey,
    queue::{Outcome, Slot, Start, Turn},
};
use tokio::time::Instant;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{debug, error};

use super::{MigrationWork, known::Known, origin::About, tell};
use crate::{act::Acted, broker::Broker, decisions::Urgency, metrics::METRICS};

/// Decisions in a row for one Migration before others get their turn.
const PASSES: usize = 24;

/// How long to wait for what is not there yet.
const IDLE: Duration = Duration::from_secs(1);

/// Hands out work until `stop`, then lets what is under way finish.
pub async fn run(broker: Arc<Broker>, stop: CancellationToken) {
    let tasks = TaskTracker::new();
    let queue = Arc::clone(&broker.migrations.queue);
    let closing = Arc::clone(&queue);
    tokio::spawn(async move {
        stop.cancelled().await;
        closing.close();
    });
    while let Some(Turn { key: work, slot, start, .. }) = queue.next().await {
        let broker = Arc::clone(&broker);
        tasks.spawn(async move {
            let started = Instant::now();
            let outcome = AssertUnwindSafe(broker.work_on(&work, slot, start)).catch_unwind().await;
            // One that makes a decision panic must not stay under way for ever. The panic itself is logged by its hook.
            let outcome = outcome.unwrap_or(Outcome::Failed);
            METRICS.work_duration.observe(started.elapsed().as_secs_f64());
            if let Some(wait) = broker.migrations.queue.finish(&work, outcome) {
                debug!(migration = %work.key, ?wait, "will be tried again");
            }
        });
    }
    tasks.close();
    tasks.wait().await;
}

/// A decision that was taken in.
struct Taken {
    known: Arc<Known>,
    /// `None`: nothing can be decided now.
    decided: Option<Decided>,
    /// It watches kinds or listens to related objects that it did not before: there may be more to see.
    listens: bool,
}

/// What became of the writes of one decision.
enum Went {
    /// All done, or something else is to be done first: decide again.
    Again,
    /// No more for now.
    Stopped(Outcome),
}

impl Broker {
    async fn work_on(
        self: &Arc<Self>,
        work: &MigrationWork,
        mut slot: Option<Slot<MigrationWork>>,
        start: Start<MigrationWork>,
    ) -> Outcome {
        let key = &work.key;
        let mut start = Some(start);
        for _ in 0..PASSES {
            let (broker, migration) = (Arc::clone(self), key.clone());
            let decide = move || broker.decide_on(&migration);
            let taken = self.decisions.run(&work.lane, Urgency::InTurn, key, decide).await;
            // Its hook has logged the panic.
            let Some(taken) = taken else { return Outcome::Failed };
            start.take();
            let Some(Taken { known, decided, listens }) = taken else { return Outcome::Done };
            let Some(decided) = decided else { return Outcome::After(IDLE) };
            if self.leads() {
                for note in &decided.notes {
                    self.tell_migration(&known, note);
                }
            }
            match self.read_stubs(&decided.interests).await {
                Ok(read) if read || listens => continue,
                Ok(_) => {}
                Err(error) => {
                    debug!(migration = %key, %error, "a related object cannot be read");
                    return Outcome::Failed;
                }
            }
            if decided.writes.is_empty() {
                return decided.again.map_or(Outcome::Done, Outcome::After);
            }
            if !self.leads() {
                // Followers keep warm; on taking the lead all are looked at again.
                return Outcome::Done;
            }
            match self.carry(&known, &decided, &mut slot).await {
                Went::Again => {}
                Went::Stopped(outcome) => return outcome,
            }
        }
        error!(migration = %key, "{PASSES} decisions in a row wanted writes; slowing down");
        Outcome::Failed
    }

    /// Decides, and takes the decision in. `None`: there is no such Migration.
    fn decide_on(&self, key: &ObjectKey) -> Option<Taken> {
        let (known, mut about, memory) = self.migrations.get(key)?;
        if !matches!(about, About::Origin(..)) {
            let again = self.about(&known);
            if again != about {
                about = again.clone();
                for origin in self.migrations.set_about(key, &known.uid, again) {
                    self.enqueue(origin);
                }
            }
        }
        let decided = self.migrate(&known, &about, &memory);
        let listens = decided.as_ref().is_some_and(|decided| {
            let watches = !decided.distrusts && self.want_stages(key, &decided.watches);
            self.migrations.listen(key, &decided.interests) || watches
        });
        Some(Taken { known, decided, listens })
    }

    async fn carry(self: &Arc<Self>, known: &Known, decided: &Decided, slot: &mut Option<Slot<MigrationWork>>) -> Went {
        for write in &decided.writes {
            if let Err(outcome) = self.take_slot(&self.migrations.queue, write, slot) {
                return Went::Stopped(outcome);
            }
            // Right before each write: the process may have slept past its lease.
            if !self.leads() {
                return Went::Stopped(Outcome::Done);
            }
            match self.act_while_leading(self.act_for(known, write)).await {
                Acted::Done => {
                    if let Some(note) = &write.note {
                        self.tell_migration(known, note);
                    }
                }
                Acted::Refused | Acted::Prepared => return Went::Again,
                Acted::Failed => return Went::Stopped(Outcome::Failed),
                Acted::Wait(wait) => return Went::Stopped(Outcome::After(wait)),
            }
        }
        tell::count(decided);
        Went::Again
    }
}
