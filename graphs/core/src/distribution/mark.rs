//! What is said on a CRD of the revision that a spoke runs.

use broker_api::graphs::keys;
use runtime_effect::view::View;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Snapshot;
use crate::rollout::Mark;

/// Annotation [`keys::ROLLOUT`], as JSON.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Record {
    /// Milliseconds since 1970, by the hub's steady clock.
    at: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    previous: Option<i64>,
    #[serde(skip_serializing_if = "is_zero")]
    errors: u32,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    soaked: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    taken_back: Option<i64>,
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// What is said on a CRD of ours; what cannot be read is not said. Whose it is, is another question.
pub fn mark(crd: &View) -> Option<Mark> {
    let revision = crd.annotation(keys::GRAPH_REVISION)?.parse().ok().filter(|revision| *revision > 0)?;
    let record = crd.annotation(keys::ROLLOUT).and_then(|text| serde_json::from_str::<Record>(text).ok());
    let Record { at, previous, errors, soaked, taken_back } = record.unwrap_or_default();
    Some(Mark { revision, previous, at, errors, soaked, taken_back })
}

/// Whether two say the same of a revision but for the moment.
pub fn same_record(one: &Mark, other: &Mark) -> bool {
    Mark { at: 0, ..one.clone() } == Mark { at: 0, ..other.clone() }
}

/// The CRD that is wanted, with what is said of the revision and of the hub.
pub(super) fn marked(snapshot: &Snapshot<'_>, held: Option<&View>) -> Value {
    let wanted = snapshot.mark;
    // What was said when the spoke got this revision stays; that it has soaked is added.
    let said = held.and_then(mark).filter(|said| said.revision == wanted.revision);
    let mark = said.map_or_else(|| wanted.clone(), |said| Mark { soaked: said.soaked || wanted.soaked, ..said });
    let Mark { revision, previous, at, errors, soaked, taken_back } = mark;
    let mut crd = snapshot.wanted.clone();
    crd["metadata"]["labels"][keys::HUB] = snapshot.hub.into();
    let annotations = &mut crd["metadata"]["annotations"];
    annotations[keys::GRAPH_REVISION] = revision.to_string().into();
    annotations[keys::ROLLOUT] = json!(Record { at, previous, errors, soaked, taken_back }).to_string().into();
    crd
}
