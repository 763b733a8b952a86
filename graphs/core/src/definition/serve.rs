//! Which revision serves the instances: the newest that compiles and that the CRD, as it is, was made for.

use broker_api::graphs::{condition as words, keys};
use runtime_effect::seen::Seen;

use super::{
    condition::Said,
    custom_resource::is_established,
    decide::{Known, Pass},
    decision::{Serve, Subject},
    history::Issued,
    snapshot::{Compilation, Controller},
};
use crate::crd::{self, Verdict, digest_of, ownership};

impl Pass<'_> {
    /// What instances are served from, as things are before this decision's writes.
    pub(super) fn choose(&mut self, known: &Known<'_>) -> Serve {
        let owner = known.owner(self.snapshot);
        let held = match self.snapshot.crd {
            Seen::Unknown => return Serve::AsBefore,
            Seen::Absent => return Serve::Nothing,
            Seen::Present(held) => held,
        };
        if ownership(&held.value, owner).refusal("").is_some() || !is_established(held) {
            return Serve::Nothing;
        }
        if self.is_written(Subject::CustomResource) {
            return Serve::AsBefore;
        }
        let digest = digest_of(&held.value);
        let allow_breaking = known.rgd.annotated_true(keys::ALLOW_BREAKING_CHANGES);
        let (mut fitting, mut pending) = (None, None);
        for issued in &known.history.own {
            match issued.outcome {
                Compilation::Pending => _ = pending.get_or_insert_with(|| issued.name().to_owned()),
                Compilation::Compiled(graph) => {
                    if digest.is_some() && digest == digest_of(&graph.crd) {
                        return serving(issued);
                    }
                    // Marks may have been taken off it.
                    let verdict = crd::decide(Some(&held.value), &graph.crd, owner, allow_breaking);
                    fitting = fitting.or((!matches!(verdict, Verdict::Refuse(_))).then_some(issued));
                }
                Compilation::WaitsFor { kinds, .. } => self.decision.waits_for.extend_from_slice(kinds),
                Compilation::Invalid(_) => {}
            }
        }
        if pending.is_some() {
            self.decision.compile = pending;
            return Serve::AsBefore;
        }
        fitting.map_or(Serve::Nothing, serving)
    }

    /// What is said of serving. `None`: it is not known.
    pub(super) fn controller(&self, known: &Known<'_>) -> Option<Said> {
        match (&self.decision.serve, &self.snapshot.controller) {
            (Serve::AsBefore, _) | (Serve::Revision { .. }, Controller::Starting) => None,
            (Serve::Revision { .. }, Controller::Running) => Some(Said::yes(words::RUNNING, words::RUNNING_MESSAGE)),
            (Serve::Revision { .. }, Controller::FailedToStart(why)) => {
                Some(Said::no(words::FAILED_TO_START, why.clone()))
            }
            (Serve::Revision { .. }, Controller::FailedLabels(why)) => {
                Some(Said::no(words::FAILED_LABELER_SETUP, why.clone()))
            }
            (Serve::Nothing, _) => {
                let all = &known.history.own;
                let none_compiles = all.iter().all(|issued| issued.outcome.problem().is_some());
                let stopped = !all.is_empty() && none_compiles;
                Some(if stopped { Said::no(words::FAILED_TO_START, "no revision compiles") } else { Said::awaiting() })
            }
        }
    }
}

fn serving(issued: &Issued<'_>) -> Serve {
    Serve::Revision { number: issued.number, name: issued.name().to_owned(), uid: issued.view.uid.clone() }
}
