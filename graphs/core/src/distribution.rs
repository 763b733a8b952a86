//! What is to be done about the CRD of an RGD in one spoke: a pure function of what is there and of the revision that the
//! rollout assigns.
//!
//! That CRD is the record of what the spoke runs: one write changes the schema and what is said of the revision.

mod mark;

use broker_api::graphs::keys;
use runtime_effect::{kind::Kind, seen::Seen, view::View, write::Op};
use serde_json::Value;

pub use self::mark::{mark, same_record};
use crate::{
    crd::{self, Owner, Ownership, Verdict, ownership, text_at},
    definition::is_established,
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

fn refuse(reason: Reason, message: impl Into<String>) -> Decision {
    Decision::Refuse(Trouble { reason, message: message.into() })
}

/// What is to be done about the CRD in this spoke.
pub fn decide(snapshot: &Snapshot<'_>) -> Decision {
    let held = match snapshot.crd {
        Seen::Unknown => return Decision::Unknown,
        Seen::Absent => None,
        Seen::Present(held) => Some(held),
    };
    if let Some(why) = held.and_then(|held| conflict(held, snapshot)) {
        return refuse(Reason::Conflict, why);
    }
    if let [first, ..] = snapshot.missing {
        // Nobody is to make instances of which nothing can come; those that are there say it themselves.
        let kind = format!("{} of {}", first.kind, first.api_version());
        return refuse(Reason::KindMissing, format!("kind {kind} is not served there"));
    }
    let name = text_at(snapshot.wanted, "/metadata/name");
    let Some(held) = held else {
        return Decision::Write(Op::Create(mark::marked(snapshot, None)));
    };
    if held.deleting {
        return refuse(
            Reason::NotEstablished,
            format!("CRD {name} is being deleted; it is made again once it is gone"),
        );
    }
    if let Some(unread) = held.unread {
        return refuse(Reason::ApplyRefused, format!("CRD {name}: {}", unread.why()));
    }
    let wanted = mark::marked(snapshot, Some(held));
    match crd::decide(Some(&held.value), &wanted, snapshot.owner, snapshot.allow_breaking) {
        Verdict::Refuse(why) => refuse(Reason::BreakingChange, why),
        Verdict::Keep => Decision::Keep { established: is_established(held) },
        Verdict::Create | Verdict::Update(_) => Decision::Write(crd::update(held, &wanted)),
    }
}

/// Why a CRD must not be touched.
fn conflict(held: &View, snapshot: &Snapshot<'_>) -> Option<String> {
    let name = text_at(snapshot.wanted, "/metadata/name");
    match ownership(&held.value, snapshot.owner) {
        Ownership::Foreign => return Some(format!("CRD {name} is there and was not made by a graphs controller")),
        Ownership::Other(rgd) => return Some(format!("CRD {name} is that of ResourceGraphDefinition {rgd}")),
        Ownership::Ours | Ownership::Adopted => {}
    }
    if held.label(keys::HUB) == Some(snapshot.hub) || held.annotation(keys::CLAIM) == Some(snapshot.hub) {
        return None;
    }
    let whose = match held.label(keys::HUB) {
        Some(hub) => format!("hub {hub}"),
        None => "a controller in that cluster".to_owned(),
    };
    let remedy = format!("annotation {}: {} on it, set there by its owner, hands it over", keys::CLAIM, snapshot.hub);
    Some(format!("CRD {name} is served by {whose}; {remedy}"))
}
