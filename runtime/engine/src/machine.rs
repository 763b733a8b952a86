//! `Machine`: what keeps one sort of thing as it should be.

use std::{fmt::Display, sync::Arc, time::Duration};

use runtime_effect::{
    interest::Interest,
    memory::{Memory, Pace, Subject},
    note::Note,
    step::{Confirmed, Step},
    write::Write,
};
use runtime_fleet::{
    cluster::Cluster,
    error::CallError,
    index::Change,
    object::Object,
    queue::{Key, Outcome, Queue},
    watch::WatchSpec,
};
use serde_json::Value;

use crate::{bodies::Needs, clock, engine::Engine, recorder::Told};

/// What a machine wants done about a key, once it has taken its own decision in.
#[derive(Debug)]
pub struct Plan<S> {
    /// In this order; after the first failure no more. Then it is decided again.
    pub steps: Vec<Step<S>>,
    /// Objects that the key listens to: those that are known by name only are read.
    pub interests: Vec<Interest>,
    /// It listens to somebody new, who may have changed meanwhile: if nothing else is to be done, it is decided again.
    pub listens: bool,
    /// Look again after this time, even if nothing changes.
    pub again: Option<Duration>,
    /// What is left to do can wait until nobody else waits.
    pub when_idle: bool,
    /// Once its steps went through there is nothing left to decide until something changes. What they make of their objects is no
    /// change: they are creations, or name the version that was decided on, so that nobody else's change is among it.
    pub complete: bool,
}

impl<S> Default for Plan<S> {
    fn default() -> Self {
        Self { steps: vec![], interests: vec![], listens: false, again: None, when_idle: false, complete: false }
    }
}

impl<S> Plan<S> {
    /// Nothing but these writes.
    pub fn of(writes: impl IntoIterator<Item = Write<S>>) -> Self {
        Self { steps: writes.into_iter().map(Step::from).collect(), ..Self::default() }
    }
}

impl<S: Subject> Plan<S> {
    /// Nothing but these writes, in this order, without those that were refused or undone too often to be tried again now;
    /// `Err`: none is left, and when that may be otherwise.
    ///
    /// # Errors
    /// There is nothing to do now.
    pub fn paced(writes: impl IntoIterator<Item = Write<S>>, memory: &Memory<S>) -> Result<Self, Outcome> {
        let now = clock::now().millis;
        let mut plan = Self::default();
        for write in writes {
            match memory.pace(write.subject, write.intent, now) {
                Pace::Go => plan.steps.push(Step::from(write)),
                Pace::Wait(millis) => {
                    let wait = Duration::from_millis(millis);
                    plan.again = Some(plan.again.map_or(wait, |again| again.min(wait)));
                }
            }
        }
        if plan.steps.is_empty() { Err(plan.again.map_or(Outcome::Done, Outcome::After)) } else { Ok(plan) }
    }
}

/// Under which circumstances a key is decided on.
#[derive(Debug, Clone, Default)]
pub struct Occasion {
    /// Other keys wait for their turn, and this one has not waited long: what can wait should.
    pub busy: bool,
    /// What [`Step::Confirm`] found.
    pub confirmed: Option<Confirmed>,
}

/// Why a write is refused, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// CamelCase word.
    pub reason: &'static str,
    /// What the API server said, and what helps.
    pub message: String,
}

/// What is done about a namespace that a write needs and that is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missing {
    /// It is made.
    Make,
    /// The write waits until somebody makes it.
    Wait,
    /// The write is refused.
    Refuse(Refusal),
}

/// What an object is that has the name of one that is to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InTheWay {
    /// Ours: the next decision is to know it as it is.
    Known,
    /// Ours, without the labels by which the watch would see it: it is applied again.
    Unlabelled,
    /// Nobody's, and ours from now on: this is applied to it.
    Adopted(Box<Value>),
    /// Whoever's it is, our watch will tell.
    Watched,
    /// Somebody else's.
    Foreign(Refusal),
}

/// What keeps one sort of thing as it should be: listen → observe → decide → absorb.
///
/// It *listens* where watches tell of changes, and adds keys to its queue there (by [`Queue::add_told`] where a key need not
/// be looked at again because of what it has itself written). [`Machine::decide`] does the rest for one key, without waiting
/// for anybody: it observes what the indexes hold, decides (a pure function), and takes the decision in. What is to be
/// written, the engine writes.
pub trait Machine: Send + Sync + Sized + 'static {
    /// What is decided on: one of these at a time.
    type Key: Key + Display;
    /// What its writes may be about.
    type Subject: Subject + Send + Sync + 'static;

    /// Decisions in a row for one key before others get their turn.
    const PASSES: usize = 12;

    /// What it shares with others.
    fn engine(&self) -> &Arc<Engine>;

    /// Keys to look at.
    fn queue(&self) -> &Arc<Queue<Self::Key>>;

    /// Whether this process may write for a key now.
    fn owns(&self, _key: &Self::Key) -> bool {
        self.engine().leads()
    }

    /// Notes that this is told of a key now. False where it was told already, or where another process owns the key: what nobody
    /// was told of stays news to whoever owns it next.
    fn is_news(&self, key: &Self::Key, told: &mut Told, note: &Note) -> bool {
        self.owns(key) && told.is_news(note)
    }

    /// What the next decision on a key needs. Most need nothing.
    fn needs(&self, _key: &Self::Key) -> Needs {
        Needs::default()
    }

    /// Whether a decision on a key that looks at little is a short one: nothing that strangers have written is evaluated. It may
    /// be made on a thread that serves sockets.
    fn is_short(&self, _key: &Self::Key) -> bool {
        false
    }

    /// Observes, decides, and takes the decision in. `Err`: nothing can be decided now.
    fn decide(&self, key: &Self::Key, occasion: &Occasion) -> Result<Plan<Self::Subject>, Outcome>;

    /// All steps of the key's last plan went through.
    fn went_through(&self, _key: &Self::Key) {}

    /// Changes what is remembered of the writes of a key, if anything is remembered of it.
    fn remember<T>(&self, key: &Self::Key, change: impl FnOnce(&mut Memory<Self::Subject>) -> T) -> Option<T>;

    /// Tells people something about a key.
    fn tell(&self, _key: &Self::Key, _note: &Note) {}

    /// The field manager that a write is made as. `None`: that of the program's conventions.
    fn manager(&self, _write: &Write<Self::Subject>) -> Option<&'static str> {
        None
    }

    /// The watch that sees the object of a write.
    fn sees(&self, key: &Self::Key, write: &Write<Self::Subject>) -> Option<Arc<WatchSpec>>;

    /// The watch that sees an object which is listened to.
    fn listens_by(&self, _interest: &Interest) -> Option<Arc<WatchSpec>> {
        None
    }

    /// Called right before a write; what it returns is dropped when that is over. `Err`: how long it has to wait.
    fn hold<'a>(&'a self, _write: &Write<Self::Subject>) -> Result<Option<Box<dyn Send + 'a>>, Duration> {
        Ok(None)
    }

    /// What is done where the namespace of a write is not there.
    fn missing_namespace(&self, _key: &Self::Key, _write: &Write<Self::Subject>) -> Missing {
        Missing::Wait
    }

    /// Whether the name of an object that is to be made may be taken by one that no watch of ours sees.
    fn may_be_unseen(&self, _key: &Self::Key, _write: &Write<Self::Subject>) -> bool {
        false
    }

    /// What the object is that has the name of one that is to be made.
    fn in_the_way(&self, _key: &Self::Key, _write: &Write<Self::Subject>, _found: &Object) -> InTheWay {
        InTheWay::Watched
    }

    /// What the API server made of a write, as the decision compares it. `None`: as it was wanted.
    fn made(&self, _write: &Write<Self::Subject>, _object: &Object) -> Option<Value> {
        None
    }

    /// A write went through; the object, unless it is gone with it.
    fn wrote(&self, _key: &Self::Key, _write: &Write<Self::Subject>, _object: Option<&Object>) {}

    /// A write failed in a way that says nothing of what is written: it is tried again.
    fn failed(&self, _key: &Self::Key, _write: &Write<Self::Subject>, _error: &CallError) {}

    /// A write was refused, and will not be tried again for a while.
    fn refused(&self, _key: &Self::Key, _write: &Write<Self::Subject>, _refusal: &Refusal) {}

    /// The answer to a write changed an index: news for those who listen to it, except for the key that wrote.
    fn learned(&self, _key: &Self::Key, _cluster: &Cluster, _spec: &Arc<WatchSpec>, _change: &Change) {}
}
