//! What AcceptAPIs say of an object: for programs, and for people.

use broker_core::decide::{Answer, Asked};
use schemars::JsonSchema;
use serde::Serialize;

use crate::paint::harmless;

/// What an AcceptAPI says of an object.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Said {
    /// Which: `provider/namespace/name`.
    #[serde(rename = "acceptAPI")]
    pub(crate) accept_api: String,
    /// Its provider.
    pub(crate) provider: String,
    /// Whether it takes the object.
    pub(crate) answer: Word,
    /// Why not.
    pub(crate) reasons: Vec<String>,
    /// Its priority, as the platform lets it count.
    pub(crate) priority: i64,
    /// Its weight among those of its priority.
    pub(crate) weight: u32,
    /// Of an object that is there: its score among those of its priority, of which the highest gets the object. Null: it is not
    /// there yet.
    pub(crate) score: Option<f64>,
    /// Of an object that is not there yet: the share of such objects that it gets, in percent. Null: it takes none of them, or
    /// the object is there.
    pub(crate) share: Option<f64>,
}

/// Whether an AcceptAPI takes an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) enum Word {
    /// It does.
    Accepts,
    /// Its rules refuse it.
    Refuses,
    /// It takes nothing new now, or not this one.
    CannotTake,
    /// It is not known what it would say.
    Unknown,
}

impl Said {
    /// Without its part of a choice.
    pub(crate) fn of(Asked { id, priority, weight, score: _, answer }: &Asked) -> Self {
        let (answer, reasons) = match answer {
            Answer::Accepts => (Word::Accepts, Vec::new()),
            Answer::Refuses(reasons) => {
                // Where they are in a list of all, each names its AcceptAPI.
                let own = format!("{id}: ");
                let reasons = reasons.iter().map(|why| why.strip_prefix(&own).unwrap_or(why).to_owned());
                (Word::Refuses, reasons.collect())
            }
            Answer::CannotTake(why) => (Word::CannotTake, vec![why.clone()]),
            Answer::Unknown(why) => (Word::Unknown, vec![why.clone()]),
        };
        Self {
            accept_api: id.to_string(),
            provider: id.provider.name().to_owned(),
            answer,
            reasons,
            priority: *priority,
            weight: *weight,
            score: None,
            share: None,
        }
    }

    /// A line for the answer, and one for each of its reasons. `place`: where it stands among those that accept, in so many
    /// letters; `weighed`: by what.
    pub(crate) fn draw(&self, place: &str, width: usize, weighed: &str) -> String {
        let (place, word) = match self.answer {
            Word::Accepts => (place, "accepts"),
            Word::Refuses => ("-", "refuses"),
            Word::CannotTake => ("-", "cannot take it"),
            Word::Unknown => ("?", "unknown"),
        };
        let mut out = format!("  {place:<width$}{}  {word}  ({weighed})\n", harmless(&self.accept_api));
        for reason in &self.reasons {
            out.push_str(&format!("  {:width$}  {}\n", "", harmless(reason)));
        }
        out
    }
}
