//! When is asked, what is read, and when it counts.

use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::kind::KindInfo;

const MILLI: Duration = Duration::from_millis(1);

fn gvk(kind: &str) -> GroupVersionKind {
    GroupVersionKind::gvk("g.io", "v1", kind)
}

fn found(kind: &str) -> KindState {
    let plural = format!("{}s", kind.to_lowercase());
    KindState::Found(Arc::new(KindInfo { gvk: gvk(kind), plural, namespaced: true, has_status: false }))
}

fn wanted(kinds: &[&str]) -> Wanted {
    let mut wanted = Wanted::default();
    for kind in kinds {
        wanted.add(&gvk(kind), true);
    }
    wanted
}

fn schema(name: &str) -> KindSchema {
    KindSchema::new(json!({ "properties": { name: {} } }))
}

fn defined(version: u64, name: &str) -> Reading {
    Reading::Definition(version, schema(name))
}

/// A kind that was found, with this schema from version 1 of its CRD.
fn settled(name: &str) -> (Wanted, Instant) {
    let (mut wanted, now) = (wanted(&["Thing"]), Instant::now());
    assert_eq!(wanted.take(&gvk("Thing"), &found("Thing"), &defined(1, name), now), Some(News::Schema));
    (wanted, now)
}

/// Milliseconds at which is asked within so many, while `each` happens every millisecond.
fn looks(wanted: &mut Wanted, from: Instant, within: u32, mut each: impl FnMut(&mut Wanted, u32)) -> Vec<u32> {
    let at = |milli: u32| from + MILLI * milli;
    let ask = |milli: &u32| {
        each(wanted, *milli);
        !wanted.due(false, |_| Listed::Unknown, at(*milli)).is_empty()
    };
    (0..within).filter(ask).collect()
}

#[test]
fn what_is_new_is_asked_for_at_once_and_together() {
    let mut wanted = wanted(&["B", "A"]);
    wanted.add(&GroupVersionKind::gvk("a.io", "v1", "C"), true);
    let kinds: Vec<_> =
        wanted.due(false, |_| Listed::Unknown, Instant::now()).into_iter().map(|gvk| gvk.kind).collect();
    assert_eq!(kinds, ["C", "A", "B"], "by group and version, then by name");
}

#[test]
fn a_changed_crd_is_looked_at_four_times() {
    let (mut wanted, now) = settled("a");
    wanted.definition_changed("things.g.io", false, now);
    assert_eq!(looks(&mut wanted, now, 20_000, |_, _| {}), [150, 600, 2000, 5000]);
    assert_eq!(wanted.due(false, |_| Listed::Unknown, now + MILLI * 20_000), []);
    assert_eq!(wanted.next(now), None);
}

#[test]
fn the_next_look_is_announced() {
    let (mut wanted, now) = settled("a");
    wanted.definition_changed("things.g.io", false, now);
    assert_eq!((wanted.due(false, |_| Listed::Unknown, now), wanted.next(now)), (vec![], Some(MILLI * 150)));
    let now = now + MILLI * 150;
    assert_eq!(
        (wanted.due(false, |_| Listed::Unknown, now), wanted.next(now)),
        (vec![gvk("Thing")], Some(MILLI * 450))
    );
}

#[test]
fn a_stream_of_changes_neither_puts_a_look_off_nor_makes_many() {
    let (mut wanted, now) = (wanted(&["Thing"]), Instant::now());
    wanted.take(&gvk("Thing"), &KindState::Missing, &Reading::Nothing, now);
    let when = looks(&mut wanted, now, 20_000, |wanted, milli| {
        if milli < 2000 {
            wanted.definition_changed(&format!("k{milli}s.g.io"), false, now + MILLI * milli);
        }
    });
    assert_eq!(when[0], 150);
    assert!(when.windows(2).all(|two| two[1] - two[0] >= 400), "{when:?}");
    assert!(when.len() <= 9, "{when:?}");
    assert_eq!(when.last(), Some(&6999), "the last look is five seconds after the last change: {when:?}");
}

#[test]
fn a_crd_concerns_its_own_kind_and_those_that_were_not_found() {
    let asks = |name: &str, first: bool, state: &KindState| {
        let (mut wanted, now) = (wanted(&["Thing"]), Instant::now());
        wanted.take(&gvk("Thing"), state, &Reading::Nothing, now);
        wanted.definition_changed(name, first, now);
        !wanted.due(false, |_| Listed::Unknown, now + MILLI * 150).is_empty()
    };
    let there = found("Thing");
    assert!(asks("things.g.io", false, &there));
    assert!(!asks("things.g.io", true, &there), "it was asked for after its CRD had come");
    assert!(!asks("others.g.io", false, &there), "another kind's CRD");
    assert!(asks("others.g.io", false, &KindState::Missing), "who knows its plural");
    assert!(asks("others.g.io", true, &KindState::Missing));
    assert!(!asks("things.h.io", false, &KindState::Missing), "another group");
}

#[test]
fn a_crd_that_comes_first_has_its_kind_asked_for_again_only_where_it_is_not_served() {
    let asks = |name: &str, first: bool, state: &KindState| {
        let (mut wanted, now) = (wanted(&["Thing"]), Instant::now());
        assert_eq!(wanted.due(false, |_| Listed::Unknown, now), [gvk("Thing")]);
        wanted.definition_changed(name, first, now);
        assert_eq!(wanted.due(false, |_| Listed::Unknown, now), [gvk("Thing")], "it is still not known");
        wanted.take(&gvk("Thing"), state, &Reading::Nothing, now);
        looks(&mut wanted, now, 20_000, |_, _| {})
    };
    let (there, never, again) = (found("Thing"), Vec::<u32>::new(), [150, 600, 2000, 5000]);
    assert_eq!(asks("things.g.io", true, &there), never);
    assert_eq!(asks("things.g.io", true, &KindState::Missing), again, "it is about to be served");
    assert_eq!(asks("others.g.io", true, &KindState::Missing), again, "who knows its plural");
    assert_eq!(asks("things.h.io", true, &KindState::Missing), never, "another group");
    assert_eq!(asks("things.g.io", false, &there), again[1..], "the answer may be of before");
}

#[test]
fn a_missing_kind_is_asked_for_when_it_is_time_to() {
    let (mut wanted, now) = (wanted(&["Thing"]), Instant::now());
    assert!(!wanted.misses());
    wanted.take(&gvk("Thing"), &KindState::Missing, &Reading::Nothing, now);
    assert!(wanted.misses());
    assert!(wanted.due(false, |_| Listed::Unknown, now).is_empty());
    assert_eq!(wanted.due(true, |_| Listed::Unknown, now), [gvk("Thing")]);
    wanted.take(&gvk("Thing"), &found("Thing"), &Reading::Nothing, now);
    assert!(wanted.due(true, |_| Listed::Unknown, now).is_empty() && !wanted.misses());
}

#[test]
fn another_schema_counts_once_the_crd_has_said_so_for_a_while() {
    let (mut wanted, now) = settled("a");
    let mut take =
        |reading: &Reading, milli: u32| wanted.take(&gvk("Thing"), &found("Thing"), reading, now + MILLI * milli);
    assert_eq!(take(&defined(2, "b"), 150), None);
    assert_eq!(take(&defined(2, "b"), 4149), None);
    assert_eq!(take(&defined(3, "c"), 4200), None, "another one again");
    assert_eq!(take(&defined(4, "b"), 8000), None);
    assert_eq!(take(&defined(5, "b"), 12_000), Some(News::Schema), "whatever else has changed in the CRD");
    assert_eq!(take(&defined(5, "b"), 12_001), None);
    assert_eq!(take(&defined(6, "c"), 13_000), None);
    assert_eq!(take(&defined(7, "b"), 14_000), None, "taken back");
    assert_eq!(take(&defined(8, "c"), 18_000), None, "what was seen before that does not count");
}

#[test]
fn a_schema_that_the_server_contradicts_gives_way_at_once() {
    let (mut wanted, now) = settled("a");
    wanted.doubt(&gvk("Thing"), now);
    assert!(wanted.wants_schema(&gvk("Thing"), Listed::Version(1), now), "whatever the watch says");
    assert_eq!(wanted.due(false, |_| Listed::Unknown, now + MILLI * 150), [gvk("Thing")]);
    let take = |wanted: &mut Wanted| wanted.take(&gvk("Thing"), &found("Thing"), &defined(2, "b"), now + MILLI * 150);
    assert_eq!(take(&mut wanted), Some(News::Schema));
    assert!(!wanted.wants_schema(&gvk("Thing"), Listed::Version(2), now + DOUBT), "doubts end");

    // The CRD changes after that: who knows what the server goes by.
    let (mut wanted, _) = settled("a");
    wanted.doubt(&gvk("Thing"), now);
    wanted.definition_changed("things.g.io", false, now);
    assert_eq!(take(&mut wanted), None);
}

#[test]
fn a_first_schema_and_a_published_one_count_at_once() {
    let (mut wanted, now) = (wanted(&["Thing"]), Instant::now());
    let mut take = |reading: &Reading| wanted.take(&gvk("Thing"), &found("Thing"), reading, now);
    assert_eq!(take(&Reading::Nothing), Some(News::Schema), "that there is none");
    assert_eq!(take(&defined(1, "a")), Some(News::Schema));
    assert_eq!(take(&Reading::Nothing), None, "what cannot be had changes nothing");
    assert_eq!(take(&Reading::Document(Some(schema("b")))), Some(News::Schema));
    assert_eq!(take(&Reading::Document(None)), Some(News::Schema));
    assert_eq!(take(&Reading::Document(None)), None);
}

#[test]
fn a_schema_that_is_coming_is_looked_at_until_it_counts() {
    let (mut wanted, now) = settled("a");
    let take = |wanted: &mut Wanted, milli: u32| {
        wanted.take(&gvk("Thing"), &found("Thing"), &defined(2, "b"), now + MILLI * milli)
    };
    assert_eq!(take(&mut wanted, 0), None);
    let when = looks(&mut wanted, now, 20_000, |_, _| {});
    assert_eq!(when.last(), Some(&5000), "nothing else would have asked again");
    assert_eq!(take(&mut wanted, 5000), Some(News::Schema));
    assert!(looks(&mut wanted, now + MILLI * 5000, 20_000, |_, _| {}).is_empty());
}

#[test]
fn how_it_is_served_counts_at_once() {
    let (mut wanted, now) = settled("a");
    let KindState::Found(info) = found("Thing") else { unreachable!() };
    let other = KindState::Found(Arc::new(KindInfo { has_status: true, ..(*info).clone() }));
    assert_eq!(wanted.take(&gvk("Thing"), &other, &defined(2, "b"), now), Some(News::State));
    assert_eq!(wanted.state(&gvk("Thing")), Some(&other));
    assert_eq!(wanted.take(&gvk("Thing"), &found("Thing"), &Reading::Nothing, now), Some(News::State));
}

#[test]
fn a_kind_that_went_comes_with_its_schema_again() {
    let (mut wanted, now) = settled("a");
    let missing = |wanted: &mut Wanted| wanted.take(&gvk("Thing"), &KindState::Missing, &Reading::Nothing, now);
    assert_eq!(missing(&mut wanted), Some(News::State));
    assert_eq!(missing(&mut wanted), None);
    let again = wanted.take(&gvk("Thing"), &found("Thing"), &defined(2, "b"), now);
    assert_eq!(again, Some(News::Schema), "its server has never gone by another one");
    wanted.remove(&gvk("Thing"), true);
    assert_eq!(wanted.take(&gvk("Thing"), &found("Thing"), &defined(3, "c"), now), None, "nobody wants it");
}

#[test]
fn what_was_read_is_not_read_again() {
    let (wanted, now) = settled("a");
    let wants = |wanted: &Wanted, listed| wanted.wants_schema(&gvk("Thing"), listed, now);
    assert!(!wants(&wanted, Listed::Version(1)));
    assert!(wants(&wanted, Listed::Version(2)));
    assert!(!wants(&wanted, Listed::Unknown) && !wants(&wanted, Listed::Absent), "nobody says that it has changed");
    assert!(!wanted.wants_schema(&gvk("Other"), Listed::Unknown, now));

    let mut wanted = self::wanted(&["Thing"]);
    assert!(wants(&wanted, Listed::Absent), "it is not known yet");
    wanted.take(&gvk("Thing"), &found("Thing"), &Reading::Nothing, now);
    assert!(wants(&wanted, Listed::Absent), "it could not be had");
    wanted.take(&gvk("Thing"), &found("Thing"), &Reading::Document(Some(schema("a"))), now);
    assert!(!wants(&wanted, Listed::Absent) && !wants(&wanted, Listed::Unknown));
    assert!(wants(&wanted, Listed::Version(1)), "there is a CRD to read it in");
}

#[test]
fn a_kind_is_known_as_long_as_there_is_a_watch_of_it() {
    let (mut wanted, now) = settled("a");
    wanted.add(&gvk("Thing"), true);
    wanted.take(&gvk("Thing"), &KindState::Missing, &Reading::Nothing, now);
    assert!(!wanted.remove(&gvk("Thing"), true));
    assert_eq!(wanted.state(&gvk("Thing")), Some(&KindState::Missing));
    assert!(wanted.remove(&gvk("Thing"), true));
    assert_eq!(wanted.state(&gvk("Thing")), None);
    assert!(!wanted.remove(&gvk("Thing"), true));
}

#[test]
fn nothing_is_asked_for_a_group_that_nobody_wants() {
    let (mut wanted, now) = settled("a");
    wanted.add(&gvk("Other"), true);
    wanted.take(&gvk("Other"), &found("Other"), &Reading::Nothing, now);
    wanted.definition_changed("things.g.io", false, now);
    wanted.remove(&gvk("Other"), true);
    assert!(wanted.due(false, |_| Listed::Unknown, now).is_empty() && wanted.next(now).is_some());
    wanted.remove(&gvk("Thing"), true);
    assert!(wanted.due(false, |_| Listed::Unknown, now).is_empty() && wanted.next(now).is_none());
}

#[test]
fn a_crd_that_was_read_as_it_is_now_is_not_asked_for_again() {
    let after = |listed: Listed| {
        let (mut wanted, now) = settled("a");
        wanted.definition_changed("things.g.io", false, now);
        let asked = |milli: u32| now + MILLI * milli;
        let looks = (0..8_000).filter(|milli| !wanted.due(false, |_| listed, asked(*milli)).is_empty()).count();
        (looks, wanted.next(asked(8_000)))
    };
    assert_eq!(after(Listed::Version(1)), (0, None));
    for listed in [Listed::Version(2), Listed::Unknown, Listed::Absent] {
        assert_eq!(after(listed), (4, None), "{listed:?}");
    }
    // Another kind of the same group and version may have come.
    let (mut wanted, now) = settled("a");
    wanted.add(&gvk("Other"), true);
    wanted.take(&gvk("Other"), &KindState::Missing, &Reading::Nothing, now);
    wanted.definition_changed("others.g.io", false, now);
    assert!(!wanted.due(false, |_| Listed::Version(1), now + MILLI * 150).is_empty());
    // What the API server contradicts is looked at.
    let (mut wanted, now) = settled("a");
    wanted.doubt(&gvk("Thing"), now);
    assert!(!wanted.due(false, |_| Listed::Version(1), now + MILLI * 150).is_empty());
}

#[test]
fn who_asks_for_a_schema_gets_what_it_is_then() {
    let mut wanted = Wanted::default();
    let now = Instant::now();
    let due = |wanted: &mut Wanted| !wanted.due(false, |_| Listed::Unknown, now).is_empty();
    wanted.add(&gvk("Thing"), false);
    assert!(due(&mut wanted) && !wanted.asks_for_schema(&gvk("Thing")));
    assert_eq!(wanted.take(&gvk("Thing"), &found("Thing"), &Reading::Unasked, now), Some(News::Schema));
    assert_eq!(wanted.take(&gvk("Thing"), &found("Thing"), &Reading::Unasked, now), None);
    assert!(!due(&mut wanted), "nobody asks");

    wanted.add(&gvk("Thing"), true);
    assert!(due(&mut wanted) && wanted.asks_for_schema(&gvk("Thing")));
    // Asked for just before that.
    assert_eq!(wanted.take(&gvk("Thing"), &found("Thing"), &Reading::Unasked, now), None);
    assert!(due(&mut wanted));
    assert_eq!(
        wanted.take(&gvk("Thing"), &found("Thing"), &Reading::Nothing, now),
        Some(News::Schema),
        "there is none"
    );
    assert!(!due(&mut wanted));
    assert_eq!(wanted.take(&gvk("Thing"), &found("Thing"), &defined(1, "a"), now), Some(News::Schema));

    // It may change while nobody asks.
    wanted.remove(&gvk("Thing"), true);
    assert!(!due(&mut wanted) && !wanted.asks_for_schema(&gvk("Thing")));
    wanted.add(&gvk("Thing"), true);
    assert!(due(&mut wanted) && wanted.wants_schema(&gvk("Thing"), Listed::Version(2), now));
    assert_eq!(wanted.take(&gvk("Thing"), &found("Thing"), &Reading::Nothing, now), None, "it has not");
    assert!(!due(&mut wanted));
}

#[test]
fn a_schema_that_could_not_be_read_now_is_not_one_that_there_is_not() {
    let (mut wanted, now) = (Wanted::default(), Instant::now());
    wanted.add(&gvk("Thing"), true);
    let mut take = |reading: &Reading| wanted.take(&gvk("Thing"), &found("Thing"), reading, now);
    assert_eq!(take(&Reading::Unread), Some(News::Schema), "that nobody can tell");
    assert_eq!(Reading::Unread.news(), SchemaNews::Unread);
    assert_eq!(take(&Reading::Unread), None, "it is told once");
    assert_eq!(take(&Reading::Document(None)), Some(News::Schema), "that there is none");
    assert_eq!(take(&Reading::Unread), None, "what is known stays");
    let mut wanted = Wanted::default();
    wanted.add(&gvk("Thing"), true);
    wanted.take(&gvk("Thing"), &found("Thing"), &Reading::Unread, now);
    assert_eq!(wanted.due(false, |_| Listed::Unknown, now), [gvk("Thing")], "it is looked for again");
}
