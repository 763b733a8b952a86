//! Placement: deterministic, spread as the weights say, stable.

use std::collections::BTreeMap;

use broker_api::{AcceptApiSpec, ClusterName};
use broker_core::{
    acceptance::{AcceptId, Acceptance},
    placement::rank,
};
use proptest::{prelude::*, sample::subsequence};
use runtime_cel::expression::Evaluator;
use serde_json::json;

fn acceptance(provider: &str, name: &str, priority: i64, weight: u32) -> Acceptance {
    let spec: AcceptApiSpec = serde_json::from_value(json!({
        "gvr": {"group": "example.org", "version": "v1", "resource": "certificates"},
        "priority": priority,
        "weight": weight,
    }))
    .unwrap();
    let id = AcceptId { provider: ClusterName::provider(provider), namespace: "default".into(), name: name.into() };
    Acceptance::compile(id, &spec, &Evaluator::new()).unwrap()
}

fn providers<'a>(ranked: &[&'a Acceptance]) -> Vec<&'a str> {
    ranked.iter().map(|acceptance| acceptance.id.provider.name()).collect()
}

/// How many of 10,000 uids each provider serves.
fn spread(acceptances: &[Acceptance]) -> BTreeMap<&str, u32> {
    let references: Vec<&Acceptance> = acceptances.iter().collect();
    let mut served = BTreeMap::new();
    for index in 0..10_000 {
        let uid = format!("0f7c8e4e-6d1b-4d52-a6a5-{index:012}");
        *served.entry(rank(&uid, &references)[0].id.provider.name()).or_default() += 1;
    }
    served
}

#[test]
fn the_spread_follows_the_weights() {
    for weights in [&[1, 1][..], &[1, 1, 1], &[1, 2, 3, 4], &[5, 1], &[100, 100, 200], &[u32::MAX, u32::MAX]] {
        let acceptances: Vec<Acceptance> = weights
            .iter()
            .enumerate()
            .map(|(index, weight)| acceptance(&format!("p{index}"), "a", 0, *weight))
            .collect();
        let served = spread(&acceptances);
        let all: f64 = weights.iter().copied().map(f64::from).sum();
        for (index, weight) in weights.iter().enumerate() {
            let expected = 10_000.0 * f64::from(*weight) / all;
            let got = f64::from(served[format!("p{index}").as_str()]);
            assert!((got - expected).abs() <= expected * 0.1, "{weights:?}: p{index} serves {got}, not {expected}");
        }
    }
}

#[test]
fn a_higher_priority_wins_whatever_the_weight() {
    let acceptances =
        [acceptance("heavy", "a", 0, 1000), acceptance("first", "a", 1, 1), acceptance("low", "a", -5, 1)];
    assert_eq!(spread(&acceptances), BTreeMap::from([("first", 10_000)]));
    assert_eq!(providers(&rank("u", &acceptances.iter().collect::<Vec<_>>())), ["first", "heavy", "low"]);
}

#[test]
fn a_provider_counts_once_with_its_best() {
    let acceptances = [
        acceptance("theseus", "c", 1, 1),
        acceptance("theseus", "b", 1, 7),
        acceptance("theseus", "a", 1, 7),
        acceptance("theseus", "z", 0, 99),
        acceptance("ariadne", "x", 0, 1),
    ];
    let ranked = rank("u", &acceptances.iter().collect::<Vec<_>>());
    assert_eq!(providers(&ranked), ["theseus", "ariadne"]);
    assert_eq!(ranked[0].id.to_string(), "theseus/default/a");
    assert!(rank("u", &[]).is_empty());
}

/// Up to eight providers with one or two AcceptAPIs each.
fn some() -> impl Strategy<Value = Vec<Acceptance>> {
    prop::collection::vec((0_usize..8, 0_i64..2, 1_u32..4), 1..12).prop_map(|parts| {
        parts
            .into_iter()
            .enumerate()
            .map(|(index, (provider, priority, weight))| {
                acceptance(&format!("p{provider}"), &format!("a{index}"), priority, weight)
            })
            .collect()
    })
}

proptest! {
    #[test]
    fn the_order_of_the_input_does_not_matter(uid in "[a-f0-9]{8}", acceptances in some(), seed in any::<usize>()) {
        let references: Vec<&Acceptance> = acceptances.iter().collect();
        let mut turned = references.clone();
        turned.rotate_left(seed % references.len());
        if seed % 2 == 0 {
            turned.reverse();
        }
        let ids = |ranked: Vec<&Acceptance>| ranked.iter().map(|a| a.id.clone()).collect::<Vec<_>>();
        prop_assert_eq!(ids(rank(&uid, &references)), ids(rank(&uid, &turned)));
    }

    #[test]
    fn who_remains_keeps_its_order(
        (all, kept) in some().prop_flat_map(|all| {
            let names: Vec<String> = all.iter().map(|a| a.id.provider.name().to_owned()).collect();
            (Just(all), subsequence(names.clone(), 0..=names.len()))
        }),
        uid in "[a-f0-9]{8}",
    ) {
        let everyone: Vec<&Acceptance> = all.iter().collect();
        let remaining: Vec<&Acceptance> =
            all.iter().filter(|a| kept.iter().any(|name| name == a.id.provider.name())).collect();
        let before = rank(&uid, &everyone);
        let before: Vec<&str> =
            providers(&before).into_iter().filter(|name| kept.iter().any(|k| k == name)).collect();
        prop_assert_eq!(providers(&rank(&uid, &remaining)), before);
    }

    #[test]
    fn priorities_never_go_up(uid in "[a-f0-9]{8}", acceptances in some()) {
        let ranked = rank(&uid, &acceptances.iter().collect::<Vec<_>>());
        prop_assert!(ranked.is_sorted_by(|a, b| a.priority >= b.priority));
    }
}
