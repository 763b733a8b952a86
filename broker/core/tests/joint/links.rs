//! What the binary makes of one machine's state for the other: the rules of its `migrations::{known, origin, movement}` and
//! of its records, written apart from them.

use broker_api::{ClusterName, Migration, MigrationState, keys, migration::millis_of};
use broker_core::{
    assignment::{Errand, KeyRing, Maker},
    copy,
    decision::{Decision, State},
    movement::{MigrationView, Movement, Moving, Request},
    snapshot::OriginKey,
};
use runtime_effect::seen::Seen;
use serde_json::Value;

use crate::shared::world::{World, web};

/// An origin as its last decision left it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Record {
    pub(crate) state: State,
    pub(crate) moving: Option<Moving>,
    pub(crate) requests: Vec<(String, Request)>,
}

impl Record {
    /// Takes a decision in. What holds the origin up says nothing new of its move.
    pub(crate) fn absorb(record: &mut Option<Self>, decision: &Decision) {
        if decision.state == State::Gone && decision.steps.is_empty() {
            *record = None;
            return;
        }
        let record = record.get_or_insert_with(Self::default);
        if !decision.is_held_up() {
            record.moving.clone_from(&decision.moving);
            record.requests.clone_from(&decision.requests);
        }
        record.state = decision.state;
    }
}

/// Which origin a Migration is about.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum About {
    Unknown,
    Origin(Box<str>),
    Refused(&'static str, String),
}

/// A Migration as it was read.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub(crate) view: MigrationView,
    /// uid of the origin that its annotations name, if they are signed.
    pub(crate) carried: Option<Box<str>>,
    pub(crate) maker: Maker,
}

impl Known {
    pub(crate) fn parse(value: &Value, ring: &KeyRing) -> Self {
        let Migration { metadata, spec, status } = serde_json::from_value(value.clone()).unwrap();
        let status = status.unwrap_or_default();
        let annotation = |key: &str| metadata.annotations.as_ref()?.get(key).cloned();
        let (namespace, name) = (metadata.namespace.clone().unwrap(), metadata.name.clone().unwrap());
        let uid = annotation(keys::CONSUMER_UID);
        let proven = uid.as_ref().zip(annotation(keys::ORIGIN)).and_then(|(uid, text)| {
            let errand = Errand {
                namespace: &namespace,
                name: &name,
                uid: metadata.uid.as_deref().unwrap_or_default(),
                from: &spec.from.cluster_name,
                to: &spec.to.cluster_name,
            };
            ring.verify_migration(&web().subject(uid), &errand, &text)
        });
        let created = metadata.creation_timestamp.as_ref().map_or(0, millis_of);
        let ended = matches!(status.state, MigrationState::CutoverCompleted | MigrationState::Failed);
        let turned = status.conditions.iter().map(|condition| millis_of(&condition.last_transition_time)).max();
        let view = MigrationView {
            namespace: namespace.clone(),
            name: name.clone(),
            by_person: !matches!(proven, Some(Maker::Broker(_))),
            from: ClusterName::provider(spec.from.cluster_name.as_str()),
            to: ClusterName::provider(spec.to.cluster_name.as_str()),
            force: spec.force,
            state: status.state,
            deleting: metadata.deletion_timestamp.is_some(),
            aborted: spec.abort,
            created,
            ended: ended.then(|| turned.unwrap_or(created)),
        };
        let carried = uid.filter(|_| proven.is_some()).map(Into::into);
        Self { view, carried, maker: proven.unwrap_or(Maker::Person) }
    }

    fn is_new(&self) -> bool {
        matches!(self.view.state, MigrationState::Unknown | MigrationState::Pending)
    }

    /// The origin that it is about, as far as can be told now.
    pub(crate) fn about(&self, world: &World, others: &[Self]) -> About {
        let view = &self.view;
        // What the broker has taken up carries its origin, whatever became of the copy since.
        if let Some(uid) = &self.carried {
            return About::Origin(uid.clone());
        }
        for side in [&view.from, &view.to] {
            if world.moves.left.contains_key(side) {
                return About::Refused("ProviderUnknown", "it is no provider of this broker".into());
            }
        }
        match world.servers[&view.from].seen(&World::copy_at(&web())) {
            Seen::Unknown => About::Unknown,
            Seen::Present(copy) => {
                let uid = copy
                    .annotation(keys::CONSUMER_UID)
                    .filter(|uid| copy::signed_origin(&web(), uid, &view.from, &copy, &world.ring).is_some());
                uid.map_or_else(|| self.no_copy(others), |uid| About::Origin(uid.into()))
            }
            Seen::Absent => self.no_copy(others),
        }
    }

    /// The copy that it names is not there: unless it is being made, it is refused.
    fn no_copy(&self, others: &[Self]) -> About {
        let makes = |other: &&Self| {
            other.view.name != self.view.name
                && !other.view.has_ended()
                && other.view.to == self.view.from
                && (other.view.created, &other.view.name) < (self.view.created, &self.view.name)
        };
        match others.iter().find(makes) {
            Some(_) => About::Unknown,
            None => About::Refused("FromIsNoCopy", "there is no such copy".into()),
        }
    }

    /// What the origin's last decision says of it.
    pub(crate) fn movement(&self, record: &Record) -> Movement {
        let view = &self.view;
        match record.state {
            State::Unknown => return Movement::Unknown,
            State::Gone => return Movement::Over("OriginGone", "the object that moved is gone".into()),
            State::Deleting => return Movement::Over("OriginDeleted", "the object that moved is being deleted".into()),
            _ => {}
        }
        let name = format!("{}/{}", view.namespace, view.name);
        let request = record.requests.iter().find(|(asked, _)| *asked == name).map(|(_, request)| request);
        if let Some(Request::Waits(why)) = request {
            return Movement::Waits(why.clone());
        }
        if let Some(moving) = &record.moving {
            let its = match self.maker {
                Maker::Broker(epoch) => epoch == moving.epoch,
                Maker::Person => true,
            };
            if moving.from == view.from && moving.to == view.to && its {
                return Movement::Underway(moving.clone());
            }
        }
        if let Some(Request::Refused(reason, why)) = request {
            return Movement::Refused(reason, why.clone());
        }
        let held_up = matches!(record.state, State::Paused | State::Blocked | State::Ignored);
        if held_up && record.moving.is_none() || view.by_person && self.is_new() {
            return Movement::Unknown;
        }
        Movement::Over("Superseded", format!("there is another: {:?}", record.moving))
    }

    /// What is known of its move: the origin itself first, then its record.
    pub(crate) fn seen(&self, about: &About, world: &World, key: &OriginKey, record: Option<&Record>) -> Movement {
        let uid = match about {
            About::Unknown => return Movement::Unknown,
            About::Refused(reason, why) => return Movement::Refused(reason, why.clone()),
            About::Origin(uid) => uid,
        };
        let gone = || self.movement(&Record { state: State::Gone, ..Record::default() });
        match world.servers[&key.cluster].seen(&World::origin_at(key)) {
            Seen::Unknown => Movement::Unknown,
            Seen::Absent => gone(),
            Seen::Present(origin) if origin.uid != *uid => gone(),
            Seen::Present(_) => record.map_or(Movement::Unknown, |record| self.movement(record)),
        }
    }
}
