//! Who serves an object: an order over the AcceptAPIs that accept it.
//!
//! Knows nothing of health, capacity or cordons: the caller passes only candidates that may be chosen.

use std::{cmp::Ordering, collections::BTreeMap};

use broker_api::ClusterName;
use sha2::{Digest, Sha256};

use crate::acceptance::Acceptance;

/// One AcceptAPI per provider, best first.
///
/// Of several AcceptAPIs of one provider the one of highest priority counts, then of highest weight, then the first by
/// namespace and name. Providers are ordered by priority, then by weighted rendezvous hashing on `uid` (the origin's
/// `metadata.uid`): each provider's score depends on nothing but the uid, itself and its weight, so the order of the
/// others stays when one comes or goes. The order of the input does not matter.
pub fn rank<'a>(uid: &str, acceptances: &[&'a Acceptance]) -> Vec<&'a Acceptance> {
    let mut best: BTreeMap<&ClusterName, &'a Acceptance> = BTreeMap::new();
    for &acceptance in acceptances {
        best.entry(&acceptance.id.provider)
            .and_modify(|known| {
                if within_provider(acceptance, known) == Ordering::Less {
                    *known = acceptance;
                }
            })
            .or_insert(acceptance);
    }
    let mut scored: Vec<(f64, &'a Acceptance)> =
        best.into_values().map(|acceptance| (score(uid, acceptance), acceptance)).collect();
    scored.sort_by(|(left_score, left), (right_score, right)| {
        (right.priority.cmp(&left.priority))
            .then_with(|| right_score.total_cmp(left_score))
            .then_with(|| left.id.cmp(&right.id))
    });
    scored.into_iter().map(|(_, acceptance)| acceptance).collect()
}

fn within_provider(left: &Acceptance, right: &Acceptance) -> Ordering {
    (right.priority.cmp(&left.priority))
        .then_with(|| right.weight.cmp(&left.weight))
        .then_with(|| left.id.cmp(&right.id))
}

/// Weighted rendezvous score `-w / ln(u)`, `u` uniform in (0, 1) (Schindelhauer and Schomaker, "Weighted Distributed
/// Hash Tables", 2005): the provider of weight `w` has the highest score for a share of `w` in all weights.
pub(crate) fn score(uid: &str, acceptance: &Acceptance) -> f64 {
    let mut hash = Sha256::new();
    hash.update((uid.len() as u64).to_be_bytes());
    hash.update(uid.as_bytes());
    hash.update(acceptance.id.provider.name().as_bytes());
    let digest = hash.finalize();
    let mut high = [0; 4];
    high.copy_from_slice(&digest[..4]);
    let mut low = [0; 4];
    low.copy_from_slice(&digest[4..8]);
    // 52 bits and a half: exact in an f64, and neither 0 nor 1.
    let u = f64::from(u32::from_be_bytes(high)) / 2f64.powi(32)
        + (f64::from(u32::from_be_bytes(low) >> 12) + 0.5) / 2f64.powi(52);
    -f64::from(acceptance.weight) / u.ln()
}

#[cfg(test)]
mod tests {
    use broker_api::AcceptApiSpec;
    use runtime_cel::expression::Evaluator;
    use serde_json::json;

    use super::*;
    use crate::acceptance::AcceptId;

    /// Brokers of two releases have to agree on it, else objects that ask for their share go to and fro.
    #[test]
    fn a_score_stays_what_it_was() {
        let gvr = json!({"group": "example.org", "version": "v1", "resource": "certificates"});
        let spec: AcceptApiSpec = serde_json::from_value(json!({"gvr": gvr, "weight": 2})).unwrap();
        let id = AcceptId { provider: ClusterName::provider("theseus"), namespace: "n".into(), name: "a".into() };
        let acceptance = Acceptance::compile(id, &spec, &Evaluator::new()).unwrap();
        // The second has a `u` so small that its last bit can be told.
        for (uid, expected) in [("u-1", 1.954_966_118_304_779_3_f64), ("u-1432875", 0.118_904_042_981_821_33)] {
            let found = score(uid, &acceptance);
            assert!((found / expected - 1.0).abs() < 1e-13, "{uid}: {found}");
        }
    }
}
