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
    reads::{Place, Reader},
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

/// Whether an object that is listened to is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    /// As it was when the decision began, or it is gone, which the watch will say.
    Before,
    Now,
    Not,
}

fn key(interest: &Interest) -> ObjectKey {
    ObjectKey::new(interest.namespace.as_str(), interest.name.as_str())
}

/// Where an object is to be read, if it is one of those and nobody has read it.
fn stub<M: Machine>(machine: &M, interest: &Interest) -> Option<(Reachable, Arc<WatchSpec>)> {
    let (engine, key) = (machine.engine(), key(interest));
    let spec = machine.listens_by(interest)?;
    let at = engine.reachable(&interest.cluster, &interest.kind)?;
    let index = at.cluster.index(&spec)?;
    let stub = index.get(&key).found().filter(|held| !held.has_body())?;
    let unread = engine.bodies.get(&index, &key, &stub).is_none();
    unread.then_some((at, spec))
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
    Stubs { read: known.contains(&Known::Now), failed: known.contains(&Known::Not) }
}

async fn read_stub<M: Machine>(machine: &M, interest: &Interest, since: u64) -> Known {
    // In this order: what is no stub any more was put before.
    let Some((at, spec)) = stub(machine, interest) else {
        return if was_read(machine, interest, since) { Known::Now } else { Known::Before };
    };
    let place = (at.cluster.name().clone(), spec, key(interest));
    let known = async || match machine.engine().reads.begin(&place) {
        Reader::Others(over) => {
            over.cancelled().await;
            if stub(machine, interest).is_none() { Known::Now } else { Known::Not }
        }
        // Somebody may have read it a moment ago.
        Reader::Us(_) if stub(machine, interest).is_none() => Known::Now,
        Reader::Us(_read) => read(machine, &at, &place).await,
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
