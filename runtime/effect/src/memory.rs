//! `Memory`: what is remembered of writes between decisions. Losing it, as a restart does, costs nothing but time: it only
//! tells repeated work from new work.

use broker_api::condition;
use serde_json::Value;

use crate::merge::digest;

/// What a write may be about, as far as repeats of it are counted together.
pub trait Subject: Copy + Eq {
    /// Of subjects of which there may be several objects at once: so many are remembered.
    const MOST: usize;

    /// Whether there may be several objects of it at once: their writes are told apart by their intents.
    fn is_many(self) -> bool;

    /// Whether writes about it follow what a stranger says, so that it has to wait if it says too much.
    fn is_paced(self) -> bool;
}

/// The subject of a machine that has one thing to write for each key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sole;

impl Subject for Sole {
    const MOST: usize = 1;

    fn is_many(self) -> bool {
        false
    }

    fn is_paced(self) -> bool {
        false
    }
}

/// Repeats of one write that are taken for somebody else's work, not for chance.
pub const REPEATS: u32 = 3;

/// After so long without a repeat a fight is over.
const QUIET_MILLIS: u64 = 300_000;

/// Longest wait between two repeats.
const SLOWEST_MILLIS: u64 = 120_000;

/// Subjects of which there is one object: so many are expected.
const FEW: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq)]
struct Trace<S> {
    subject: S,
    /// Digest of what was last wanted.
    intent: [u8; 8],
    /// Digest of what the API server made of it, where it was not what was wanted.
    result: Option<[u8; 8]>,
    /// When it was last written.
    at: u64,
    /// How often the same was written again.
    repeats: u32,
}

/// Why a write does not go through although its cluster answers, and when it is tried again unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble<S> {
    /// Which write.
    pub subject: S,
    /// Digest of what was wanted: something else is tried at once.
    pub intent: [u8; 8],
    /// CamelCase word for the condition.
    pub reason: &'static str,
    /// What the API server said and what helps.
    pub message: String,
    /// Not before this moment, in milliseconds since 1970.
    pub until: u64,
    /// How often in a row.
    pub count: u32,
    /// Since when it has not gone through, in milliseconds since 1970.
    since: u64,
}

/// First wait before a refused write is tried again unchanged.
const REFUSED_MILLIS: u64 = 2_000;

/// Longest wait before that: what somebody may set right at any time, such as a permission, is soon seen to be.
const REFUSED_LONGEST: u64 = 60_000;

/// The same where the content is refused, by admission or for its size: mostly that helps only once it is another.
const CONTENT_LONGEST: u64 = 300_000;

/// For so long a write may fail at an API server that answers otherwise before anybody is told: what stands behind it may begin
/// anew, and an instance that is told to fail stops the rollout of its RGD.
const FAILING_MILLIS: u64 = 30_000;

/// What a stranger's word may cost: so many writes at once, and one in so many milliseconds in the long run.
pub const BURST: u64 = 5;
const PACED_MILLIS: u64 = 1_000;

/// The same for a namespace that is being deleted: it is gone soon, and nothing else tells of it.
const LEAVING_LONGEST: u64 = 8_000;

fn longest_wait(reason: &str) -> u64 {
    match reason {
        condition::NAMESPACE_TERMINATING => LEAVING_LONGEST,
        condition::INVALID | condition::TOO_LARGE => CONTENT_LONGEST,
        _ => REFUSED_LONGEST,
    }
}

/// How long a write waits that was refused so many times before, in milliseconds.
fn wait(before: u32, reason: &str, luck: u64) -> u64 {
    let wait = REFUSED_MILLIS.saturating_mul(1 << before.min(10)).min(longest_wait(reason));
    wait - wait * luck.min(1000) / 2000
}

/// What is remembered of the writes of one key.
#[derive(Debug, Clone, PartialEq)]
pub struct Memory<S> {
    /// One per subject; of a subject of which there are many, one per intent.
    traces: Vec<Trace<S>>,
    /// Refused writes, told apart in the same way.
    troubles: Vec<Trouble<S>>,
    /// When as many paced writes may go out at once again as ever may: each puts it off by one's share.
    full_at: u64,
}

impl<S> Default for Memory<S> {
    fn default() -> Self {
        Self { traces: Vec::new(), troubles: Vec::new(), full_at: 0 }
    }
}

/// Whether a write may go out now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// Yes.
    Go,
    /// The same has been undone too often: not before so many milliseconds.
    Wait(u64),
}

impl<S: Subject> Memory<S> {
    /// What was last written about the subject; where there are many, with this intent.
    fn trace(&self, subject: S, intent: [u8; 8]) -> Option<&Trace<S>> {
        self.traces.iter().find(|trace| is_one(trace.subject, trace.intent, subject, intent))
    }

    /// Whether the API server has already made `observed` of this intent: writing it again would change nothing.
    pub fn is_settled(&self, subject: S, intent: [u8; 8], observed: &Value) -> bool {
        self.trace(subject, intent)
            .is_some_and(|trace| trace.intent == intent && trace.result == Some(digest(observed)))
    }

    /// Whether the last write about the subject was of this very intent.
    pub fn wants_again(&self, subject: S, intent: [u8; 8]) -> bool {
        self.trace(subject, intent).is_some_and(|trace| trace.intent == intent && trace.at != 0)
    }

    /// Whether a write of this intent may go out now.
    pub fn pace(&self, subject: S, intent: [u8; 8], now: u64) -> Pace {
        if let Some(trouble) = self.trouble_with(subject, intent).filter(|trouble| now < trouble.until) {
            return Pace::Wait(trouble.until - now);
        }
        let Some(trace) = self.trace(subject, intent) else { return Pace::Go };
        if trace.intent != intent || trace.repeats < REPEATS {
            return Pace::Go;
        }
        let wait = 1000_u64.saturating_mul(1 << (trace.repeats - REPEATS).min(10)).min(SLOWEST_MILLIS);
        let next = trace.at.saturating_add(wait);
        // A clock that was set back must not silence us.
        if now >= next || now + SLOWEST_MILLIS < trace.at { Pace::Go } else { Pace::Wait(next - now) }
    }

    /// Whether one more paced write, beside `begun` that go out before it, may go out now. The newest state goes out then:
    /// what was held back in between is never written.
    pub fn allowance(&self, begun: u64, now: u64) -> Pace {
        let debt = self.debt(now).saturating_add(begun * PACED_MILLIS);
        match debt.checked_sub((BURST - 1) * PACED_MILLIS).filter(|wait| *wait > 0) {
            None => Pace::Go,
            Some(wait) => Pace::Wait(wait),
        }
    }

    /// Milliseconds until nothing is owed any more. A clock that was set back must not silence us.
    fn debt(&self, now: u64) -> u64 {
        Some(self.full_at.saturating_sub(now)).filter(|debt| *debt <= BURST * PACED_MILLIS).unwrap_or_default()
    }

    /// Whether somebody keeps undoing what is written about the subject.
    pub fn is_fought(&self, subject: S, now: u64) -> bool {
        self.fought_for(subject, now).is_some()
    }

    /// For how many milliseconds more a fight over the subject counts as going on; `None`: there is none.
    pub fn fought_for(&self, subject: S, now: u64) -> Option<u64> {
        let left = |trace: &Trace<S>| {
            let fought = trace.repeats >= REPEATS;
            QUIET_MILLIS.checked_sub(now.saturating_sub(trace.at)).filter(|left| fought && *left > 0)
        };
        self.traces.iter().filter(|trace| trace.subject == subject).filter_map(left).max()
    }

    /// Why the last write about `subject` was refused.
    pub fn trouble(&self, subject: S) -> Option<&Trouble<S>> {
        self.troubles.iter().rfind(|trouble| trouble.subject == subject)
    }

    /// Why the last write of this intent was refused.
    pub fn trouble_with(&self, subject: S, intent: [u8; 8]) -> Option<&Trouble<S>> {
        self.troubles.iter().find(|trouble| trouble.subject == subject && trouble.intent == intent)
    }

    /// A write was refused: the same again only after a wait that grows. By `luck`, up to 1000, that is shorter by up to a
    /// half, so that not all that one refusal concerns comes back at once.
    pub fn refused(&mut self, subject: S, intent: [u8; 8], reason: &'static str, message: String, now: u64, luck: u64) {
        let (before, since) = self.failing(subject, intent).unwrap_or((0, now));
        let until = now + wait(before, reason, luck);
        self.keep_trouble(Trouble { subject, intent, reason, message, until, count: before + 1, since });
    }

    /// A write failed at an API server that answers otherwise. What has not gone through for [`REPEATS`] times in a row, and for
    /// longer than a moment, is as good as refused: returns whether that is so.
    pub fn failed(&mut self, subject: S, intent: [u8; 8], message: String, now: u64, luck: u64) -> bool {
        let reason = condition::WRITE_FAILED;
        let (before, since) = self.failing(subject, intent).unwrap_or((0, now));
        let mut count = before + 1;
        if now.saturating_sub(since) < FAILING_MILLIS {
            count = count.min(REPEATS - 1);
        }
        let often = count.checked_sub(REPEATS);
        // Before that whoever sends it waits.
        let until = often.map_or(now, |often| now + wait(often, reason, luck));
        self.keep_trouble(Trouble { subject, intent, reason, message, until, count, since });
        often.is_some()
    }

    /// How often in a row, and since when, a write of this intent has not gone through.
    fn failing(&self, subject: S, intent: [u8; 8]) -> Option<(u32, u64)> {
        self.trouble_with(subject, intent).map(|trouble| (trouble.count, trouble.since))
    }

    /// How often in a row a write of this intent has not gone through.
    pub fn failures(&self, subject: S, intent: [u8; 8]) -> u32 {
        self.failing(subject, intent).map_or(0, |(count, _)| count)
    }

    fn keep_trouble(&mut self, trouble: Trouble<S>) {
        self.forget_trouble(trouble.subject, trouble.intent);
        if self.troubles.len() >= FEW + S::MOST {
            self.troubles.remove(0);
        }
        self.troubles.push(trouble);
    }

    /// What a newer write about the subject replaces: where there are many, that of the intent.
    fn forget_trouble(&mut self, subject: S, intent: [u8; 8]) {
        self.troubles.retain(|trouble| !is_one(trouble.subject, trouble.intent, subject, intent));
    }

    /// A write went through. `leftover` is what the API server made of it, if that is not what was wanted.
    pub fn wrote(&mut self, subject: S, intent: [u8; 8], leftover: Option<&Value>, now: u64) {
        self.forget_trouble(subject, intent);
        if subject.is_paced() {
            self.full_at = now.saturating_add(self.debt(now)).saturating_add(PACED_MILLIS);
        }
        let result = leftover.map(digest);
        let trace = self.trace_of(subject, intent, now);
        let recent = now.saturating_sub(trace.at) < QUIET_MILLIS;
        let repeats =
            if trace.intent == intent && trace.at != 0 && recent { trace.repeats.saturating_add(1) } else { 0 };
        *trace = Trace { subject, intent, result, at: now, repeats };
    }

    /// The trace of the subject; where there are many, of this intent, in the place of an old one if there are too many.
    fn trace_of(&mut self, subject: S, intent: [u8; 8], now: u64) -> &mut Trace<S> {
        let found = self.traces.iter().position(|trace| is_one(trace.subject, trace.intent, subject, intent));
        let at = found.unwrap_or_else(|| {
            if subject.is_many() {
                self.traces.retain(|trace| !trace.subject.is_many() || now.saturating_sub(trace.at) < QUIET_MILLIS);
                let is_many = |trace: &Trace<S>| trace.subject.is_many();
                if self.traces.iter().filter(|trace| is_many(trace)).count() >= S::MOST
                    && let Some(oldest) = self.traces.iter().position(is_many)
                {
                    self.traces.remove(oldest);
                }
            }
            self.traces.push(Trace { subject, intent, result: None, at: 0, repeats: 0 });
            self.traces.len() - 1
        });
        &mut self.traces[at]
    }
}

/// Whether what is held is about the same as what is asked for.
fn is_one<S: Subject>(held: S, of: [u8; 8], subject: S, intent: [u8; 8]) -> bool {
    held == subject && (!subject.is_many() || of == intent)
}

#[cfg(test)]
#[path = "memory_tests.rs"]
mod tests;
