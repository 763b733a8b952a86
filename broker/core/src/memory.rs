//! `Memory`: what the broker remembers of an origin between decisions. Losing it, as a restart does, costs nothing but
//! time: it only tells repeated work from new work.

use broker_api::{ClusterName, condition};
use runtime_effect::merge::digest;
use serde_json::Value;

/// What a write is about, as far as repeats of it are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Subject {
    /// Finalizer and annotations of the origin.
    Marks,
    /// The copy.
    Copy,
    /// The origin's status.
    Status,
    /// A related copy.
    Related,
    /// The copy at the provider that takes over, while the origin moves.
    Successor,
    /// A Migration.
    Migration,
}

/// Subjects of which there is one per origin.
const SINGLE: usize = 3;

impl Subject {
    /// What is written to the consumer because of what a provider says.
    pub(crate) fn is_the_providers(self) -> bool {
        matches!(self, Self::Status | Self::Related)
    }

    /// Of some subjects there may be several at once: their writes are told apart by their intents.
    fn is_single(self) -> bool {
        matches!(self, Self::Marks | Self::Copy | Self::Status)
    }
}

/// Related copies that are remembered: as many as are brought.
const MOST_RELATED: usize = crate::related::MOST;

/// Repeats of one write that are taken for somebody else's work, not for chance.
pub const REPEATS: u32 = 3;

/// After so long without a repeat a fight is over.
const QUIET_MILLIS: u64 = 300_000;

/// Longest wait between two repeats.
const SLOWEST_MILLIS: u64 = 120_000;

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Trace {
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
pub struct Trouble {
    /// Which write.
    pub subject: Subject,
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

/// First and longest wait before a refused write is tried again unchanged.
const REFUSED_MILLIS: (u64, u64) = (2_000, 300_000);

/// What a provider's word costs the consumer: so many writes at once, and one in so many milliseconds in the long run.
pub const BURST: u64 = 5;
const PACED_MILLIS: u64 = 1_000;

/// Longest wait for a namespace that is being deleted.
const LEAVING_MILLIS: u64 = 8_000;

/// What is remembered of one origin.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Memory {
    /// Of marks, copy and status.
    traces: [Option<Box<Trace>>; SINGLE],
    /// Of related copies and others of which there may be many: told apart by their intents.
    related: Vec<Trace>,
    /// Refused writes: one per subject, of related copies and the like one per intent.
    troubles: Vec<Trouble>,
    /// Providers that a move to was given up: they are last in line.
    gave_up: Vec<ClusterName>,
    /// When as many writes to the consumer may go out at once again as ever may: each puts it off by one's share.
    full_at: u64,
    /// Since when copies have been on their way out without going, in milliseconds since 1970.
    pub held_since: Option<u64>,
    /// uid of the copy that we wrote last.
    pub copy_uid: Option<Box<str>>,
    /// When the copy was created by us, in milliseconds since 1970.
    pub created_at: Option<u64>,
    /// Epoch of the move that is under way, and when it was first seen here: an epoch says nothing of how long ago it was,
    /// for it may be another process's.
    moving: Option<(u64, u64)>,
}

/// Whether a write may go out now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// Yes.
    Go,
    /// The same has been undone too often: not before so many milliseconds.
    Wait(u64),
}

impl Memory {
    /// What was last written about the subject; of related copies, with this intent.
    fn trace(&self, subject: Subject, intent: [u8; 8]) -> Option<&Trace> {
        if subject.is_single() {
            self.traces[subject as usize].as_deref()
        } else {
            self.related.iter().find(|trace| trace.intent == intent)
        }
    }

    /// Whether the API server has already made `observed` of this intent: writing it again would change nothing.
    pub fn is_settled(&self, subject: Subject, intent: [u8; 8], observed: &Value) -> bool {
        self.trace(subject, intent)
            .is_some_and(|trace| trace.intent == intent && trace.result == Some(digest(observed)))
    }

    /// Whether the last write about the subject was of this very intent.
    pub fn wants_again(&self, subject: Subject, intent: [u8; 8]) -> bool {
        self.trace(subject, intent).is_some_and(|trace| trace.intent == intent && trace.at != 0)
    }

    /// Whether a write of this intent may go out now.
    pub fn pace(&self, subject: Subject, intent: [u8; 8], now: u64) -> Pace {
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

    /// Whether one more write to the consumer, beside `begun` that go out before it, may follow what a provider says. The
    /// newest state goes out then: what was held back in between is never written.
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
    pub fn is_fought(&self, subject: Subject, now: u64) -> bool {
        self.fought_for(subject, now).is_some()
    }

    /// For how many milliseconds more a fight over the subject counts as going on; `None`: there is none.
    pub fn fought_for(&self, subject: Subject, now: u64) -> Option<u64> {
        let left = |trace: &Trace| {
            let fought = trace.repeats >= REPEATS;
            QUIET_MILLIS.checked_sub(now.saturating_sub(trace.at)).filter(|left| fought && *left > 0)
        };
        if subject.is_single() {
            self.traces[subject as usize].as_deref().and_then(left)
        } else {
            self.related.iter().filter_map(left).max()
        }
    }

    /// Why the last write about `subject` was refused.
    pub fn trouble(&self, subject: Subject) -> Option<&Trouble> {
        self.troubles.iter().rfind(|trouble| trouble.subject == subject)
    }

    /// Why the last write of this intent was refused.
    pub fn trouble_with(&self, subject: Subject, intent: [u8; 8]) -> Option<&Trouble> {
        self.troubles.iter().find(|trouble| trouble.subject == subject && trouble.intent == intent)
    }

    /// A write was refused: the same again only after a wait that grows.
    pub fn refused(&mut self, subject: Subject, intent: [u8; 8], reason: &'static str, message: String, now: u64) {
        let before = self.trouble_with(subject, intent).map_or(0, |trouble| trouble.count);
        let (first, longest) = REFUSED_MILLIS;
        // A namespace that is being deleted is gone soon, and nothing else tells of it.
        let longest = if reason == condition::NAMESPACE_TERMINATING { LEAVING_MILLIS } else { longest };
        let until = now + first.saturating_mul(1 << before.min(10)).min(longest);
        self.forget_trouble(subject, intent);
        if self.troubles.len() >= SINGLE + MOST_RELATED {
            self.troubles.remove(0);
        }
        self.troubles.push(Trouble { subject, intent, reason, message, until, count: before + 1 });
    }

    /// What a newer write about the subject replaces: of related copies, which are told apart by it, that of the intent.
    fn forget_trouble(&mut self, subject: Subject, intent: [u8; 8]) {
        let replaced =
            |trouble: &Trouble| trouble.subject == subject && (subject.is_single() || trouble.intent == intent);
        self.troubles.retain(|trouble| !replaced(trouble));
    }

    /// A write went through. `leftover` is what the API server made of it, if that is not what was wanted.
    pub fn wrote(&mut self, subject: Subject, intent: [u8; 8], leftover: Option<&Value>, now: u64) {
        self.forget_trouble(subject, intent);
        if subject.is_the_providers() {
            self.full_at = now.saturating_add(self.debt(now)).saturating_add(PACED_MILLIS);
        }
        let result = leftover.map(digest);
        let trace = if subject.is_single() {
            &mut **self.traces[subject as usize].get_or_insert_with(Box::default)
        } else {
            self.related_trace(intent, now)
        };
        let recent = now.saturating_sub(trace.at) < QUIET_MILLIS;
        let repeats =
            if trace.intent == intent && trace.at != 0 && recent { trace.repeats.saturating_add(1) } else { 0 };
        *trace = Trace { intent, result, at: now, repeats };
    }

    /// The move of this epoch is under way.
    pub fn saw_move(&mut self, epoch: u64, now: u64) {
        if self.moving.is_none_or(|(held, _)| held != epoch) {
            self.moving = Some((epoch, now));
        }
    }

    /// For how many milliseconds the move of this epoch has been seen to be under way.
    pub fn moving_for(&self, epoch: u64, now: u64) -> u64 {
        self.moving.filter(|(held, _)| *held == epoch).map_or(0, |(_, since)| now.saturating_sub(since))
    }

    /// A move to this provider did not come to its end in time.
    pub fn give_up(&mut self, provider: &ClusterName) {
        self.gave_up.retain(|held| held != provider);
        self.gave_up.push(provider.clone());
    }

    /// A move has come to its end: the next one tries all again.
    pub fn forget_given_up(&mut self) {
        self.gave_up.clear();
    }

    /// How long ago a move to this provider was given up, counted in moves given up since; `None`: never.
    pub fn given_up(&self, provider: &ClusterName) -> Option<usize> {
        self.gave_up.iter().rev().position(|held| held == provider)
    }

    /// The trace of this intent, in the place of an old one if there are too many.
    fn related_trace(&mut self, intent: [u8; 8], now: u64) -> &mut Trace {
        let found = self.related.iter().position(|trace| trace.intent == intent);
        let at = found.unwrap_or_else(|| {
            self.related.retain(|trace| now.saturating_sub(trace.at) < QUIET_MILLIS);
            if self.related.len() >= MOST_RELATED {
                self.related.remove(0);
            }
            self.related.push(Trace::default());
            self.related.len() - 1
        });
        &mut self.related[at]
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const INTENT: [u8; 8] = [1; 8];

    #[test]
    fn the_same_write_again_and_again_is_slowed_down() {
        let mut memory = Memory::default();
        let mut now = 1_000_000;
        let mut waits = Vec::new();
        for _ in 0..8 {
            if let Pace::Wait(wait) = memory.pace(Subject::Copy, INTENT, now) {
                waits.push(wait);
                now += wait;
            }
            assert_eq!(memory.pace(Subject::Copy, INTENT, now), Pace::Go);
            memory.wrote(Subject::Copy, INTENT, None, now);
        }
        assert!(memory.is_fought(Subject::Copy, now));
        assert_eq!(waits, [1000, 2000, 4000, 8000]);
        assert_eq!(memory.pace(Subject::Copy, [2; 8], now), Pace::Go, "a new intent goes out at once");
        assert!(!memory.is_fought(Subject::Copy, now + QUIET_MILLIS));
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
            memory.wrote(Subject::Status, [intent; 8], None, now);
        }
        assert_eq!(waits, [1000; 3], "five at once");
        assert_eq!(memory.allowance(0, 1_000_000), Pace::Go, "the clock was set back");
        let calm = now + 60_000;
        assert_eq!(memory.allowance(4, calm), Pace::Go, "five at once again");
        assert_eq!(memory.allowance(5, calm), Pace::Wait(1000), "those of one decision count, too");
        let before = memory.clone();
        memory.wrote(Subject::Copy, [9; 8], None, calm);
        memory.wrote(Subject::Marks, [9; 8], None, calm);
        assert_eq!(memory.full_at, before.full_at, "what the consumer's spec asks for is free");
    }

    #[test]
    fn what_the_server_made_of_it_is_not_written_again() {
        let mut memory = Memory::default();
        let made = json!({"a": 1});
        memory.wrote(Subject::Copy, INTENT, Some(&made), 1);
        assert!(memory.is_settled(Subject::Copy, INTENT, &made));
        assert!(!memory.is_settled(Subject::Copy, INTENT, &json!({"a": 2})));
        assert!(!memory.is_settled(Subject::Copy, [2; 8], &made));
    }

    #[test]
    fn a_write_is_wanted_again_only_where_the_last_one_was_the_same() {
        let mut memory = Memory::default();
        assert!(!memory.wants_again(Subject::Copy, INTENT), "nothing was written yet");
        assert!(!memory.wants_again(Subject::Copy, [0; 8]));
        memory.wrote(Subject::Copy, INTENT, None, 5);
        assert!(memory.wants_again(Subject::Copy, INTENT));
        assert!(!memory.wants_again(Subject::Copy, [2; 8]), "another intent");
        assert!(!memory.wants_again(Subject::Status, INTENT), "another subject");
        memory.wrote(Subject::Copy, [2; 8], None, 6);
        assert!(!memory.wants_again(Subject::Copy, INTENT), "that was before the last one");
        memory.wrote(Subject::Related, INTENT, None, 7);
        memory.wrote(Subject::Related, [2; 8], None, 8);
        assert!(memory.wants_again(Subject::Related, INTENT), "each related copy is remembered for itself");
        assert!(!memory.wants_again(Subject::Related, [3; 8]));
    }

    #[test]
    fn a_clock_that_was_set_back_does_not_silence_the_broker() {
        let mut memory = Memory::default();
        let now = 1_000_000_000;
        for _ in 0..=REPEATS {
            memory.wrote(Subject::Copy, INTENT, None, now);
        }
        assert!(matches!(memory.pace(Subject::Copy, INTENT, now), Pace::Wait(_)));
        assert!(matches!(memory.pace(Subject::Copy, INTENT, now - SLOWEST_MILLIS), Pace::Wait(_)));
        assert_eq!(memory.pace(Subject::Copy, INTENT, now - SLOWEST_MILLIS - 1), Pace::Go);
    }

    #[test]
    fn a_fight_is_one_over_the_same_write_in_a_short_time() {
        let mut memory = Memory::default();
        for round in 0..=u64::from(REPEATS) {
            assert!(!memory.is_fought(Subject::Status, 5 + round));
            memory.wrote(Subject::Status, INTENT, None, 5 + round);
        }
        assert!(memory.is_fought(Subject::Status, 10) && !memory.is_fought(Subject::Copy, 10));
        memory.wrote(Subject::Status, [2; 8], None, 10);
        assert!(!memory.is_fought(Subject::Status, 10), "something else is wanted now");
        for round in 0..8 {
            memory.wrote(Subject::Marks, INTENT, None, round * QUIET_MILLIS + 5);
        }
        assert!(!memory.is_fought(Subject::Marks, 7 * QUIET_MILLIS + 6), "seldom enough is no fight");
    }

    #[test]
    fn refused_related_copies_wait_each_for_itself() {
        let mut memory = Memory::default();
        let refuse =
            |memory: &mut Memory, intent| memory.refused(Subject::Related, intent, "Forbidden", "no".into(), 1);
        refuse(&mut memory, [1; 8]);
        refuse(&mut memory, [2; 8]);
        assert_eq!(memory.pace(Subject::Related, [1; 8], 1), Pace::Wait(2000));
        assert_eq!(memory.pace(Subject::Related, [2; 8], 1), Pace::Wait(2000));
        memory.wrote(Subject::Related, [1; 8], None, 2);
        assert_eq!(memory.pace(Subject::Related, [1; 8], 2), Pace::Go);
        assert!(memory.trouble_with(Subject::Related, [2; 8]).is_some());
    }

    #[test]
    fn another_intent_for_the_one_copy_replaces_what_was_refused() {
        let mut memory = Memory::default();
        memory.refused(Subject::Copy, [1; 8], "Invalid", "no".into(), 1);
        memory.refused(Subject::Copy, [2; 8], "Forbidden", "no".into(), 1);
        assert_eq!(memory.trouble(Subject::Copy).map(|trouble| trouble.reason), Some("Forbidden"));
        assert_eq!(memory.pace(Subject::Copy, [1; 8], 1), Pace::Go);
    }
}
