//! `Overview`: how many Migrations there are of what, and those of them that are worth a look.

use std::{cmp::Reverse, collections::BTreeMap};

use broker_api::MigrationState;
use runtime_fleet::object::ObjectKey;

use super::Migrations;

/// See the module.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overview {
    /// How many there are in each state that any is in.
    pub states: BTreeMap<MigrationState, usize>,
    /// At most so many as were asked for: those under way, then those that failed, then the others; of each the newest first.
    pub first: Vec<ObjectKey>,
    /// How many more there are.
    pub more: usize,
}

/// What is looked at first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    UnderWay,
    Failed,
    Done,
}

fn rank(state: MigrationState) -> Rank {
    match state {
        MigrationState::Failed => Rank::Failed,
        MigrationState::CutoverCompleted => Rank::Done,
        _ => Rank::UnderWay,
    }
}

impl Migrations {
    /// How they stand, and at most so many of them.
    pub fn overview(&self, most: usize) -> Overview {
        let inner = self.lock();
        let mut states: BTreeMap<MigrationState, usize> = BTreeMap::new();
        let entries = inner.book.iter();
        let mut all: Vec<(Rank, Reverse<u64>, &ObjectKey)> = Vec::with_capacity(entries.len());
        for (key, entry) in entries {
            let view = &entry.known().view;
            *states.entry(view.state).or_default() += 1;
            all.push((rank(view.state), Reverse(view.created), key));
        }
        let more = all.len().saturating_sub(most);
        if more > 0 {
            // There may be thousands: they are not all put in order.
            all.select_nth_unstable(most);
            all.truncate(most);
        }
        all.sort_unstable();
        Overview { states, first: all.into_iter().map(|(_, _, key)| key.clone()).collect(), more }
    }
}

#[cfg(test)]
mod tests {
    use broker_api::ClusterName;
    use broker_core::{
        migration::{
            known::{Known, Side},
            moved_origin::MovedOrigin,
        },
        movement::MigrationView,
    };
    use runtime_effect::kind::Kind;

    use super::*;

    fn known(name: &str, state: MigrationState, created: u64) -> Known {
        let key = ObjectKey::new("n", name);
        let [from, to] = ["one", "two"].map(|provider| Side {
            provider: ClusterName::provider(provider),
            kind: Kind::core("ConfigMap"),
            key: ObjectKey::new("n", "a8b70b353e97-x"),
        });
        Known {
            key: key.clone(),
            uid: name.into(),
            view: MigrationView {
                namespace: key.namespace.to_string(),
                name: key.name.to_string(),
                by_person: false,
                from: from.provider.clone(),
                to: to.provider.clone(),
                force: false,
                state,
                deleting: false,
                aborted: false,
                created,
                ended: None,
            },
            from,
            to,
            held: false,
            id: None,
            carried: None,
            judged: true,
        }
    }

    #[test]
    fn those_under_way_come_first_and_all_are_counted() {
        let all = Migrations::default();
        let of = [
            ("done", MigrationState::CutoverCompleted, 9),
            ("failed", MigrationState::Failed, 8),
            ("old", MigrationState::Pending, 1),
            ("new", MigrationState::CutoverInProgress, 7),
        ];
        for (name, state, created) in of {
            let known = known(name, state, created);
            all.update(&known.key.clone(), Some((known, MovedOrigin::Unknown)));
        }
        let names = |most| {
            let overview = all.overview(most);
            assert_eq!((overview.states.len(), overview.first.len() + overview.more), (4, 4));
            overview.first.iter().map(|key| key.name.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(names(10), ["new", "old", "failed", "done"]);
        assert_eq!(names(4), ["new", "old", "failed", "done"]);
        assert_eq!(names(2), ["new", "old"]);
        assert_eq!(names(0), [""; 0]);
    }
}
