//! `Standing`: how an origin stood after its last decision, and what that says of the Migrations about it.

use runtime_effect::object_key::ObjectKey;

use super::{known::Known, moved_origin::MovedOrigin};
use crate::{
    decision::{Decision, State},
    movement::{Movement, Moving, Request},
    snapshot::OriginKey,
};

/// How an origin stood after its last decision.
#[derive(Debug, Clone, Copy, Default)]
pub struct Standing<'a> {
    /// Its state.
    pub state: State,
    /// The move that is under way.
    pub moving: Option<&'a Moving>,
    /// What was said of Migrations (`namespace/name`) that are not under way.
    pub requests: &'a [(String, Request)],
}

/// What is held of an origin's move takes in a decision. What holds the origin up is decided before its move is looked at:
/// what was said of it before is so still.
pub fn take_in(decision: &Decision, moving: &mut Option<Box<Moving>>, requests: &mut Vec<(String, Request)>) {
    if !decision.is_held_up() {
        *moving = decision.moving.clone().map(Box::new);
        requests.clone_from(&decision.requests);
    }
}

/// Who bears an origin's name in its consumer cluster now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bearer {
    /// That is not known.
    Unknown,
    /// Nobody.
    Nobody,
    /// The object with this uid.
    Object(Box<str>),
}

/// What is known of the move that a Migration is about: by who bears the name of its origin, then by what the origin's
/// last decision said, if there was one.
pub fn movement(
    known: &Known,
    about: &MovedOrigin,
    bearer: impl FnOnce(&OriginKey) -> Bearer,
    said: impl FnOnce(&OriginKey) -> Option<Movement>,
) -> Movement {
    let (origin, uid) = match about {
        MovedOrigin::Unknown => return Movement::Unknown,
        MovedOrigin::Refused(reason, why) => return Movement::Refused(reason, why.clone()),
        MovedOrigin::Known(origin, uid) => (origin, uid),
    };
    let gone = || Standing { state: State::Gone, ..Standing::default() }.movement(known);
    match bearer(origin) {
        Bearer::Unknown => Movement::Unknown,
        Bearer::Nobody => gone(),
        // Recreated under its name: another object.
        Bearer::Object(other) if other != *uid => gone(),
        Bearer::Object(_) => said(origin).unwrap_or_default(),
    }
}

impl Standing<'_> {
    /// What was said of a Migration that asks for a move.
    fn request(&self, migration: &ObjectKey) -> Option<&Request> {
        let name = migration.to_string();
        self.requests.iter().find(|(asked, _)| *asked == name).map(|(_, request)| request)
    }

    /// What the origin's last decision says of this Migration.
    pub fn movement(&self, known: &Known) -> Movement {
        let view = &known.view;
        match self.state {
            State::Unknown => return Movement::Unknown,
            State::Gone => return Movement::Over("OriginGone", "the object that moved is gone".into()),
            State::Deleting => return Movement::Over("OriginDeleted", "the object that moved is being deleted".into()),
            _ => {}
        }
        let request = self.request(&known.key);
        // Another's move between the same providers is not its own.
        if let Some(Request::Waits(why)) = request {
            return Movement::Waits(why.clone());
        }
        let alike = self.moving.filter(|moving| moving.from == view.from && moving.to == view.to);
        if let Some(moving) = alike {
            let its = match (&moving.migration, view.by_person) {
                (_, false) => known.epoch() == Some(moving.epoch),
                // The origin has not been decided on since this one was made.
                (Some(first), true) if *first != known.key.to_string() => {
                    return Movement::Waits(format!("for Migration {first} to end"));
                }
                (Some(_), true) => true,
                // Whose it is has not been told yet: one that has begun goes on, and none begins.
                (None, true) => !known.is_new(),
            };
            if its {
                return Movement::Underway(moving.clone());
            }
        }
        if let Some(Request::Refused(reason, why)) = request {
            return Movement::Refused(reason, why.clone());
        }
        // What holds the object up is decided before its move is looked at.
        let held_up = matches!(self.state, State::Paused | State::Blocked | State::Ignored);
        if held_up && self.moving.is_none() {
            return Movement::Unknown;
        }
        // The origin may not have been decided on since a person made this one.
        if view.by_person && known.is_new() {
            return Movement::Unknown;
        }
        let why = match self.moving {
            Some(moving) => format!("the object moves from {} to {} now", moving.from.name(), moving.to.name()),
            None => format!("the object no longer moves to {}", view.to.name()),
        };
        Movement::Over("Superseded", why)
    }
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

    /// What an origin in this state says of a Migration that asks for a move.
    fn said(known: &Known, state: State, moving: Option<&Moving>, request: Option<Request>) -> Movement {
        let mut requests = vec![("n/other".to_owned(), Request::Waits("another's".into()))];
        requests.extend(request.map(|request| (known.key.to_string(), request)));
        Standing { state, moving, requests: &requests }.movement(known)
    }

    #[test]
    fn the_brokers_own_is_about_the_move_of_its_epoch_only() {
        let now = moving("two", 7);
        let said = |epoch, state, moving| said(&ours(epoch), state, moving, None);
        assert!(matches!(said(7, State::Moving, Some(&now)), Movement::Underway(_)));
        assert!(matches!(said(6, State::Moving, Some(&now)), Movement::Over("Superseded", _)));
        let elsewhere = moving("three", 7);
        assert!(matches!(said(7, State::Moving, Some(&elsewhere)), Movement::Over("Superseded", _)));
        assert!(matches!(said(7, State::Served, None), Movement::Over("Superseded", _)));
    }

    #[test]
    fn a_persons_is_the_move_that_is_made_for_it() {
        let person = migration(&json!({}));
        let now = Moving { migration: Some(person.key.to_string()), ..moving("two", 7) };
        let said = |state, moving, request| said(&person, state, moving, request);
        assert!(matches!(said(State::Moving, Some(&now), None), Movement::Underway(_)));
        let elsewhere = Moving { to: ClusterName::provider("three"), ..now.clone() };
        assert_eq!(said(State::Moving, Some(&elsewhere), None), Movement::Unknown, "it was edited");
        let first = Some(Request::Waits("the first".into()));
        let other = said(State::Moving, Some(&now), first);
        assert_eq!(other, Movement::Waits("the first".into()), "another's move is not its own");
        let waits = said(State::Served, None, Some(Request::Waits("room".into())));
        assert_eq!(waits, Movement::Waits("room".into()));
        let refused = said(State::Served, None, Some(Request::Refused("NotAccepted", "no".into())));
        assert_eq!(refused, Movement::Refused("NotAccepted", "no".into()));
    }

    /// The origin has not been decided on since the second was made, and moves between the same providers for the first.
    #[test]
    fn anothers_move_between_the_same_providers_begins_no_stages() {
        let second = migration(&json!({}));
        let begun = migration(&json!({"status": {"state": "InitialInProgress"}}));
        let firsts = Moving { migration: Some("n/first".into()), ..moving("two", 7) };
        for known in [&second, &begun] {
            let told = said(known, State::Moving, Some(&firsts), None);
            assert_eq!(told, Movement::Waits("for Migration n/first to end".into()));
        }
        // The broker's own move, or whose it is has not been told.
        let nobodys = moving("two", 7);
        assert_eq!(said(&second, State::Moving, Some(&nobodys), None), Movement::Unknown);
        assert!(matches!(said(&begun, State::Moving, Some(&nobodys), None), Movement::Underway(_)));
        let ours = said(&ours(7), State::Moving, Some(&firsts), None);
        assert!(matches!(ours, Movement::Underway(_)), "by its epoch: {ours:?}");
    }

    #[test]
    fn a_persons_is_not_over_before_its_origin_was_decided_on() {
        assert_eq!(said(&migration(&json!({})), State::Served, None, None), Movement::Unknown);
        let begun = migration(&json!({"status": {"state": "InitialInProgress"}}));
        assert!(matches!(said(&begun, State::Served, None, None), Movement::Over("Superseded", _)));
    }

    #[test]
    fn what_is_only_held_up_is_not_over() {
        for state in [State::Unknown, State::Paused, State::Blocked, State::Ignored] {
            assert_eq!(said(&ours(7), state, None, None), Movement::Unknown, "{state:?}");
        }
        assert!(matches!(said(&ours(7), State::Gone, None, None), Movement::Over("OriginGone", _)));
        let deleting = said(&ours(7), State::Deleting, Some(&moving("two", 7)), None);
        assert!(matches!(deleting, Movement::Over("OriginDeleted", _)));
    }

    #[test]
    fn a_decision_that_is_held_up_says_nothing_new_of_the_move() {
        let (mut held, mut requests) = (None, Vec::new());
        let asked = vec![("n/m".to_owned(), Request::Waits("room".into()))];
        let moves =
            Decision { moving: Some(moving("two", 7)), requests: asked.clone(), ..Decision::state(State::Moving) };
        take_in(&moves, &mut held, &mut requests);
        assert_eq!((held.as_deref(), &requests), (moves.moving.as_ref(), &asked));
        take_in(&Decision::state(State::Paused), &mut held, &mut requests);
        assert_eq!((held.as_deref(), &requests), (moves.moving.as_ref(), &asked));
        take_in(&Decision::state(State::Served), &mut held, &mut requests);
        assert_eq!((held, requests), (None, Vec::new()));
    }

    #[test]
    fn an_origin_that_is_not_there_any_more_says_nothing() {
        let kind = Kind { group: "g".into(), version: "v1".into(), kind: "K".into() };
        let (cluster, gvk) = (ClusterName::consumer("homer"), Arc::new(kind));
        let about =
            MovedOrigin::Known(OriginKey { cluster, gvk, namespace: "n".into(), name: "cert".into() }, "1".into());
        let waits = || Movement::Waits("room".into());
        let seen = |bearer| movement(&ours(7), &about, |_| bearer, |_| Some(waits()));
        assert_eq!(seen(Bearer::Object("1".into())), waits());
        assert_eq!(seen(Bearer::Unknown), Movement::Unknown);
        assert!(matches!(seen(Bearer::Nobody), Movement::Over("OriginGone", _)));
        assert!(matches!(seen(Bearer::Object("2".into())), Movement::Over("OriginGone", _)), "another of its name");
        let undecided = movement(&ours(7), &about, |_| Bearer::Object("1".into()), |_| None);
        assert_eq!(undecided, Movement::Unknown);
        let of = |about: &MovedOrigin| movement(&ours(7), about, |_| panic!("looked"), |_| panic!("asked"));
        assert_eq!(of(&MovedOrigin::Unknown), Movement::Unknown);
        assert_eq!(of(&MovedOrigin::Refused("No", "why".into())), Movement::Refused("No", "why".into()));
    }
}
