//! What is to be done about the CRD of an RGD in one spoke: a pure function of what is there and of the revision that the
//! rollout assigns.
//!
//! That CRD is the record of what the spoke runs: one write changes the schema and what is said of the revision.

mod leave;
mod mark;

use broker_api::graphs::keys;
use runtime_effect::{kind::Kind, seen::Seen, view::View, write::Op};
use serde_json::Value;

pub use self::{
    leave::{Departure, Leaving, Subject, Write, is_held, leave},
    mark::mark,
};
use crate::{
    crd::{self, Owner, Verdict, is_owned, text_at},
    definition::{is_established, names_taken},
    labels,
    rollout::{Mark, Reason, Trouble},
};

/// All that one decision looks at.
#[derive(Debug, Clone, Copy)]
pub struct Snapshot<'a> {
    /// The CRD of this name in the spoke, whoever made it.
    pub crd: &'a Seen,
    /// The CRD of the revision that is assigned, as [`crate::crd::desired`] makes it.
    pub wanted: &'a Value,
    /// The RGD.
    pub owner: Owner<'a>,
    /// 12 hexadecimal digits that tell this hub from others.
    pub hub: &'a str,
    /// What is to be said of the revision. Of one that the spoke runs already, what is said there counts.
    pub mark: &'a Mark,
    /// Whether the RGD says that breaking changes go through.
    pub allow_breaking: bool,
    /// Kinds of the graph that the spoke does not serve, where that is known.
    pub missing: &'a [Kind],
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// Nobody can tell.
    Unknown,
    /// Nothing: it is as it is to be.
    Keep {
        /// Its kind is served.
        established: bool,
    },
    /// This write.
    Write(Op),
    /// Nothing may be written.
    Refuse(Trouble),
}

/// What is to be done about the CRD in this spoke.
pub fn decide(snapshot: &Snapshot<'_>) -> Decision {
    let refuse =
        |reason, message: String| Decision::Refuse(Trouble { revision: snapshot.mark.revision, reason, message });
    let held = match snapshot.crd {
        Seen::Unknown => return Decision::Unknown,
        Seen::Absent => None,
        Seen::Present(held) => Some(held),
    };
    if let Some(why) = held.and_then(|held| conflict(held, snapshot)) {
        return refuse(Reason::Conflict, why);
    }
    let name = text_at(snapshot.wanted, "/metadata/name");
    let Some(held) = held else {
        // Nobody is to make instances of which nothing can come.
        return match snapshot.missing {
            [first, ..] => refuse(Reason::KindMissing, missing(first)),
            [] => Decision::Write(Op::Create(mark::marked(snapshot, None))),
        };
    };
    if held.deleting {
        let why = format!("CRD {name} is being deleted; it is made again once it is gone");
        return refuse(Reason::NotEstablished, why);
    }
    if let Some(unread) = held.unread {
        return refuse(Reason::ApplyRefused, format!("CRD {name}: {}", unread.why()));
    }
    if let [first, ..] = snapshot.missing
        && mark(held, snapshot.owner.uid, snapshot.hub).is_none_or(|mark| mark.revision != snapshot.mark.revision)
    {
        // What is there stays as it is, and its instances say it themselves.
        return refuse(Reason::KindMissing, missing(first));
    }
    let wanted = mark::marked(snapshot, Some(held));
    match crd::change(&held.value, &wanted, snapshot.allow_breaking) {
        Verdict::Refuse(why) => refuse(Reason::BreakingChange, why),
        Verdict::Keep if is_established(held) => Decision::Keep { established: true },
        Verdict::Keep => match names_taken(held) {
            Some(why) => refuse(Reason::NotEstablished, why),
            None => Decision::Keep { established: false },
        },
        Verdict::Create | Verdict::Update(_) => Decision::Write(crd::update(held, &wanted)),
    }
}

fn missing(kind: &Kind) -> String {
    format!("kind {} of {} is not served there", kind.kind, kind.api_version())
}

/// Why a CRD must not be touched.
fn conflict(held: &View, snapshot: &Snapshot<'_>) -> Option<String> {
    let name = text_at(snapshot.wanted, "/metadata/name");
    let hub = held.label(keys::HUB);
    if hub.is_none() && !is_owned(&held.value) {
        return Some(format!("CRD {name} is there and was not made by a graphs controller"));
    }
    let (rgd, whole) = (snapshot.owner.name, format!("{}/{}", snapshot.hub, snapshot.owner.name));
    let named = held.annotation(keys::RGD_NAME).or_else(|| held.label(keys::RGD_NAME)).unwrap_or_default();
    let (owner, claim) = match hub {
        // Of ours: whatever else somebody edited is put right.
        Some(hub) if hub == snapshot.hub && held.label(keys::RGD_NAME) == Some(&*labels::value(rgd).value) => {
            return None;
        }
        // Two of one hub would take it from each other for ever, were it handed over to the hub.
        Some(hub) if hub == snapshot.hub => (format!("ResourceGraphDefinition {named:?} of this hub"), &*whole),
        Some(hub) => (format!("hub {hub}"), snapshot.hub),
        None => ("a controller in that cluster".to_owned(), snapshot.hub),
    };
    if held.annotation(keys::CLAIM).is_some_and(|held| held == claim || held == whole) {
        return None;
    }
    let remedy = format!("annotation {}: {claim} on it, set there by its owner, hands it over", keys::CLAIM);
    Some(format!("CRD {name} is that of {owner}; {remedy}"))
}
