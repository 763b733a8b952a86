//! Objects that are listened to and of which the index holds only that they are there.

use std::{sync::Arc, time::Duration};

use futures::future::join_all;
use runtime_effect::interest::Interest;
use runtime_fleet::{object::ObjectKey, watch::WatchSpec, write::Writer};
use tokio::time::Instant;
use tracing::debug;

use crate::{
    engine::Reachable,
    machine::Machine,
    reads::{Known, Place, Reader},
};

/// How long a key waits for what it listens to. An API server that does not answer must not hold up what others serve.
const PATIENCE: Duration = Duration::from_secs(5);

/// What became of the objects that a plan listens to and that its decision did not know.
#[derive(Debug, Default)]
pub(crate) struct Stubs {
    /// Some are known now: decide again.
    pub(crate) read: bool,
    /// Some could not be read.
    pub(crate) failed: bool,
}

fn key(interest: &Interest) -> ObjectKey {
    ObjectKey::new(interest.namespace.as_str(), interest.name.as_str())
}

/// The object, if it is one of those and nobody has read it.
fn stub<M: Machine>(machine: &M, interest: &Interest) -> Option<(Reachable, Arc<WatchSpec>)> {
    let (engine, key) = (machine.engine(), key(interest));
    let spec = machine.listens_by(interest)?;
    let at = engine.reachable(&interest.cluster, &interest.kind)?;
    let index = at.cluster.index(&spec)?;
    let stub = index.get(&key).found().filter(|held| !held.has_body())?;
    let unread = engine.bodies.get(&index, &key, &stub).is_none();
    unread.then_some((at, spec))
}

/// Whether a read has told nothing of what is looked for: it would tell no more if it were repeated at once.
fn is_unread<M: Machine>(machine: &M, interest: &Interest) -> bool {
    stub(machine, interest).is_some()
}

/// Whether an object was read after `since`: a decision that had begun by then may not have known it.
fn was_read<M: Machine>(machine: &M, interest: &Interest, since: u64) -> bool {
    let spec = machine.listens_by(interest);
    spec.is_some_and(|spec| machine.engine().bodies.was_put(&interest.cluster, &spec, &key(interest), since))
}

/// Whether a decision that began at `since` ([`crate::bodies::Bodies::puts`]) may not have known an object which it listens
/// to although it is there.
pub(crate) fn missed<M: Machine>(machine: &M, interests: &[Interest], since: u64) -> bool {
    interests.iter().any(|interest| stub(machine, interest).is_some() || was_read(machine, interest, since))
}

/// Reads what the decision did not know, or waits for whoever is reading it.
pub(crate) async fn read_stubs<M: Machine>(machine: &M, interests: &[Interest], since: u64) -> Stubs {
    let known = join_all(interests.iter().map(|interest| read_stub(machine, interest, since))).await;
    // What had to make room for others is read again later; else each decision would read it, and none act.
    let is_lost = |(interest, known): (&Interest, &Known)| *known == Known::Now && is_unread(machine, interest);
    let lost = interests.iter().zip(&known).any(is_lost);
    Stubs { read: known.contains(&Known::Now) && !lost, failed: known.contains(&Known::Not) || lost }
}

async fn read_stub<M: Machine>(machine: &M, interest: &Interest, since: u64) -> Known {
    // In this order: what is no stub any more was put before.
    let Some((at, spec)) = stub(machine, interest) else {
        return if was_read(machine, interest, since) { Known::Now } else { Known::Before };
    };
    let place = (at.cluster.name().clone(), spec, key(interest));
    let known = async || match machine.engine().reads.begin(&place) {
        Reader::Others(mut said) => {
            said.wait_for(Option::is_some).await.ok().and_then(|said| *said).unwrap_or(Known::Not)
        }
        // Somebody may have read it a moment ago.
        Reader::Us(reading) if stub(machine, interest).is_none() => {
            reading.says(Known::Now);
            Known::Now
        }
        Reader::Us(reading) => {
            let known = read(machine, &at, &place).await;
            // What was read does not make known what was seen: it is older, or another of that name.
            let known = if known == Known::Now && is_unread(machine, interest) { Known::Before } else { known };
            reading.says(known);
            known
        }
    };
    tokio::time::timeout(PATIENCE, known()).await.unwrap_or(Known::Not)
}

async fn read<M: Machine>(machine: &M, at: &Reachable, (name, spec, key): &Place) -> Known {
    let asked = Instant::now();
    match Writer::new(&at.caller).get(&at.kind, key).await {
        Ok(Some(object)) => {
            // Held here as well, for the index may drop it again before it is looked at.
            machine.engine().bodies.put(name, spec, key, object.clone(), asked);
            at.cluster.fill(spec, key, object);
            Known::Now
        }
        Ok(None) => Known::Before,
        Err(error) => {
            debug!(cluster = %name, %key, %error, "an object that is listened to cannot be read");
            Known::Not
        }
    }
}
