//! The status of an RGD.

use broker_api::graphs::condition as words;
use runtime_effect::{note::Note, view::View};
use serde_json::{Value, json};

use super::{
    condition::{Bearer, Said, TRUE},
    decide::{Known, Pass, accepted, last_issued, rgd_kind},
    decision::Subject,
    snapshot::{Compilation, Distributed, Graph},
};

/// What is said of each aspect; `None`: it is not known now, and what was said of it stands.
pub(super) struct Told {
    pub resolved: Option<Said>,
    pub accepted: Option<Said>,
    pub kind: Option<Said>,
    pub controller: Option<Said>,
}

impl Told {
    fn is_whole(&self) -> bool {
        let Self { resolved, accepted, kind, controller } = self;
        [resolved, accepted, kind, controller].into_iter().all(Option::is_some)
    }

    /// In the order of the list.
    fn entries(&self, bearer: &Bearer<'_>) -> Vec<Value> {
        let Self { resolved, accepted, kind, controller } = self;
        let said = [resolved, accepted, kind, controller];
        let entry = |(kind, said): (&str, &Option<Said>)| match (said, bearer.held(kind)) {
            (Some(said), _) => said.entry(kind, bearer),
            (None, Some(held)) => held.clone(),
            (None, None) => Said::awaiting().entry(kind, bearer),
        };
        words::RGD_TYPES.into_iter().zip(said).map(entry).collect()
    }
}

impl Pass<'_> {
    /// Says what little is known: once for each generation, for it will soon be more.
    pub(super) fn tell_early(&mut self, rgd: &View, outcome: &Compilation, resolved: Said) {
        let told = Told { resolved: Some(resolved), accepted: accepted(outcome), kind: None, controller: None };
        if !is_told(rgd) {
            let held = held_status(rgd);
            let wanted = self.conditions(held.clone(), rgd, &told);
            self.write_status(rgd, &wanted);
        }
    }

    /// Says how it stands, where it is said otherwise.
    pub(super) fn tell(&mut self, known: &Known<'_>, told: &Told) {
        if let Some(why) = known.outcome.problem() {
            self.decision.notes.push(Note::warning(words::INVALID_RESOURCE_GRAPH, why));
        }
        let rgd = known.rgd;
        if !told.is_whole() && is_told(rgd) {
            return;
        }
        let held = held_status(rgd);
        let mut wanted = match (known.outcome.graph(), known.newest_graph()) {
            (Some(graph), _) => with_graph(held, Some(graph)),
            (None, Ok(newest)) => with_graph(held, newest.map(|(_, graph)| graph)),
            (None, Err(_)) => Value::Object(held.as_object().cloned().unwrap_or_default()),
        };
        let last = last_issued(rgd).max(known.history.newest());
        if last > 0 {
            wanted["lastIssuedRevision"] = last.into();
        }
        let wanted = self.conditions(wanted, rgd, told);
        self.write_status(rgd, &wanted);
    }

    fn write_status(&mut self, rgd: &View, wanted: &Value) {
        // Conditions are written as a whole: what is there and not known would be lost.
        if rgd.conditions_known {
            self.merge_status(Subject::Status, rgd_kind(), rgd, wanted);
        }
    }

    /// The status with these conditions, and the state that follows from them. Those of types that we do not know stay.
    fn conditions(&self, mut status: Value, rgd: &View, told: &Told) -> Value {
        if !status.is_object() {
            status = json!({});
        }
        let bearer = Bearer { held: held_status(rgd), generation: rgd.generation(), now: &self.snapshot.now.text };
        let mut entries = told.entries(&bearer);
        let root = bearer.root(&entries);
        let needed = [words::GRAPH_ACCEPTED, words::KIND_READY, words::CONTROLLER_READY];
        let is_true = |kind: &str| entries.iter().any(|entry| entry["type"] == kind && entry["status"] == TRUE);
        let state = if needed.into_iter().all(is_true) { words::ACTIVE } else { words::INACTIVE };
        let is_ours = |kind: &str| {
            words::RGD_TYPES.contains(&kind) || [words::READY, words::RGD_OBSOLETE, words::DISTRIBUTED].contains(&kind)
        };
        let held = bearer.held["conditions"].as_array().into_iter().flatten();
        let others = held.filter(|entry| entry["type"].as_str().is_some_and(|kind| !is_ours(kind)));
        entries.extend(others.cloned());
        entries.extend(distributed(self.snapshot.distributed, &bearer));
        entries.push(root);
        status["conditions"] = Value::Array(entries);
        status["state"] = state.into();
        status
    }
}

/// What is said of how it gets to other clusters. No part of whether it is ready.
fn distributed(distributed: &Distributed, bearer: &Bearer<'_>) -> Option<Value> {
    let said = match distributed {
        Distributed::Off => return None,
        Distributed::Unknown => return bearer.held(words::DISTRIBUTED).cloned(),
        Distributed::All(message) => Said::yes(words::ALL_CLUSTERS, message),
        Distributed::Progressing(message) => Said::unknown(words::PROGRESSING, message),
        Distributed::Partial(message) => Said::no(words::PARTIAL, message),
    };
    Some(said.entry(words::DISTRIBUTED, bearer))
}

/// Whether all conditions have been said of this generation, or what of them could be.
fn is_told(rgd: &View) -> bool {
    let bearer = Bearer { held: held_status(rgd), generation: rgd.generation(), now: "" };
    bearer.held(words::READY).is_some_and(|ready| ready["observedGeneration"] == rgd.generation())
}

fn held_status(rgd: &View) -> &Value {
    const NOTHING: &Value = &Value::Null;
    rgd.value.get("status").unwrap_or(NOTHING)
}

/// The status with the order and the dependencies of a graph, or without any.
pub(super) fn with_graph(held: &Value, graph: Option<&Graph>) -> Value {
    let mut status = held.as_object().cloned().unwrap_or_default();
    status.remove("topologicalOrder");
    status.remove("resources");
    let Some(graph) = graph else { return Value::Object(status) };
    if !graph.topological_order.is_empty() {
        status.insert("topologicalOrder".to_owned(), json!(graph.topological_order));
    }
    let dependencies = |id: &String| graph.dependencies.get(id).filter(|needs| !needs.is_empty());
    let information = |id: &String| {
        let needs: Vec<Value> = dependencies(id)?.iter().map(|need| json!({"id": need})).collect();
        Some(json!({"id": id, "dependencies": needs}))
    };
    let resources: Vec<Value> = graph.topological_order.iter().filter_map(information).collect();
    if !resources.is_empty() {
        status.insert("resources".to_owned(), Value::Array(resources));
    }
    Value::Object(status)
}
