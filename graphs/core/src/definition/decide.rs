//! `decide`: from what was seen of one RGD to what to do about it. Pure.

use broker_api::graphs::{condition as words, keys};
use runtime_effect::{kind::Kind, memory::Pace, merge::digest, note::Note, report, seen::Seen, view::View, write::Op};
use serde_json::{Value, json};

use super::{
    condition::{Said, name_of},
    decision::{Decision, Serve, Subject, Write},
    history::{History, content_of_rgd},
    issue::Issue,
    snapshot::{Compilation, Graph, Revisions, Snapshot},
    status::Told,
};
use crate::{crd::Owner, revision::Content};

/// What to do about the snapshot's RGD.
pub fn decide(snapshot: &Snapshot<'_>) -> Decision {
    let mut pass = Pass { snapshot, decision: Decision::default() };
    pass.run();
    pass.decision.waits_for.sort_unstable();
    pass.decision.waits_for.dedup();
    pass.decision
}

/// One pass over one RGD.
pub(super) struct Pass<'a> {
    pub(super) snapshot: &'a Snapshot<'a>,
    pub(super) decision: Decision,
}

/// An RGD that is not being deleted, and all of its revisions.
pub(super) struct Known<'a> {
    pub(super) rgd: &'a View,
    /// What came of compiling it.
    pub(super) outcome: &'a Compilation,
    /// What it says, if that can be read.
    pub(super) content: Option<Content>,
    pub(super) history: History<'a>,
}

impl<'a> Known<'a> {
    pub(super) fn owner(&self, snapshot: &Snapshot<'a>) -> Owner<'a> {
        Owner { name: snapshot.name, uid: &self.rgd.uid, version: snapshot.flags.version }
    }

    /// The newest revision that compiles; `Err`: the one that has to be compiled to tell.
    pub(super) fn newest_graph(&self) -> Result<Option<(i64, &'a Graph)>, String> {
        for issued in &self.history.own {
            match issued.outcome {
                Compilation::Compiled(graph) => return Ok(Some((issued.number, graph))),
                Compilation::Pending => return Err(issued.name().to_owned()),
                Compilation::Invalid(_) | Compilation::WaitsFor { .. } => {}
            }
        }
        Ok(None)
    }
}

impl Pass<'_> {
    fn run(&mut self) {
        match self.snapshot.rgd {
            Seen::Unknown => {}
            Seen::Absent => self.gone(),
            Seen::Present(rgd) if rgd.deleting => self.depart(rgd),
            Seen::Present(rgd) => self.live(rgd),
        }
    }

    fn live(&mut self, rgd: &View) {
        let content = content_of_rgd(rgd);
        let unreadable = content.as_ref().err().map(|why| Compilation::Invalid(why.clone()));
        let outcome = unreadable.as_ref().unwrap_or(self.snapshot.outcome);
        if let Compilation::WaitsFor { kinds, .. } = outcome {
            self.decision.waits_for.extend_from_slice(kinds);
        }
        let Revisions::Known { list, confirmed } = self.snapshot.revisions else {
            let why = "its revisions are being read";
            return self.tell_early(rgd, outcome, Said::unknown(words::WAITING_FOR_WARMUP, why));
        };
        let content = content.ok();
        let history = History::of(list, &rgd.uid, content, outcome);
        if history.is_ahead_of(rgd) {
            // What is seen of the RGD is out of date: what it said then is not to be done.
            return;
        }
        let last = last_issued(rgd);
        if !confirmed && last > history.newest() {
            self.decision.confirm = true;
            let why = format!("revision {last} was issued and is not seen yet");
            return self.tell_early(rgd, outcome, Said::unknown(words::WAITING_FOR_SETTLEMENT, why));
        }
        self.settle(&Known { rgd, outcome, content, history });
    }

    /// All that has to be known of revisions is.
    fn settle(&mut self, known: &Known<'_>) {
        self.mark(known.rgd);
        let issue = self.issue(known);
        let target = match (known.outcome.graph(), &issue) {
            (Some(graph), Issue::Settled | Issue::Written) => Some(graph),
            _ => match known.newest_graph() {
                Ok(newest) => newest.map(|(_, graph)| graph),
                Err(name) => {
                    self.decision.compile = Some(name);
                    None
                }
            },
        };
        let kind = self.custom_resource(known, target);
        // What the CRD is to be is not known either.
        let kind = kind.filter(|_| self.decision.compile.is_none());
        self.decision.serve = self.choose(known);
        if !self.decision.writes.is_empty() {
            // What they make of it is told once it is seen.
            return;
        }
        self.tell_revisions(known);
        self.collect(known);
        self.release(known);
        let told = Told {
            resolved: self.resolved(known, &issue),
            accepted: accepted(known.outcome),
            kind,
            controller: self.controller(known),
        };
        self.tell(known, &told);
    }

    /// Puts our finalizer on the RGD.
    fn mark(&mut self, rgd: &View) {
        if !rgd.has_finalizer(keys::FINALIZER) {
            let finalizers: Vec<&str> = rgd.finalizers().chain([keys::FINALIZER]).collect();
            self.set_finalizers(Subject::Marks, rgd_kind(), rgd, &finalizers, None);
        }
    }

    /// Takes our finalizer off an object.
    pub(super) fn let_go(&mut self, subject: Subject, kind: Kind, view: &View) {
        if view.has_finalizer(keys::FINALIZER) {
            let finalizers: Vec<&str> = view.finalizers().filter(|held| *held != keys::FINALIZER).collect();
            self.set_finalizers(subject, kind, view, &finalizers, None);
        }
    }

    fn set_finalizers(&mut self, subject: Subject, kind: Kind, view: &View, finalizers: &[&str], note: Option<Note>) {
        let wanted = json!({"uid": &*view.uid, "finalizers": finalizers});
        let patch = view.version().guard(json!({"metadata": {"finalizers": finalizers}}));
        self.push(subject, kind, ("", name_of(view)), digest(&wanted), Op::Merge(patch), note);
    }

    /// A merge patch of the status of an object, if it differs.
    pub(super) fn merge_status(&mut self, subject: Subject, kind: Kind, view: &View, wanted: &Value) {
        let held = view.value.get("status");
        let Some(report) = report::report(view.version(), held, wanted, &[report::CONDITIONS]) else { return };
        self.push(subject, kind, ("", name_of(view)), report.intent, Op::MergeStatus(report.patch), None);
    }

    /// Adds a write, unless the same was refused or undone too often to be tried again now. `intent` is what is wanted by it,
    /// `at` the namespace and the name. Returns whether it was added.
    pub(super) fn push(
        &mut self,
        subject: Subject,
        kind: Kind,
        at: (&str, &str),
        intent: [u8; 8],
        op: Op,
        note: Option<Note>,
    ) -> bool {
        let (memory, now) = (self.snapshot.memory, self.snapshot.now.millis);
        if let Pace::Wait(millis) = memory.pace(subject, intent, now) {
            self.decision.again_in(millis);
            if let Some(trouble) = memory.trouble_with(subject, intent) {
                self.decision.notes.push(Note::warning(trouble.reason, trouble.message.clone()));
            } else if memory.is_fought(subject, now) {
                let what = format!(
                    "something keeps changing {} {} back; the write is repeated ever more slowly",
                    kind.kind, at.1
                );
                self.decision.notes.push(Note::warning(broker_api::condition::FIGHTING, what));
            }
            return false;
        }
        let (namespace, name) = (at.0.to_owned(), at.1.to_owned());
        let cluster = self.snapshot.cluster.clone();
        self.decision.writes.push(Write {
            cluster,
            kind,
            namespace,
            name,
            op,
            intent,
            subject,
            notes: note.into_iter().collect(),
        });
        true
    }

    /// Why the last write about the subject was refused.
    pub(super) fn trouble(&self, subject: Subject) -> &str {
        self.snapshot.memory.trouble(subject).map_or("it is tried again in a moment", |trouble| &trouble.message)
    }

    pub(super) fn is_written(&self, subject: Subject) -> bool {
        self.decision.writes.iter().any(|write| write.subject == subject)
    }

    /// What is said of the revisions.
    fn resolved(&mut self, known: &Known<'_>, issue: &Issue) -> Option<Said> {
        if let Issue::Held(why) = issue {
            return Some(Said::no(words::FAILED, why.clone()));
        }
        let Some(newest) = known.history.own.first() else { return Some(Said::awaiting()) };
        let number = newest.number;
        if newest.outcome.graph().is_some() {
            return Some(Said::yes(words::RESOLVED, format!("revision {number} compiled and active")));
        }
        let Some(problem) = newest.outcome.problem() else {
            let why = format!("revision {number} is being compiled");
            return Some(Said::unknown(words::WAITING_FOR_COMPILATION, why));
        };
        let served = match &self.decision.serve {
            Serve::AsBefore => return None,
            Serve::Nothing => "nothing is served".to_owned(),
            Serve::Revision { number, .. } => format!("revision {number} keeps serving"),
        };
        let why = format!("revision {number} does not compile any more, and {served}: {problem}");
        self.decision.notes.push(Note::warning(words::FAILED, why.clone()));
        Some(Said::no(words::FAILED, why))
    }
}

/// What is said of the graph.
pub(super) fn accepted(outcome: &Compilation) -> Option<Said> {
    match outcome {
        Compilation::Pending => None,
        Compilation::Compiled(_) => Some(Said::yes(words::VALID, words::VALID_MESSAGE)),
        Compilation::Invalid(why) | Compilation::WaitsFor { message: why, .. } => {
            Some(Said::no(words::INVALID_RESOURCE_GRAPH, why.clone()))
        }
    }
}

/// Number of the newest revision that was ever issued, as the RGD says, 0 where it does not.
pub(super) fn last_issued(rgd: &View) -> i64 {
    rgd.value["status"]["lastIssuedRevision"].as_i64().unwrap_or_default()
}

pub(super) fn rgd_kind() -> Kind {
    Kind { group: keys::GROUP.into(), version: "v1alpha1".into(), kind: "ResourceGraphDefinition".into() }
}

pub(super) fn revision_kind() -> Kind {
    Kind { group: keys::INTERNAL_GROUP.into(), version: "v1alpha1".into(), kind: "GraphRevision".into() }
}
