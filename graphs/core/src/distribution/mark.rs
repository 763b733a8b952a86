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
    #[serde(skip_serializing_if = "Option::is_none")]
    previous: Option<i64>,
    #[serde(skip_serializing_if = "is_zero")]
    errors: u32,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    done: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// What is said on a CRD that this hub has made for the RGD with this uid; of any other its numbers mean nothing. What cannot
/// be read is not said. The spoke's owner can write what he likes there: it is about his cluster alone.
pub fn mark(crd: &View, rgd_uid: &str, hub: &str) -> Option<Mark> {
    if crd.label(keys::HUB) != Some(hub) || crd.label(keys::RGD_ID) != Some(rgd_uid) {
        return None;
    }
    let revision = crd.annotation(keys::GRAPH_REVISION)?.parse().ok().filter(|revision| *revision > 0)?;
    let record = crd.annotation(keys::ROLLOUT).and_then(|text| serde_json::from_str::<Record>(text).ok());
    let Record { previous, errors, done } = record.unwrap_or_default();
    Some(Mark { revision, previous, errors, done })
}

/// The CRD that is wanted, with what is said of the revision and of the hub.
pub(super) fn marked(snapshot: &Snapshot<'_>, held: Option<&View>) -> Value {
    let wanted = snapshot.mark;
    let said = held.and_then(|held| mark(held, snapshot.owner.uid, snapshot.hub));
    // What was said when the spoke got this revision stays; that it does well is added.
    let said = said.filter(|said| said.revision == wanted.revision);
    let mark = said.map_or_else(|| wanted.clone(), |said| Mark { done: said.done || wanted.done, ..said });
    let Mark { revision, previous, errors, done } = mark;
    let mut crd = snapshot.wanted.clone();
    crd["metadata"]["labels"][keys::HUB] = snapshot.hub.into();
    let annotations = &mut crd["metadata"]["annotations"];
    annotations[keys::GRAPH_REVISION] = revision.to_string().into();
    annotations[keys::ROLLOUT] = json!(Record { previous, errors, done }).to_string().into();
    crd
}
