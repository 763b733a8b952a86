//! Tests of [`super::Records`].

use broker_core::{
    decision::Step,
    movement::{Moving, Phase},
};

use super::*;

fn key(name: &str) -> OriginKey {
    let kind = Kind { group: "g".into(), version: "v1".into(), kind: "K".into() };
    let cluster = ClusterName::consumer("homer");
    OriginKey { cluster, gvk: Arc::new(kind), namespace: "n".into(), name: name.into() }
}

fn route() -> Route {
    Route::Leave { from: ClusterName::provider("one"), to: ClusterName::provider("two") }
}

fn moving() -> Decision {
    let (from, to) = (ClusterName::provider("one"), ClusterName::provider("two"));
    let moving = Moving { from, to, epoch: 1, migration: None, phase: Phase::Copying, waits_for: String::new() };
    Decision { moving: Some(moving), route: Some(route()), begins: true, ..Decision::state(State::Moving) }
}

fn waiting() -> Decision {
    Decision { route: Some(route()), ..Decision::state(State::NotAccepted) }
}

fn served() -> Decision {
    Decision::state(State::Served)
}

const ONE: Bounds<'static> = Bounds::ONE_MOVE;

#[test]
fn what_was_said_of_an_origin_may_be_old_until_it_is_decided_on() {
    let records = Records::default();
    let a = key("a");
    records.absorb(&a, &served(), ONE).unwrap();
    let doubted = || records.with(&a, |record| record.is_doubted()).unwrap();
    records.doubt(&ClusterName::consumer("another"), &a.gvk);
    assert!(!doubted());
    records.doubt(&a.cluster, &a.gvk);
    assert!(doubted());
    assert_eq!(records.doubted(&a.cluster, &a.gvk), std::slice::from_ref(&a));
    assert!(records.absorb(&a, &served(), ONE).unwrap().moved, "its Migrations look at it");
    assert!(!doubted());
    assert!(!records.absorb(&a, &served(), ONE).unwrap().moved);
}

/// Whoever looks for origins that wait, while one is decided on that will wait from then on, does not find it.
#[test]
fn what_is_decided_while_others_are_looked_for_has_missed_that() {
    let records = Records::default();
    let decided = |searches| records.absorb(&key("a"), &waiting(), Bounds { searches, ..ONE }).unwrap();
    let before = records.remembered(&key("a")).searches;
    assert!(records.waiting(&key("a").gvk).is_empty());
    assert!(decided(before).missed);
    let doubted = || records.with(&key("a"), |record| record.is_doubted()).unwrap();
    assert!(doubted(), "nobody could say that it may be old before there was anything of it");
    assert!(!decided(records.remembered(&key("a")).searches).missed && !doubted());
    let before = records.remembered(&key("a")).searches;
    records.doubt(&key("a").cluster, &key("a").gvk);
    assert!(decided(before).missed && doubted(), "it was observed before that");
    assert!(!decided(records.remembered(&key("a")).searches).missed && !doubted());
    let before = records.remembered(&key("a")).searches;
    assert_eq!(records.all(), [key("a")]);
    assert!(decided(before).missed && !doubted(), "nobody has said that it may be old");
}

#[test]
fn a_turn_goes_to_who_waits_for_it() {
    let records = Records::default();
    for name in ["a", "b", "c"] {
        records.absorb(&key(name), &served(), ONE).unwrap();
    }
    assert!(records.may_move(&key("a"), &route(), 1));
    assert!(records.absorb(&key("a"), &moving(), ONE).unwrap().moved);
    assert!(!records.may_move(&key("b"), &route(), 1) && records.may_move(&key("a"), &route(), 1));
    assert_eq!(records.absorb(&key("b"), &moving(), ONE), None, "it was decided before a took the turn");
    assert!(records.absorb(&key("b"), &waiting(), ONE).unwrap().turns.is_empty());
    assert!(records.absorb(&key("c"), &waiting(), ONE).unwrap().turns.is_empty());
    let ending = Decision { moving: None, ..moving() };
    assert!(records.absorb(&key("a"), &ending, ONE).unwrap().turns.is_empty(), "its end is not written yet");
    assert_eq!(records.absorb(&key("a"), &served(), ONE).unwrap().turns, [key("b")]);
    // Who does not want it any more passes it on.
    assert_eq!(records.absorb(&key("b"), &served(), ONE).unwrap().turns, [key("c")]);
    assert!(records.absorb(&key("c"), &moving(), ONE).is_some());
    let gone = Decision::state(State::Gone);
    records.absorb(&key("c"), &gone, ONE).unwrap();
    assert!(records.absorb(&key("d"), &served(), ONE).is_some());
    assert!(records.absorb(&key("d"), &gone, ONE).unwrap().moved, "whoever waits for it hears that it has gone");
    assert!(records.may_move(&key("b"), &route(), 1));
}

#[test]
fn what_was_under_way_before_a_restart_goes_on_and_counts() {
    let records = Records::default();
    for name in ["a", "b"] {
        let goes_on = Decision { begins: false, ..moving() };
        assert!(records.absorb(&key(name), &goes_on, ONE).is_some());
    }
    assert!(!records.may_move(&key("c"), &route(), 2));
    // Held up for a moment, it keeps its turn.
    records.absorb(&key("a"), &Decision::state(State::Unknown), ONE).unwrap();
    assert!(!records.may_move(&key("c"), &route(), 2));
    assert!(records.with(&key("a"), |record| record.moving().is_some()).unwrap());
    // A person has paused it: others go on, and so does it afterwards, whoever moves by then.
    let two = Bounds { moves: 2, ..ONE };
    records.absorb(&key("c"), &waiting(), two).unwrap();
    let paused = Decision { rests: true, ..Decision::state(State::Paused) };
    assert_eq!(records.absorb(&key("a"), &paused, two).unwrap().turns, [key("c")]);
    assert!(records.absorb(&key("c"), &moving(), two).is_some());
    assert!(records.absorb(&key("a"), &moving(), two).is_some(), "it is under way");
    assert!(!records.may_move(&key("d"), &route(), 2));
}

#[test]
fn who_waits_for_a_turn_is_in_line_whatever_else_is_wrong_with_it() {
    let records = Records::default();
    let waits = |state| Decision { state, ..waiting() };
    records.absorb(&key("a"), &moving(), ONE).unwrap();
    for (name, state) in [("b", State::Blocked), ("c", State::Unknown)] {
        assert!(records.absorb(&key(name), &waits(state), ONE).unwrap().turns.is_empty());
    }
    // It was on its way, stays where it was, and is to move anew: it waits as the others do.
    assert_eq!(records.absorb(&key("a"), &waits(State::Blocked), ONE).unwrap().turns, [key("a")]);
    // Nobody waits for those of whom nothing is known any more.
    for (name, next) in [("a", "b"), ("b", "c")] {
        let unknown = Decision::state(State::Unknown);
        assert_eq!(records.absorb(&key(name), &unknown, ONE).unwrap().turns, [key(next)]);
    }
}

#[test]
fn a_consumer_has_no_more_than_its_quota() {
    let records = Records::default();
    let id = |name: &str| AcceptId { provider: ClusterName::provider("one"), namespace: "n".into(), name: name.into() };
    let placing = |at: &str| Decision {
        provider: Some(ClusterName::provider("one")),
        counted: Some(id(at)),
        begins: true,
        ..Decision::state(State::Placing)
    };
    let two = Bounds { objects: Some(2), share: Some(1), ..ONE };
    assert!(records.absorb(&key("a"), &placing("x"), two).is_some());
    assert!(!records.has_share(&id("x"), 1, &key("b")) && records.has_share(&id("x"), 1, &key("a")));
    assert_eq!(records.absorb(&key("b"), &placing("x"), two), None, "one of each consumer");
    let theirs = OriginKey { cluster: ClusterName::consumer("bart"), ..key("b") };
    assert!(records.absorb(&theirs, &placing("x"), two).is_some(), "another's is another's");
    assert!(records.has_quota(2, &key("b")));
    assert!(records.absorb(&key("b"), &placing("y"), two).is_some());
    assert!(!records.has_quota(2, &key("c")) && records.has_quota(2, &key("b")));
    assert_eq!(records.absorb(&key("c"), &placing("z"), two), None, "two in all");
    // Held up, an object keeps its place; one that goes makes room, and that is told.
    records.absorb(&key("a"), &Decision::state(State::Paused), two).unwrap();
    assert!(!records.has_quota(2, &key("c")));
    assert!(records.absorb(&key("a"), &Decision::state(State::Gone), two).unwrap().relieved);
    assert!(records.absorb(&key("c"), &placing("x"), two).is_some());
    assert!(!records.absorb(&key("b"), &placing("y"), two).unwrap().relieved);
}

fn scan(records: &Records, is: impl Fn(&OriginKey, &Record) -> bool) -> Vec<OriginKey> {
    let inner = records.lock();
    let found = inner.records.iter().filter(|(key, record)| is(key, record)).map(|(key, _)| (**key).clone());
    let mut found: Vec<OriginKey> = found.collect();
    found.sort();
    found
}

/// All that can be asked for, compared with a walk over all records.
fn agree(records: &Records, consumers: &[ClusterName], kinds: &[Arc<Kind>], providers: &[ClusterName]) {
    let mut anew = Index::default();
    for (key, record) in &records.lock().records {
        anew.change(key, None, Some(&record.facts()));
    }
    assert!(records.lock().index == anew);
    assert_eq!(records.all(), scan(records, |_, _| true));
    assert_eq!(records.owed(), scan(records, |_, record| record.owed));
    assert_eq!(records.not_owed(), scan(records, |_, record| !record.owed));
    assert_eq!(records.moving(), scan(records, |_, record| record.state == State::Moving));
    for consumer in consumers {
        let theirs = |key: &OriginKey| key.cluster == *consumer;
        assert_eq!(records.of_consumer(consumer, None), scan(records, |key, _| theirs(key)));
        let unplaced = scan(records, |key, record| theirs(key) && record.state == State::Waiting);
        assert_eq!(records.unplaced(consumer), unplaced);
        for kind in kinds {
            let of_kind = scan(records, |key, _| theirs(key) && key.gvk == *kind);
            assert_eq!(records.of_consumer(consumer, Some(kind)), of_kind);
        }
    }
    let full = |state| matches!(state, State::Waiting | State::NotAccepted | State::Blocked | State::Moving);
    for kind in kinds {
        assert_eq!(records.of_kind(kind), scan(records, |key, _| key.gvk == *kind));
        let waiting = scan(records, |key, record| key.gvk == *kind && (full(record.state) || record.restless));
        assert_eq!(records.waiting(kind), waiting);
    }
    let rests = |state| matches!(state, State::Gone | State::Served | State::Paused | State::Ignored);
    for provider in providers {
        let here = |other: Option<&ClusterName>| other == Some(provider);
        let is_at = |record: &Record| here(record.provider.as_ref()) || here(record.moving().map(|moving| &moving.to));
        let at = scan(records, |_, record| is_at(record));
        assert_eq!(records.at(provider), at);
        assert_eq!(records.providers().contains(provider), !at.is_empty());
        for namespace in ["n", "m"].map(Arc::from) {
            assert_eq!(records.is_expected(provider, &namespace), at.iter().any(|key| key.namespace == namespace));
        }
        for kind in kinds.iter().map(|kind| Some(&**kind)).chain([None]) {
            let concerned = scan(records, |key, record| {
                kind.is_none_or(|kind| *key.gvk == *kind) && (is_at(record) || !rests(record.state) || record.restless)
            });
            assert_eq!(records.concerned(provider, kind), concerned);
        }
    }
}

/// The numbers, compared with a walk over all records.
fn add_up(records: &Records, consumers: &[ClusterName], providers: &[ClusterName]) {
    let spread = records.spread();
    for (kind, state, count) in &spread.states {
        assert_eq!(scan(records, |key, record| key.gvk == *kind && record.state == *state).len(), *count);
    }
    assert_eq!(spread.states.iter().map(|(_, _, count)| count).sum::<usize>(), records.all().len());
    let of = |all: &[(ClusterName, usize)], name: &ClusterName| {
        all.iter().find(|(other, _)| other == name).map_or(0, |(_, count)| *count)
    };
    for consumer in consumers {
        assert_eq!(of(&spread.consumers, consumer), records.of_consumer(consumer, None).len());
    }
    for provider in providers {
        assert_eq!(of(&spread.providers, provider), records.at(provider).len());
    }
    let such = scan(records, |key, _| &*key.namespace == "n");
    for most in [0, 1, 3, 100] {
        let first = such.iter().take(most).cloned().collect();
        assert_eq!(records.some(most, |key| &*key.namespace == "n"), (first, such.len() > most));
    }
}

#[test]
fn those_of_one_consumer_are_looked_at_a_part_at_a_time_and_each_once() {
    for count in [AT_ONCE - 1, AT_ONCE, AT_ONCE + 1, 2 * AT_ONCE + 7] {
        let records = Records::default();
        for number in 0..count {
            records.absorb(&key(&format!("a{number:05}")), &served(), ONE).unwrap();
        }
        assert_eq!(records.some(count, |_| true), (records.all(), false), "{count}");
        let (found, more) = records.some(count - 1, |_| true);
        assert_eq!((found.len(), more), (count - 1, true), "{count}");
    }
}

#[test]
fn what_is_asked_for_is_what_a_walk_over_all_would_find() {
    let kinds = ["K", "L"].map(|kind| Arc::new(Kind { group: "g".into(), version: "v1".into(), kind: kind.into() }));
    let consumers = ["homer", "bart"].map(ClusterName::consumer);
    let providers = ["one", "two", "three"].map(ClusterName::provider);
    let records = Records::default();
    let mut random = 11_u64;
    let mut dice = |sides: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(random >> 33).unwrap() % sides
    };
    let mut most = 0;
    for _ in 0..1500 {
        let key = OriginKey {
            cluster: consumers[dice(2)].clone(),
            gvk: Arc::clone(&kinds[dice(2)]),
            namespace: ["n", "m"][dice(2)].into(),
            name: ["a", "b", "c"][dice(3)].into(),
        };
        let provider = providers.get(dice(4)).cloned();
        let at = |provider: ClusterName| AcceptId { provider, namespace: "n".into(), name: "x".into() };
        let (from, to) = (providers[0].clone(), providers[1 + dice(2)].clone());
        let moving = Moving { from, to, epoch: 1, migration: None, phase: Phase::Copying, waits_for: String::new() };
        let decision = Decision {
            steps: vec![Step::Confirm(Box::new(key.place())); dice(2)],
            counted: provider.clone().map(at),
            provider,
            moving: (dice(3) == 0).then_some(moving),
            restless: dice(4) == 0,
            begins: dice(2) == 0,
            ..Decision::state(State::ALL[dice(State::ALL.len())])
        };
        let full = Bounds { capacity: Some(3), ..ONE };
        records.absorb(&key, &decision, full);
        agree(&records, &consumers, &kinds, &providers);
        add_up(&records, &consumers, &providers);
        most = most.max(records.all().len());
    }
    assert!(most > 15, "{most}");
    for key in records.all() {
        records.absorb(&key, &Decision::state(State::Gone), ONE);
    }
    assert!(records.lock().index == Index::default(), "nothing is held of what is gone");
}
