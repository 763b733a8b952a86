//! `maker`: who made a Migration.

use super::{known::Known, moved_origin::MovedOrigin};
use crate::{assignment::Maker, migration_object, movement::Moving, snapshot::OriginKey};

/// Whether a Migration is where, and is called as, the broker makes it for this move.
fn is_for(known: &Known, origin: &OriginKey, uid: &str, moving: &Moving) -> bool {
    let sides = (&known.view.from, &known.view.to) == (&moving.from, &moving.to);
    sides
        && known.key.namespace == origin.namespace
        && *known.key.name == *migration_object::name(origin, uid, moving.epoch)
}

/// Who made a Migration. What bears no mark, and is to the letter what the move that is under way waits for, is the
/// broker's: an earlier release signed none, and somebody may have taken the mark away.
pub fn maker(known: &Known, about: &MovedOrigin, moving: impl FnOnce(&OriginKey) -> Option<Moving>) -> Maker {
    let (Maker::Person, MovedOrigin::Known(origin, uid)) = (known.maker(), about) else { return known.maker() };
    let own = moving(origin).filter(|moving| is_for(known, origin, uid, moving));
    own.map_or(Maker::Person, |moving| Maker::Broker(moving.epoch))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use broker_api::ClusterName;
    use runtime_effect::kind::Kind;
    use serde_json::json;

    use super::*;
    use crate::{
        migration::known::tests::{migration, ours},
        movement::Phase,
    };

    fn origin() -> OriginKey {
        let kind =
            Kind { group: "example.platform-mesh.io".into(), version: "v1alpha1".into(), kind: "Certificate".into() };
        let cluster = ClusterName::consumer("homer");
        OriginKey { cluster, gvk: Arc::new(kind), namespace: "n".into(), name: "cert".into() }
    }

    fn moving(to: &str, epoch: u64) -> Moving {
        Moving {
            from: ClusterName::provider("one"),
            to: ClusterName::provider(to),
            epoch,
            migration: None,
            phase: Phase::Ready,
            waits_for: String::new(),
        }
    }

    fn named(namespace: &str) -> Known {
        let name = migration_object::name(&origin(), "1", 7);
        migration(&json!({"metadata": {"name": name, "namespace": namespace}}))
    }

    #[test]
    fn what_the_move_under_way_waits_for_is_the_brokers() {
        let origin = origin();
        assert!(is_for(&named("n"), &origin, "1", &moving("two", 7)));
        assert!(!is_for(&named("m"), &origin, "1", &moving("two", 7)));
        assert!(!is_for(&named("n"), &origin, "2", &moving("two", 7)));
        assert!(!is_for(&named("n"), &origin, "1", &moving("three", 7)));
        assert!(!is_for(&named("n"), &origin, "1", &moving("two", 8)));
        assert!(!is_for(&migration(&json!({})), &origin, "1", &moving("two", 7)));
    }

    #[test]
    fn what_is_proven_counts_before_what_it_looks_like() {
        let about = MovedOrigin::Known(origin(), "1".into());
        let now = |epoch| move |_: &OriginKey| Some(moving("two", epoch));
        assert_eq!(maker(&named("n"), &about, now(7)), Maker::Broker(7));
        assert_eq!(maker(&named("n"), &about, now(8)), Maker::Person);
        assert_eq!(maker(&named("n"), &about, |_| None), Maker::Person);
        assert_eq!(maker(&named("n"), &MovedOrigin::Unknown, now(7)), Maker::Person);
        assert_eq!(maker(&ours(7), &about, now(8)), Maker::Broker(7));
    }
}
