//! The status of GraphRevisions.

use broker_api::graphs::condition as words;
use serde_json::json;

use super::{
    condition::{Bearer, Said},
    decide::{Known, Pass, revision_kind},
    decision::Subject,
    snapshot::Compilation,
    status::with_graph,
};

impl Pass<'_> {
    /// Tells each revision what came of compiling it, where that is known.
    pub(super) fn tell_revisions(&mut self, known: &Known<'_>) {
        for issued in known.history.own.iter().filter(|issued| !issued.view.deleting && issued.view.conditions_known) {
            let verified = match issued.outcome {
                Compilation::Pending => continue,
                Compilation::Compiled(_) => Said::yes(words::VERIFIED, words::VERIFIED_MESSAGE),
                Compilation::Invalid(why) | Compilation::WaitsFor { message: why, .. } => {
                    Said::no(words::INVALID_GRAPH, why.clone())
                }
            };
            let nothing = json!({});
            let held = issued.view.value.get("status").unwrap_or(&nothing);
            let bearer = Bearer { held, generation: issued.view.generation(), now: &self.snapshot.now.text };
            let entries = vec![verified.entry(words::GRAPH_VERIFIED, &bearer)];
            let root = bearer.root(&entries);
            let mut wanted = with_graph(held, issued.outcome.graph());
            wanted["conditions"] = json!([entries[0], root]);
            self.merge_status(Subject::RevisionStatus, revision_kind(), issued.view, &wanted);
        }
    }
}
