//! What holds of every story of a rollout.

use std::collections::BTreeSet;

use graphs_core::rollout::{Reach, Reason, Settings};
use proptest::prelude::*;
use serde_json::json;

use crate::fleet::{Fleet, settings};

const RINGS: [&str; 3] = ["one", "two", "three"];

#[derive(Debug, Clone)]
enum Event {
    Later(u64),
    Errors(usize, u32),
    Trouble(usize, bool),
    Slow(usize, bool),
    Lose(usize),
    Find(usize),
    Newest(i64),
    Paused(bool),
    Turn,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        (1..200_u64).prop_map(Event::Later),
        (0..9_usize, 0..2_u32).prop_map(|(at, errors)| Event::Errors(at, errors)),
        (0..9_usize, any::<bool>()).prop_map(|(at, is)| Event::Trouble(at, is)),
        (0..9_usize, any::<bool>()).prop_map(|(at, is)| Event::Slow(at, is)),
        (0..9_usize).prop_map(Event::Lose),
        (0..9_usize).prop_map(Event::Find),
        (1..4_i64).prop_map(Event::Newest),
        any::<bool>().prop_map(Event::Paused),
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
                Event::Slow(at, is) => fleet.member(&name(at)).is_slow = is,
                Event::Lose(at) => fleet.lose(&name(at)),
                Event::Find(at) => fleet.member(&name(at)).lost = None,
                Event::Newest(revision) => newest = revision,
                Event::Paused(is) => paused = is,
                Event::Turn => {
                    let (before, members) = (fleet.clone(), fleet.members());
                    let decision = fleet.turn(&rollout(policy, most, soak, paused), Some(newest));
                    let begun: BTreeSet<&str> = fleet.history[before.history.len()..]
                        .iter()
                        .filter(|(_, revision)| *revision == newest)
                        .map(|(name, _)| name.as_str())
                        .collect();
                    prop_assert!(begun.is_empty() || !(paused || decision.stopped), "{begun:?} begun");
                    for ring in &RINGS[..2] {
                        let of: Vec<&String> = fleet.clusters.iter().filter(|(_, toy)| toy.ring.as_deref() == Some(ring))
                            .map(|(name, _)| name).collect();
                        let begun = of.iter().filter(|name| begun.contains(name.as_str())).count();
                        prop_assert!(begun <= most, "{begun} of {ring} at once");
                    }
                    let away = |name: &str| members.iter().any(|member| {
                        member.cluster.name() == name && matches!(member.reach, Reach::Unreachable { .. })
                    });
                    prop_assert!(!fleet.history[before.history.len()..].iter().any(|(name, _)| away(name)));
                    let again = fleet.turn(&rollout(policy, most, soak, paused), Some(newest));
                    prop_assert_eq!(again.target, Some(newest));
                }
            }
        }
        // All is well again: it comes to its end, unless it was taken back.
        for toy in fleet.clusters.values_mut() {
            (toy.errors, toy.trouble, toy.is_slow, toy.lost) = (0, None, false, None);
        }
        let last = newest + 10;
        for _ in 0..20 {
            fleet.later(60);
            fleet.turns(&rollout(policy, most, soak, false), Some(last));
        }
        prop_assert!(fleet.clusters.values().all(|toy| toy.mark.as_ref().is_some_and(|mark| mark.revision == last)));
    }
}
