//! `Budget`: how many Events may be sent, so that nobody's flood silences a neighbour.

use std::time::Duration;

use broker_api::ClusterName;
use runtime_effect::{note::Note, object_key::ObjectKey};
use runtime_fleet::hashed::HashMap;
use tokio::time::Instant;

use super::Regarding;

/// At once, and a second in the long run.
#[derive(Debug, Clone, Copy)]
struct Limit {
    burst: f64,
    rate: f64,
}

/// Of the objects of one namespace, or of one object that is in none.
const SHARE: Limit = Limit { burst: 30.0, rate: 5.0 };

/// Of one cluster: an Event costs its API server some milliseconds.
const CLUSTER: Limit = Limit { burst: 300.0, rate: 20.0 };

/// So many buckets are kept before those that are full again are let go.
const KEPT: usize = 1024;

/// What may be sent now.
#[derive(Debug)]
struct Bucket {
    limit: Limit,
    tokens: f64,
    at: Instant,
}

impl Bucket {
    fn full(limit: Limit, now: Instant) -> Self {
        Self { limit, tokens: limit.burst, at: now }
    }

    fn tokens(&self, now: Instant) -> f64 {
        let passed: Duration = now.saturating_duration_since(self.at);
        (self.tokens + passed.as_secs_f64() * self.limit.rate).min(self.limit.burst)
    }

    fn has_one(&self, now: Instant) -> bool {
        self.tokens(now) >= 1.0
    }

    fn spend(&mut self, now: Instant) {
        *self = Self { limit: self.limit, tokens: self.tokens(now) - 1.0, at: now };
    }
}

/// Whose bucket it is. Warnings have their own: a flood of new objects, of which each is good news, must not silence what
/// people should look at.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Payer {
    cluster: ClusterName,
    /// A namespace without a name, or a name without a namespace; `None` is the cluster itself.
    share: Option<ObjectKey>,
    warning: bool,
}

/// What may be sent to all clusters.
#[derive(Debug, Default)]
pub(super) struct Budget {
    buckets: HashMap<Payer, Bucket>,
}

impl Budget {
    /// Whether an Event may be sent now; if so, it is counted.
    pub(super) fn take(&mut self, regarding: &Regarding, note: &Note, now: Instant) -> bool {
        if self.buckets.len() >= KEPT {
            self.buckets.retain(|_, bucket| bucket.tokens(now) < bucket.limit.burst);
        }
        let key = &regarding.key;
        let name = if key.namespace.is_empty() { &*key.name } else { "" };
        let share = ObjectKey::new(&*key.namespace, name);
        let payer = |share| Payer { cluster: regarding.cluster.clone(), share, warning: note.warning };
        let payers = [(payer(Some(share)), SHARE), (payer(None), CLUSTER)];
        // Where one has none, nobody pays, and none begins to be kept: a cluster's bucket bounds how many shares there are.
        if payers.iter().any(|(payer, _)| self.buckets.get(payer).is_some_and(|bucket| !bucket.has_one(now))) {
            return false;
        }
        for (payer, limit) in payers {
            self.buckets.entry(payer).or_insert_with(|| Bucket::full(limit, now)).spend(now);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use runtime_effect::kind::Kind;

    use super::*;

    fn about(namespace: &str, name: &str) -> Regarding {
        let kind = Kind::core("Thing");
        Regarding::new(&ClusterName::consumer("c"), kind, &ObjectKey::new(namespace, name), "u")
    }

    fn news() -> Note {
        Note::normal("Placed", "there")
    }

    #[test]
    fn a_flood_in_one_namespace_is_cut_and_silences_neither_another_nor_warnings() {
        let (mut budget, now) = (Budget::default(), Instant::now());
        let flood = (0..1000).filter(|number| budget.take(&about("loud", &number.to_string()), &news(), now)).count();
        assert_eq!(flood, 30);
        assert!(budget.take(&about("loud", "x"), &Note::warning("Refused", "no"), now), "warnings have their own");
        assert!(budget.take(&about("quiet", "x"), &news(), now), "a neighbour has its own");
        let later = now + Duration::from_secs(1);
        let more = (0..1000).filter(|number| budget.take(&about("loud", &number.to_string()), &news(), later)).count();
        assert_eq!(more, 5, "a second later");
    }

    #[test]
    fn what_is_in_no_namespace_is_a_share_each() {
        let (mut budget, now) = (Budget::default(), Instant::now());
        let of = |budget: &mut Budget, name| (0..100).filter(|_| budget.take(&about("", name), &news(), now)).count();
        assert_eq!((of(&mut budget, "one"), of(&mut budget, "other")), (30, 30));
    }

    #[test]
    fn many_namespaces_together_do_not_flood_a_cluster() {
        let (mut budget, now) = (Budget::default(), Instant::now());
        let sent = (0..5000).filter(|number| budget.take(&about(&number.to_string(), "x"), &news(), now)).count();
        assert_eq!(sent, 300);
        assert_eq!(budget.buckets.len(), 301, "who is sent nothing is not kept");
        let elsewhere = Regarding { cluster: ClusterName::consumer("d"), ..about("1", "x") };
        assert!(budget.take(&elsewhere, &news(), now), "another cluster has its own");
    }

    #[test]
    fn buckets_that_are_full_again_are_let_go() {
        let (mut budget, mut now) = (Budget::default(), Instant::now());
        for number in 0..10_000 {
            budget.take(&about(&number.to_string(), "x"), &news(), now);
            now += Duration::from_secs(1);
        }
        assert!(budget.buckets.len() <= KEPT + 2, "{}", budget.buckets.len());
        let flood = (0..100).filter(|_| budget.take(&about("9999", "x"), &news(), now)).count();
        assert_eq!(flood, 30);
        assert!(!budget.take(&about("9999", "x"), &news(), now), "one that is in use is kept");
    }
}
