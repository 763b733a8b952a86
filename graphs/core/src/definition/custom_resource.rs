//! The CRD of an RGD.

use std::cmp::Reverse;

use broker_api::graphs::{condition as words, keys};
use runtime_effect::{kind::Kind, merge::digest, note::Note, seen::Seen, view::View, write::Op};
use serde_json::{Value, json};

use super::{
    condition::Said,
    decide::{Known, Pass},
    decision::Subject,
    snapshot::Graph,
};
use crate::{
    applyset::GroupKind,
    crd::{self, Verdict, ownership},
    plural,
};

/// The kind that an RGD generates, as it was seen. `None`: it names none.
pub fn generated_kind(rgd: &View) -> Option<GroupKind> {
    let schema = &rgd.value["spec"]["schema"];
    let kind = schema["kind"].as_str().filter(|kind| !kind.is_empty())?;
    let group = schema["group"].as_str().filter(|group| !group.is_empty()).unwrap_or(keys::GROUP);
    Some(GroupKind { kind: kind.to_owned(), group: group.to_owned() })
}

/// Name of the CRD that a kind has, or would have. `ours` are the names of those of ours that define it, and whether they are
/// established: such a one keeps its plural, for no other can be served beside it.
pub fn crd_name<'a>(kind: &GroupKind, ours: impl IntoIterator<Item = (&'a str, bool)>) -> String {
    let made = format!("{}.{}", plural::of(&kind.kind), kind.group);
    let best = ours.into_iter().max_by_key(|(name, established)| (*established, *name == made, Reverse(*name)));
    best.map_or(made, |(name, _)| name.to_owned())
}

fn crd_condition<'a>(crd: &'a View, kind: &str) -> Option<&'a Value> {
    crd.value["status"]["conditions"].as_array().into_iter().flatten().find(|entry| entry["type"] == kind)
}

/// Whether the kind of a CRD is served.
pub fn is_established(crd: &View) -> bool {
    crd_condition(crd, "Established").is_some_and(|entry| entry["status"] == "True")
}

/// Why a CRD is not established, and will not be: others have its names.
pub(crate) fn names_taken(crd: &View) -> Option<String> {
    let entry = crd_condition(crd, "NamesAccepted").filter(|entry| entry["status"] == "False")?;
    let (name, why) = (super::condition::name_of(crd), entry["message"].as_str().unwrap_or_default());
    Some(format!("CRD {name} is not established, its names are taken: {why}"))
}

pub(crate) fn crd_kind() -> Kind {
    Kind { group: "apiextensions.k8s.io".into(), version: "v1".into(), kind: "CustomResourceDefinition".into() }
}

impl Pass<'_> {
    /// Makes the CRD what the graph wants, if there is one and if that may be. Returns what is said of the kind, `None` where
    /// that is not known.
    pub(super) fn custom_resource(&mut self, known: &Known<'_>, graph: Option<&Graph>) -> Option<Said> {
        let held = match self.snapshot.crd {
            Seen::Unknown => return None,
            Seen::Absent => None,
            Seen::Present(held) => Some(held),
        };
        self.decision.breaks = Some(false);
        let said = match (held, graph) {
            (None, None) => Said::awaiting(),
            (None, Some(graph)) => self.create_crd(&graph.crd),
            (Some(held), _) => self.judge_crd(known, held, graph),
        };
        if said.reason == words::FAILED {
            self.decision.notes.push(Note::warning("KindFailed", said.message.clone()));
        }
        Some(said)
    }

    fn create_crd(&mut self, wanted: &Value) -> Said {
        let name = crd::text_at(wanted, "/metadata/name");
        let note = Note::normal("KindCreated", format!("CRD {name} was created"));
        let intent = json!(["create", wanted]);
        if self.push(
            Subject::CustomResource,
            crd_kind(),
            ("", name),
            digest(&intent),
            Op::Create(wanted.clone()),
            Some(note),
        ) {
            return Said::awaiting();
        }
        Said::no(words::FAILED, format!("failed to create CRD {name}: {}", self.trouble(Subject::CustomResource)))
    }

    fn judge_crd(&mut self, known: &Known<'_>, held: &View, graph: Option<&Graph>) -> Said {
        let name = super::condition::name_of(held);
        let owner = known.owner(self.snapshot);
        if let Some(why) = ownership(&held.value, owner).refusal(name) {
            // Without a graph there is nothing to be had there.
            return if graph.is_some() { Said::no(words::FAILED, why) } else { Said::awaiting() };
        }
        if held.deleting {
            return Said::no(words::FAILED, format!("CRD {name} is being deleted; it is made again once it is gone"));
        }
        if let Some(unread) = held.unread {
            return Said::no(words::FAILED, format!("failed to update CRD {name}: {}", unread.why()));
        }
        let allow_breaking = known.rgd.annotated_true(keys::ALLOW_BREAKING_CHANGES);
        match graph.map(|graph| (graph, crd::decide(Some(&held.value), &graph.crd, owner, allow_breaking))) {
            Some((_, Verdict::Refuse(why))) => {
                self.decision.breaks = Some(true);
                return Said::no(words::FAILED, why);
            }
            Some((graph, Verdict::Create | Verdict::Update(_))) => {
                if !self.update_crd(held, &graph.crd) {
                    let why = self.trouble(Subject::CustomResource);
                    return Said::no(words::FAILED, format!("failed to update CRD {name}: {why}"));
                }
            }
            Some((_, Verdict::Keep)) | None => {}
        }
        if is_established(held) {
            let kind = known.rgd.value["spec"]["schema"]["kind"].as_str().unwrap_or_default();
            return Said::yes(words::READY_REASON, format!("kind {kind} has been accepted and ready"));
        }
        match names_taken(held) {
            Some(why) => Said::no(words::FAILED, why),
            None => Said::unknown(words::AWAITING_RECONCILIATION, format!("CRD {name} is not established yet")),
        }
    }

    fn update_crd(&mut self, held: &View, wanted: &Value) -> bool {
        let name = crd::text_at(wanted, "/metadata/name");
        let op = crd::update(held, wanted);
        let how = if matches!(op, Op::Merge(_)) { "restored" } else { "updated" };
        let note = Note::normal("KindUpdated", format!("CRD {name} was {how}"));
        let intent = json!([how, &*held.uid, wanted]);
        self.push(Subject::CustomResource, crd_kind(), ("", name), digest(&intent), op, Some(note))
    }
}
