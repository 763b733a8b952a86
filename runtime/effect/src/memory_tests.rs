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
    let refuse = |memory: &mut Memory, intent| memory.refused(Part::Related, intent, "Forbidden", "no".into(), 1, 0);
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
    for _ in 0..2 * REPEATS {
        assert!(!fail(&mut memory, now), "for a moment only");
        assert_eq!(memory.pace(Part::Copy, INTENT, now), Pace::Go, "whoever sends it waits");
    }
    now += FAILING_MILLIS;
    for wait in [2000, 4000, 8000] {
        assert!(fail(&mut memory, now));
        assert_eq!(memory.pace(Part::Copy, INTENT, now), Pace::Wait(wait));
        assert_eq!(memory.pace(Part::Copy, [2; 8], now), Pace::Go);
        now += wait;
    }
    assert_eq!(memory.trouble(Part::Copy).map(|trouble| trouble.reason), Some(condition::WRITE_FAILED));
    assert_eq!((memory.failures(Part::Copy, INTENT), memory.failures(Part::Copy, [2; 8])), (REPEATS + 2, 0));
    memory.wrote(Part::Copy, INTENT, None, now);
    assert_eq!(memory.failures(Part::Copy, INTENT), 0);
}

#[test]
fn it_fails_as_often_and_for_as_long_as_that_takes() {
    let mut memory = Memory::default();
    let fail = |memory: &mut Memory, now| memory.failed(Part::Copy, INTENT, "late".into(), now, 0);
    let told = [0, 20_000, 50_000].map(|at| fail(&mut memory, 1_000_000 + at));
    assert_eq!(told, [false, false, true], "twice may be chance");
    // What was refused before has not gone through either.
    memory.wrote(Part::Copy, INTENT, None, 2_000_000);
    for at in [0, 2_000, 10_000] {
        memory.refused(Part::Copy, INTENT, condition::ADMISSION_FAILED, "no".into(), 2_000_000 + at, 0);
    }
    assert!(fail(&mut memory, 2_030_000));
    assert_eq!(memory.pace(Part::Copy, INTENT, 2_030_000), Pace::Wait(4000));
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
fn of_what_was_refused_the_oldest_is_forgotten() {
    let mut memory = Memory::default();
    let most = u8::try_from(FEW + Part::MOST).unwrap();
    for intent in 1..=most + 1 {
        memory.refused(Part::Related, [intent; 8], condition::FORBIDDEN, "no".into(), 1, 0);
        assert_eq!(memory.trouble_with(Part::Related, [1; 8]).is_some(), intent <= most, "{intent}");
    }
    assert!((2..=most + 1).all(|intent| memory.trouble_with(Part::Related, [intent; 8]).is_some()));
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

#[test]
fn of_a_key_with_one_thing_to_write_the_last_counts_and_nothing_waits() {
    let mut memory = super::Memory::default();
    for intent in 1..=2 * u8::try_from(BURST).unwrap() {
        memory.wrote(Sole, [intent; 8], None, 5);
    }
    assert!(memory.wants_again(Sole, [10; 8]) && !memory.wants_again(Sole, [9; 8]));
    assert_eq!(memory.allowance(0, 5), Pace::Go);
}
