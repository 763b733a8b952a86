//! Why an origin is where it is: the decision, and what every AcceptAPI that speaks of its kind says.

use std::sync::Arc;

use runtime_effect::view::View;
use serde_json::Value;

use super::{Pass, place::Judged};
use crate::{
    acceptance::{AcceptId, Acceptance},
    decision::Decision,
    placement,
    snapshot::Snapshot,
};

/// Why an origin is where it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// What would be done now.
    pub decision: Decision,
    /// What the AcceptAPIs say of it, in the order in which it would be placed anew: those that may get it first, best first.
    pub asked: Vec<Asked>,
}

/// What an AcceptAPI says of an origin.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// Which.
    pub id: AcceptId,
    /// Its priority, as the platform lets it count.
    pub priority: i64,
    /// Its weight among those of its priority.
    pub weight: u32,
    /// Its score among those of its priority: the highest gets the origin.
    pub score: f64,
    /// What it says.
    pub answer: Answer,
}

/// Whether an AcceptAPI may get an origin that is not there yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// It may.
    Accepts,
    /// Its rules refuse it: each of them.
    Refuses(Vec<String>),
    /// It takes nothing new now, or not this one, and why.
    CannotTake(String),
    /// It is not known what it would say, and why.
    Unknown(String),
}

/// An object that is not there yet, as an origin. It has no uid, by which one of several AcceptAPIs of one priority would be
/// chosen.
pub fn proposed(object: Value) -> View {
    View {
        uid: Box::default(),
        resource_version: 0,
        deleting: false,
        applied_by_us: false,
        value: Arc::new(object),
        unread: None,
        conditions_known: true,
    }
}

/// What to do about the snapshot's origin, and why: [`super::decide`] with what it asked. What holds something up is told at once,
/// where a broker at work gives it a moment.
pub fn explain(snapshot: &Snapshot<'_>) -> Explanation {
    let mut pass = Pass { at_once: true, ..Pass::new(snapshot) };
    pass.run();
    let mut asked = Vec::new();
    if let Some(origin) = snapshot.origin.present().filter(|origin| origin.unread.is_none()) {
        let answers = snapshot.acceptances.iter().map(|acceptance| (pass.answer(origin, acceptance), &**acceptance));
        let (fit, unfit): (Vec<_>, Vec<_>) =
            answers.collect::<Vec<_>>().into_iter().partition(|(answer, _)| *answer == Answer::Accepts);
        let fit: Vec<&Acceptance> = fit.into_iter().map(|(_, acceptance)| acceptance).collect();
        let one = |answer, acceptance: &Acceptance| Asked {
            id: acceptance.id.clone(),
            priority: acceptance.priority,
            weight: acceptance.weight,
            score: placement::score(&origin.uid, acceptance),
            answer,
        };
        let ranked = pass.ranked(origin, &fit);
        // Of several of one provider the best counts; the others accept it, too.
        let behind = fit.iter().filter(|acceptance| !ranked.iter().any(|ranked| ranked.id == acceptance.id)).copied();
        asked.extend(ranked.iter().copied().chain(behind).map(|acceptance| one(Answer::Accepts, acceptance)));
        asked.extend(unfit.into_iter().map(|(answer, acceptance)| one(answer, acceptance)));
    }
    Explanation { decision: pass.decision, asked }
}

impl<'a> Pass<'a> {
    fn answer(&mut self, origin: &View, acceptance: &'a Arc<Acceptance>) -> Answer {
        match self.ask(origin, acceptance, true) {
            Judged::Candidate => Answer::Accepts,
            Judged::Refused(refusals) => Answer::Refuses(refusals.iter().map(ToString::to_string).collect()),
            Judged::Unfit(why) => Answer::CannotTake(why),
            Judged::Unreachable(why) | Judged::Silent(why) => Answer::Unknown(why),
            Judged::Later => Answer::Unknown("it cannot be said in this moment".into()),
        }
    }
}
