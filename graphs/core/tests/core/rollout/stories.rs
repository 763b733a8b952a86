//! What holds of every story of a rollout.

use graphs_core::rollout::{Reason, Settings};
use proptest::prelude::*;
use serde_json::json;

use crate::rollout::fleet::{Fleet, Toy, settings};

const RINGS: [&str; 3] = ["one", "two", "three"];

#[derive(Debug, Clone)]
enum Event {
    Later(u64),
    Errors(usize, u32),
    Trouble(usize, bool),
    Slow(usize, bool),
    Stuck(usize, bool),
    Lose(usize),
    Find(usize),
    Newest(i64),
    Paused(bool),
    Restart,
    Edited,
    Turn,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        (1..200_u64).prop_map(Event::Later),
        (0..9_usize, 0..2_u32).prop_map(|(at, errors)| Event::Errors(at, errors)),
        (0..9_usize, any::<bool>()).prop_map(|(at, is)| Event::Trouble(at, is)),
        (0..9_usize, any::<bool>()).prop_map(|(at, is)| Event::Slow(at, is)),
        (0..9_usize, any::<bool>()).prop_map(|(at, is)| Event::Stuck(at, is)),
        (0..9_usize).prop_map(Event::Lose),
        (0..9_usize).prop_map(Event::Find),
        (1..4_i64).prop_map(Event::Newest),
        any::<bool>().prop_map(Event::Paused),
        Just(Event::Restart),
        Just(Event::Edited),
        Just(Event::Turn),
        Just(Event::Turn),
        Just(Event::Turn),
    ]
}

fn rollout(policy: &str, most: usize, soak: u64, paused: bool) -> Settings {
    let wave = |ring: &&str| {
        json!({"name": ring, "clusterSelector": {"matchLabels": {"ring": ring}}, "maxUnavailable": most,
            "soakSeconds": soak})
    };
    let waves: Vec<_> = RINGS[..2].iter().map(wave).collect();
    settings(&json!({"waves": waves, "onFailure": policy, "paused": paused, "progressDeadlineSeconds": 100}))
}

fn fleet() -> Fleet {
    let names: Vec<String> = (0..9).map(|at| format!("c{at}")).collect();
    let clusters: Vec<(&str, &str)> = names.iter().zip(0..).map(|(name, at)| (name.as_str(), RINGS[at / 3])).collect();
    Fleet::of(&clusters)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn waves_are_kept_whatever_happens(
        events in prop::collection::vec(event(), 1..60),
        policy in prop::sample::select(vec!["Pause", "Continue", "Rollback"]),
        most in 1..3_usize,
        soak in prop::sample::select(vec![0_u64, 60]),
    ) {
        let mut fleet = fleet();
        let (mut newest, mut paused) = (1, false);
        for event in events {
            let name = |at: usize| format!("c{at}");
            match event {
                Event::Later(seconds) => fleet.later(seconds),
                Event::Errors(at, errors) => fleet.member(&name(at)).errors = errors,
                Event::Trouble(at, is) => fleet.member(&name(at)).trouble = is.then_some(Reason::ApplyRefused),
                Event::Slow(at, is) if fleet.member(&name(at)).is_slow != is => {
                    let now = fleet.now;
                    let toy = fleet.member(&name(at));
                    (toy.is_slow, toy.since) = (is, now);
                }
                Event::Slow(..) => {}
                Event::Stuck(at, is) => fleet.member(&name(at)).is_stuck = is,
                Event::Lose(at) => fleet.lose(&name(at)),
                Event::Find(at) => fleet.member(&name(at)).lost = None,
                Event::Newest(revision) => newest = revision,
                Event::Paused(is) => paused = is,
                Event::Restart => fleet.restart(),
                Event::Edited => fleet.given_up = None,
                Event::Turn => {
                    let settings = rollout(policy, most, soak, paused);
                    let before = fleet.clone();
                    let decision = fleet.turn(&settings, Some(newest));
                    let written = &fleet.history[before.history.len()..];
                    prop_assert!(!written.iter().any(|(name, _)| before.clusters[name].lost.is_some()));
                    // It was begun before, and is tried again as long as it is wanted.
                    let has_failed = |name: &str| {
                        let begun = before.clusters[name].begun.as_ref();
                        begun.is_some_and(|begun| begun.revision == newest && begun.waited(before.now) >= 100_000)
                    };
                    let brought = written
                        .iter()
                        .filter(|(name, revision)| *revision == newest && !before.clusters[name].tried.contains(&newest))
                        .map(|(name, _)| name.as_str());
                    let (again, begun): (Vec<&str>, Vec<&str>) = brought.partition(|name| has_failed(name));
                    prop_assert!(again.is_empty() || !paused, "{again:?} again");
                    prop_assert!(begun.is_empty() || !(paused || decision.stopped), "{begun:?} begun");
                    for (at, ring) in RINGS.iter().enumerate() {
                        let of = |ring: &'static str| fleet.clusters.iter().filter(move |(_, toy)| toy.ring.as_deref() == Some(ring));
                        let is_away = |name: &str| before.clusters[name].lost.is_some();
                        let is_new = |name: &str| written.iter().any(|(of, to)| of == name && *to == newest);
                        let under_way = |(name, toy): &(&String, &Toy)| {
                            let runs = toy.mark.as_ref().is_some_and(|mark| mark.revision == newest && !mark.done);
                            let errors = toy.mark.as_ref().map_or(0, |mark| mark.errors);
                            let is_late = toy.is_slow && fleet.now - toy.since >= 100_000;
                            let fails = is_late || (!toy.is_slow && soak > 0 && toy.errors > errors);
                            let begun = toy.begun.as_ref().filter(|begun| begun.revision == newest);
                            let tries = begun.is_some_and(|begun| begun.since.is_some() && begun.waited(fleet.now) < 100_000);
                            is_away(name) || tries || (runs && !fails)
                        };
                        // Whether it is heard of or not; who is tried again has begun before.
                        let begins = |(name, toy): (&String, &Toy)| {
                            let is_of_newest = |toy: &Toy| toy.begun.as_ref().is_some_and(|begun| begun.revision == newest);
                            (is_new(name) || is_of_newest(toy)) && !is_of_newest(&before.clusters[name])
                        };
                        if of(ring).any(begins) {
                            let under_way = of(ring).filter(under_way).count();
                            prop_assert!(at == 2 || under_way <= most, "{under_way} of {ring} at once");
                        }
                        // No wave before it has one that neither runs the target, nor failed, nor is away.
                        if of(ring).any(|(name, _)| begun.contains(&name.as_str())) {
                            for earlier in &RINGS[..at] {
                                let waits = of(earlier).find(|(name, toy)| {
                                    let runs = toy.mark.as_ref().is_some_and(|mark| mark.revision == newest);
                                    let begun = before.clusters[*name].begun.as_ref();
                                    let was_tried = begun.is_some_and(|begun| {
                                        begun.revision == newest && begun.waited(fleet.now) >= 100_000
                                    });
                                    !runs && !toy.tried.contains(&newest) && !was_tried && !is_away(name)
                                });
                                prop_assert!(waits.is_none(), "{waits:?} of {earlier} waits, and {ring} begins");
                            }
                        }
                    }
                }
            }
        }
        // All is well again: it comes to its end, unless it was taken back.
        for toy in fleet.clusters.values_mut() {
            (toy.errors, toy.trouble, toy.is_slow, toy.is_stuck, toy.lost) = (0, None, false, false, None);
            toy.tried.clear();
        }
        let last = newest + 10;
        for _ in 0..20 {
            fleet.later(60);
            fleet.turns(&rollout(policy, most, soak, false), Some(last));
        }
        prop_assert!(fleet.clusters.values().all(|toy| toy.mark.as_ref().is_some_and(|mark| mark.revision == last)));
    }
}
