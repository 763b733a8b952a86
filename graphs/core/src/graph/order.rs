//! In which order resources are made, and in which waves deleted.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, BinaryHeap},
};

/// Positions, each behind those it depends on, ties as they stand in the YAML; or a circle, its first at its end again.
pub(super) fn topological(dependencies: &[BTreeSet<usize>]) -> Result<Vec<usize>, Vec<usize>> {
    let dependents = dependents(dependencies);
    let mut left: Vec<usize> = dependencies.iter().map(BTreeSet::len).collect();
    let free = left.iter().enumerate().filter(|(_, left)| **left == 0).map(|(at, _)| Reverse(at));
    let mut free: BinaryHeap<Reverse<usize>> = free.collect();
    let mut order = Vec::with_capacity(left.len());
    while let Some(Reverse(at)) = free.pop() {
        order.push(at);
        for dependent in dependents.get(at).into_iter().flatten() {
            if let Some(left) = left.get_mut(*dependent) {
                *left -= 1;
                if *left == 0 {
                    free.push(Reverse(*dependent));
                }
            }
        }
    }
    if order.len() == dependencies.len() { Ok(order) } else { Err(circle(dependencies, &left)) }
}

fn dependents(dependencies: &[BTreeSet<usize>]) -> Vec<Vec<usize>> {
    let mut dependents = vec![Vec::new(); dependencies.len()];
    for (at, uses) in dependencies.iter().enumerate() {
        for used in uses {
            if let Some(of) = dependents.get_mut(*used) {
                of.push(at);
            }
        }
    }
    dependents
}

/// One of the circles among those that wait for others: each of them waits for one that does.
fn circle(dependencies: &[BTreeSet<usize>], left: &[usize]) -> Vec<usize> {
    let waits = |at: &usize| left.get(*at).is_some_and(|left| *left > 0);
    let mut walked: Vec<usize> = (0..left.len()).find(|at| waits(at)).into_iter().collect();
    while let Some(at) = walked.last() {
        let Some(next) = dependencies.get(*at).into_iter().flatten().find(|used| waits(used)).copied() else { break };
        let met = walked.iter().position(|before| *before == next);
        walked.push(next);
        if let Some(met) = met {
            return walked.split_off(met);
        }
    }
    walked
}

/// The wave of each position: as late as those that use it allow.
pub(super) fn waves(dependencies: &[BTreeSet<usize>], order: &[usize]) -> Vec<usize> {
    let mut layers = vec![1_usize; dependencies.len()];
    for at in order {
        let below = dependencies.get(*at).into_iter().flatten().filter_map(|used| layers.get(*used)).max();
        let layer = below.map_or(1, |below| below + 1);
        if let Some(own) = layers.get_mut(*at) {
            *own = layer;
        }
    }
    let last = layers.iter().max().copied().unwrap_or_default();
    let dependents = dependents(dependencies);
    let mut waves = vec![last; dependencies.len()];
    for at in order.iter().rev() {
        let above = dependents.get(*at).into_iter().flatten().filter_map(|user| waves.get(*user)).min();
        let wave = above.map_or(last, |above| above.saturating_sub(1));
        if let Some(own) = waves.get_mut(*at) {
            *own = wave;
        }
    }
    waves
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_circle_is_told() {
        let uses =
            |of: &[&[usize]]| -> Vec<BTreeSet<usize>> { of.iter().map(|of| of.iter().copied().collect()).collect() };
        assert_eq!(topological(&uses(&[&[1], &[0]])), Err(vec![0, 1, 0]));
        assert_eq!(topological(&uses(&[&[1], &[2], &[1]])), Err(vec![1, 2, 1]));
        assert_eq!(topological(&uses(&[&[], &[0, 2], &[1]])), Err(vec![1, 2, 1]), "not by what waits for nothing");
    }

    proptest! {
        #[test]
        fn each_is_behind_those_it_uses(uses in proptest::collection::vec(proptest::collection::btree_set(0..12_usize, 0..4), 12)) {
            let uses: Vec<BTreeSet<usize>> =
                uses.into_iter().enumerate().map(|(at, uses)| uses.into_iter().filter(|used| *used < at).collect()).collect();
            let order = topological(&uses).unwrap();
            let waves = waves(&uses, &order);
            let place = |of: usize| order.iter().position(|at| *at == of).unwrap();
            for (at, uses) in uses.iter().enumerate() {
                for used in uses {
                    prop_assert!(place(*used) < place(at) && waves[*used] < waves[at]);
                }
                prop_assert!(waves[at] >= 1);
            }
        }
    }
}
