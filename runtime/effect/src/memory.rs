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
}

/// First wait before a refused write is tried again unchanged.
const REFUSED_MILLIS: u64 = 2_000;

/// Longest wait before that: what somebody may set right at any time, such as a permission, is soon seen to be.
const REFUSED_LONGEST: u64 = 60_000;

/// The same where the content is refused, by admission or for its size: mostly that helps only once it is another.
const CONTENT_LONGEST: u64 = 300_000;

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
        let before = self.trouble_with(subject, intent).map_or(0, |trouble| trouble.count);
        let until = now + wait(before, reason, luck);
        self.keep_trouble(Trouble { subject, intent, reason, message, until, count: before + 1 });
    }

    /// A write failed at an API server that answers otherwise. What has failed so [`REPEATS`] times in a row is as good as
    /// refused: returns whether it has.
    pub fn failed(&mut self, subject: S, intent: [u8; 8], message: String, now: u64, luck: u64) -> bool {
        let reason = condition::WRITE_FAILED;
        let earlier = self.trouble_with(subject, intent).filter(|trouble| trouble.reason == reason);
        let count = earlier.map_or(0, |trouble| trouble.count) + 1;
        let often = count.checked_sub(REPEATS);
        // Before that whoever sends it waits.
        let until = often.map_or(now, |often| now + wait(often, reason, luck));
        self.keep_trouble(Trouble { subject, intent, reason, message, until, count });
        often.is_some()
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
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Part {
        Marks,
        Copy,
        Status,
        Related,
    }

    impl Subject for Part {
        const MOST: usize = 4;

        fn is_many(self) -> bool {
            self == Self::Related
        }

        fn is_paced(self) -> bool {
            matches!(self, Self::Status | Self::Related)
        }
    }

    type Memory = super::Memory<Part>;

    const INTENT: [u8; 8] = [1; 8];

    #[test]
    fn the_same_write_again_and_again_is_slowed_down() {
        let mut memory = Memory::default();
        let mut now = 1_000_000;
        let mut waits = Vec::new();
        for _ in 0..8 {
            if let Pace::Wait(wait) = memory.pace(Part::Copy, INTENT, now) {
                waits.push(wait);
                now += wait;
            }
            assert_eq!(memory.pace(Part::Copy, INTENT, now), Pace::Go);
            memory.wrote(Part::Copy, INTENT, None, now);
        }
        assert!(memory.is_fought(Part::Copy, now));
        assert_eq!(waits, [1000, 2000, 4000, 8000]);
        assert_eq!(memory.pace(Part::Copy, [2; 8], now), Pace::Go, "a new intent goes out at once");
        assert!(!memory.is_fought(Part::Copy, now + QUIET_MILLIS));
    }

    #[test]
    fn a_few_writes_at_once_then_one_a_second() {
        let mut memory = Memory::default();
        let mut now = 1_000_000;
        let mut waits = Vec::new();
        for intent in 0..8 {
            if let Pace::Wait(wait) = memory.allowance(0, now) {
                waits.push(wait);
                assert_eq!(memory.allowance(0, now + wait - 1), Pace::Wait(1));
                now += wait;
            }
            assert_eq!(memory.allowance(0, now), Pace::Go);
            memory.wrote(Part::Status, [intent; 8], None, now);
        }
        assert_eq!(waits, [1000; 3], "five at once");
        assert_eq!(memory.allowance(0, 1_000_000), Pace::Go, "the clock was set back");
        let calm = now + 60_000;
        assert_eq!(memory.allowance(4, calm), Pace::Go, "five at once again");
        assert_eq!(memory.allowance(5, calm), Pace::Wait(1000), "those of one decision count, too");
        let before = memory.clone();
        memory.wrote(Part::Copy, [9; 8], None, calm);
        memory.wrote(Part::Marks, [9; 8], None, calm);
        assert_eq!(memory.full_at, before.full_at, "what the consumer's spec asks for is free");
    }

    #[test]
    fn what_the_server_made_of_it_is_not_written_again() {
        let mut memory = Memory::default();
        let made = json!({"a": 1});
        memory.wrote(Part::Copy, INTENT, Some(&made), 1);
        assert!(memory.is_settled(Part::Copy, INTENT, &made));
        assert!(!memory.is_settled(Part::Copy, INTENT, &json!({"a": 2})));
        assert!(!memory.is_settled(Part::Copy, [2; 8], &made));
    }

    #[test]
    fn a_write_is_wanted_again_only_where_the_last_one_was_the_same() {
        let mut memory = Memory::default();
        assert!(!memory.wants_again(Part::Copy, INTENT), "nothing was written yet");
        assert!(!memory.wants_again(Part::Copy, [0; 8]));
        memory.wrote(Part::Copy, INTENT, None, 5);
        assert!(memory.wants_again(Part::Copy, INTENT));
        assert!(!memory.wants_again(Part::Copy, [2; 8]), "another intent");
        assert!(!memory.wants_again(Part::Status, INTENT), "another subject");
        memory.wrote(Part::Copy, [2; 8], None, 6);
        assert!(!memory.wants_again(Part::Copy, INTENT), "that was before the last one");
        memory.wrote(Part::Related, INTENT, None, 7);
        memory.wrote(Part::Related, [2; 8], None, 8);
        assert!(memory.wants_again(Part::Related, INTENT), "each related copy is remembered for itself");
        assert!(!memory.wants_again(Part::Related, [3; 8]));
    }

    #[test]
    fn a_clock_that_was_set_back_does_not_silence_the_broker() {
        let mut memory = Memory::default();
        let now = 1_000_000_000;
        for _ in 0..=REPEATS {
            memory.wrote(Part::Copy, INTENT, None, now);
        }
        assert!(matches!(memory.pace(Part::Copy, INTENT, now), Pace::Wait(_)));
        assert!(matches!(memory.pace(Part::Copy, INTENT, now - SLOWEST_MILLIS), Pace::Wait(_)));
        assert_eq!(memory.pace(Part::Copy, INTENT, now - SLOWEST_MILLIS - 1), Pace::Go);
    }

    #[test]
    fn a_fight_is_one_over_the_same_write_in_a_short_time() {
        let mut memory = Memory::default();
        for round in 0..=u64::from(REPEATS) {
            assert!(!memory.is_fought(Part::Status, 5 + round));
            memory.wrote(Part::Status, INTENT, None, 5 + round);
        }
        assert!(memory.is_fought(Part::Status, 10) && !memory.is_fought(Part::Copy, 10));
        memory.wrote(Part::Status, [2; 8], None, 10);
        assert!(!memory.is_fought(Part::Status, 10), "something else is wanted now");
        for round in 0..8 {
            memory.wrote(Part::Marks, INTENT, None, round * QUIET_MILLIS + 5);
        }
        assert!(!memory.is_fought(Part::Marks, 7 * QUIET_MILLIS + 6), "seldom enough is no fight");
    }

    #[test]
    fn refused_related_copies_wait_each_for_itself() {
        let mut memory = Memory::default();
        let refuse =
            |memory: &mut Memory, intent| memory.refused(Part::Related, intent, "Forbidden", "no".into(), 1, 0);
        refuse(&mut memory, [1; 8]);
        refuse(&mut memory, [2; 8]);
        assert_eq!(memory.pace(Part::Related, [1; 8], 1), Pace::Wait(2000));
        assert_eq!(memory.pace(Part::Related, [2; 8], 1), Pace::Wait(2000));
        memory.wrote(Part::Related, [1; 8], None, 2);
        assert_eq!(memory.pace(Part::Related, [1; 8], 2), Pace::Go);
        assert!(memory.trouble_with(Part::Related, [2; 8]).is_some());
    }

    /// The waits, in seconds, after one refusal after the other.
    fn waits(reason: &'static str, luck: u64) -> Vec<u64> {
        let (mut memory, mut now) = (Memory::default(), 1_000_000);
        let mut next = || {
            memory.refused(Part::Copy, INTENT, reason, "no".into(), now, luck);
            let Pace::Wait(wait) = memory.pace(Part::Copy, INTENT, now) else { return 0 };
            now += wait;
            wait / 1000
        };
        (0..12).map(|_| next()).collect()
    }

    #[test]
    fn a_refused_write_waits_longest_where_its_content_is_refused() {
        for reason in [condition::INVALID, condition::TOO_LARGE] {
            assert_eq!(waits(reason, 0), [2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300, 300], "{reason}");
        }
        for reason in [condition::FORBIDDEN, condition::NAME_CONFLICT, "NamespaceMissing", "whatever"] {
            assert_eq!(waits(reason, 0), [2, 4, 8, 16, 32, 60, 60, 60, 60, 60, 60, 60], "{reason}");
        }
        assert_eq!(waits(condition::NAMESPACE_TERMINATING, 0)[..4], [2, 4, 8, 8]);
    }

    #[test]
    fn a_write_that_fails_again_and_again_is_as_good_as_refused() {
        let (mut memory, mut now) = (Memory::default(), 1_000_000);
        let fail = |memory: &mut Memory, now| memory.failed(Part::Copy, INTENT, "HTTP 500".into(), now, 0);
        for _ in 1..REPEATS {
            assert!(!fail(&mut memory, now));
            assert_eq!(memory.pace(Part::Copy, INTENT, now), Pace::Go, "whoever sends it waits");
        }
        for wait in [2000, 4000, 8000] {
            assert!(fail(&mut memory, now));
            assert_eq!(memory.pace(Part::Copy, INTENT, now), Pace::Wait(wait));
            assert_eq!(memory.pace(Part::Copy, [2; 8], now), Pace::Go);
            now += wait;
        }
        assert_eq!(memory.trouble(Part::Copy).map(|trouble| trouble.reason), Some(condition::WRITE_FAILED));
        memory.wrote(Part::Copy, INTENT, None, now);
        assert!(!fail(&mut memory, now), "not in a row");
        for _ in 0..REPEATS {
            memory.refused(Part::Copy, INTENT, condition::FORBIDDEN, "no".into(), now, 0);
        }
        assert!(!fail(&mut memory, now), "what was refused has not failed");
    }

    #[test]
    fn not_all_that_was_refused_together_comes_back_together() {
        assert_eq!(waits(condition::FORBIDDEN, 500)[..6], [1, 3, 6, 12, 24, 45]);
        for most in [1000, u64::MAX] {
            assert_eq!(waits(condition::FORBIDDEN, most)[..6], [1, 2, 4, 8, 16, 30], "never by more than a half");
        }
    }

    #[test]
    fn another_intent_for_the_one_copy_replaces_what_was_refused() {
        let mut memory = Memory::default();
        memory.refused(Part::Copy, [1; 8], "Invalid", "no".into(), 1, 0);
        memory.refused(Part::Copy, [2; 8], "Forbidden", "no".into(), 1, 0);
        assert_eq!(memory.trouble(Part::Copy).map(|trouble| trouble.reason), Some("Forbidden"));
        assert_eq!(memory.pace(Part::Copy, [1; 8], 1), Pace::Go);
    }

    #[test]
    fn of_many_the_oldest_is_forgotten_and_of_one_none() {
        let mut memory = Memory::default();
        memory.wrote(Part::Copy, INTENT, None, 1);
        for intent in 1..=5 {
            memory.wrote(Part::Related, [intent; 8], None, u64::from(intent));
        }
        assert!(memory.wants_again(Part::Copy, INTENT), "it is not one of the many");
        assert!(!memory.wants_again(Part::Related, [1; 8]), "there is room for four");
        assert!((2..=5).all(|intent| memory.wants_again(Part::Related, [intent; 8])));
        memory.wrote(Part::Related, [6; 8], None, QUIET_MILLIS + 5);
        let held: Vec<u8> = (1..=6).filter(|intent| memory.wants_again(Part::Related, [*intent; 8])).collect();
        assert_eq!(held, [6], "those of long ago are no matter");
        assert!(memory.wants_again(Part::Copy, INTENT));
    }
}
