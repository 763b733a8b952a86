//! `movement`: what an origin's last decision says of a Migration.

use broker_core::{
    decision::State,
    movement::{Movement, Moving, Request},
};

use super::known::Known;

/// How an origin stood after its last decision.
#[derive(Debug, Clone, Default)]
pub struct Standing {
    /// Its state.
    pub state: State,
    /// The move that is under way.
    pub moving: Option<Moving>,
    /// What was said of the Migration that is asked for.
    pub request: Option<Request>,
}

/// What the origin's last decision says of this Migration.
pub fn movement(known: &Known, standing: &Standing) -> Movement {
    let view = &known.view;
    match standing.state {
        State::Unknown => return Movement::Unknown,
        State::Gone => return Movement::Over("OriginGone", "the object that moved is gone".into()),
        State::Deleting => return Movement::Over("OriginDeleted", "the object that moved is being deleted".into()),
        _ => {}
    }
    // Another's move between the same providers is not its own.
    if let Some(Request::Waits(why)) = &standing.request {
        return Movement::Waits(why.clone());
    }
    if let Some(moving) = &standing.moving {
        let its =
            moving.from == view.from && moving.to == view.to && (view.by_person || known.epoch() == Some(moving.epoch));
        if its {
            return Movement::Underway(moving.clone());
        }
    }
    if let Some(Request::Refused(reason, why)) = &standing.request {
        return Movement::Refused(reason, why.clone());
    }
    // What holds the object up is decided before its move is looked at.
    let held_up = matches!(standing.state, State::Paused | State::Blocked | State::Ignored);
    if held_up && standing.moving.is_none() {
        return Movement::Unknown;
    }
    // The origin may not have been decided on since a person made this one.
    if view.by_person && known.is_new() {
        return Movement::Unknown;
    }
    let why = match &standing.moving {
        Some(moving) => format!("the object moves from {} to {} now", moving.from.name(), moving.to.name()),
        None => format!("the object no longer moves to {}", view.to.name()),
    };
    Movement::Over("Superseded", why)
}

#[cfg(test)]
mod tests {
    use broker_api::ClusterName;
    use broker_core::movement::Phase;
    use serde_json::json;

    use super::*;
    use crate::migrations::known::tests::{migration, ours};

    fn moving(to: &str, epoch: u64) -> Moving {
        Moving {
            from: ClusterName::provider("one"),
            to: ClusterName::provider(to),
            epoch,
            phase: Phase::Ready,
            waits_for: String::new(),
        }
    }

    fn standing(state: State, moving: Option<Moving>, request: Option<Request>) -> Standing {
        Standing { state, moving, request }
    }

    #[test]
    fn the_brokers_own_is_about_the_move_of_its_epoch_only() {
        let now = standing(State::Moving, Some(moving("two", 7)), None);
        assert!(matches!(movement(&ours(7), &now), Movement::Underway(_)));
        assert!(matches!(movement(&ours(6), &now), Movement::Over("Superseded", _)));
        let elsewhere = standing(State::Moving, Some(moving("three", 7)), None);
        assert!(matches!(movement(&ours(7), &elsewhere), Movement::Over("Superseded", _)));
        assert!(matches!(movement(&ours(7), &standing(State::Served, None, None)), Movement::Over("Superseded", _)));
    }

    #[test]
    fn a_persons_is_whatever_moves_between_its_providers() {
        let person = migration(&json!({}));
        let now = standing(State::Moving, Some(moving("two", 7)), None);
        assert!(matches!(movement(&person, &now), Movement::Underway(_)));
        let other = standing(State::Moving, Some(moving("two", 7)), Some(Request::Waits("the first".into())));
        assert_eq!(movement(&person, &other), Movement::Waits("the first".into()), "another's move is not its own");
        let waits = standing(State::Served, None, Some(Request::Waits("room".into())));
        assert_eq!(movement(&person, &waits), Movement::Waits("room".into()));
        let refused = standing(State::Served, None, Some(Request::Refused("NotAccepted", "no".into())));
        assert_eq!(movement(&person, &refused), Movement::Refused("NotAccepted", "no".into()));
    }

    #[test]
    fn a_persons_is_not_over_before_its_origin_was_decided_on() {
        let served = standing(State::Served, None, None);
        assert_eq!(movement(&migration(&json!({})), &served), Movement::Unknown);
        let begun = migration(&json!({"status": {"state": "InitialInProgress"}}));
        assert!(matches!(movement(&begun, &served), Movement::Over("Superseded", _)));
    }

    #[test]
    fn what_is_only_held_up_is_not_over() {
        for state in [State::Unknown, State::Paused, State::Blocked, State::Ignored] {
            assert_eq!(movement(&ours(7), &standing(state, None, None)), Movement::Unknown, "{state:?}");
        }
        assert!(matches!(movement(&ours(7), &standing(State::Gone, None, None)), Movement::Over("OriginGone", _)));
        let deleting = standing(State::Deleting, Some(moving("two", 7)), None);
        assert!(matches!(movement(&ours(7), &deleting), Movement::Over("OriginDeleted", _)));
    }
}
