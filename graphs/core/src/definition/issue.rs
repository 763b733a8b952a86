//! New revisions, and the end of old ones.

use broker_api::graphs::keys;
use runtime_effect::{merge::digest, note::Note, seen::Seen, view::View, write::Op};
use serde_json::{Map, Value, json};

use super::{
    decide::{Known, Pass, last_issued, revision_kind},
    decision::{Serve, Subject},
    snapshot::Revisions,
};
use crate::{labels, revision::Content};

/// Whether what the RGD says is, or becomes, a revision.
pub(super) enum Issue {
    /// It is the newest, or does not compile.
    Settled,
    /// It becomes one by this decision.
    Written,
    /// It is to become one, and cannot now; for people.
    Held(String),
}

impl Pass<'_> {
    /// Issues a revision where the RGD says something that compiles and that the newest does not say.
    pub(super) fn issue(&mut self, known: &Known<'_>) -> Issue {
        let (Some(_), Some(content)) = (known.outcome.graph(), known.content) else { return Issue::Settled };
        if known.history.says(content) {
            return Issue::Settled;
        }
        let last = last_issued(known.rgd);
        let Some((number, name)) = known.history.next(self.snapshot.name, last) else {
            return Issue::Held(format!("there is no number after {last}: make the ResourceGraphDefinition anew"));
        };
        let body = self.revision(known.rgd, number, &name, content);
        let intent = json!([number, content.label(), &*known.rgd.uid]);
        let note = Note::normal("RevisionIssued", format!("revision {number} was issued as {name}"));
        if self.push(Subject::Revision, revision_kind(), ("", &name), digest(&intent), Op::Create(body), Some(note)) {
            return Issue::Written;
        }
        Issue::Held(format!("revision {number} cannot be written: {}", self.trouble(Subject::Revision)))
    }

    fn revision(&self, rgd: &View, number: i64, name: &str, content: Content) -> Value {
        let rgd_name = labels::value(self.snapshot.name);
        let annotations: Map<String, Value> =
            rgd_name.whole.iter().map(|whole| (keys::RGD_NAME.to_owned(), Value::from(*whole))).collect();
        let mut body = json!({
            "apiVersion": revision_kind().api_version(),
            "kind": "GraphRevision",
            "metadata": {
                "name": name,
                "labels": {
                    keys::OWNED: keys::TRUE,
                    keys::VERSION: labels::version(self.snapshot.flags.version),
                    keys::RGD_NAME: rgd_name.value,
                    keys::REVISION_HASH: content.label(),
                },
                "finalizers": [keys::FINALIZER],
                "ownerReferences": [{
                    "apiVersion": "kro.run/v1alpha1",
                    "kind": "ResourceGraphDefinition",
                    "name": self.snapshot.name,
                    "uid": &*rgd.uid,
                    "controller": true,
                    "blockOwnerDeletion": true,
                }],
            },
            "spec": {
                "revision": number,
                "snapshot": {
                    "name": self.snapshot.name,
                    "generation": rgd.generation(),
                    "spec": rgd.value["spec"],
                },
            },
        });
        if !annotations.is_empty() {
            body["metadata"]["annotations"] = Value::Object(annotations);
        }
        body
    }

    /// The numbers that stay whatever their age: the one that serves, and the newest that compiles. `None`: not known yet.
    fn needed(&self, known: &Known<'_>) -> Option<[Option<i64>; 2]> {
        if self.decision.serve == Serve::AsBefore {
            return None;
        }
        let compiles = known.newest_graph().ok()?.map(|(number, _)| number);
        Some([self.decision.serve.number(), compiles])
    }

    /// Whether a cluster runs a revision, or is to.
    fn is_kept(&self, number: i64) -> bool {
        self.snapshot.flags.kept.is_none_or(|kept| kept.contains(&number))
    }

    /// Deletes all revisions but the newest, and those that are needed.
    pub(super) fn collect(&mut self, known: &Known<'_>) {
        let Some(needed) = self.needed(known) else { return };
        let staying = known.history.own.iter().filter(|issued| !issued.view.deleting);
        for old in staying.skip(self.snapshot.flags.max_revisions.max(1)) {
            if !needed.contains(&Some(old.number)) && !self.is_kept(old.number) {
                let op = Op::delete(old.view.uid.clone());
                let intent = json!(["delete", &*old.view.uid]);
                self.push(Subject::RevisionEnd, revision_kind(), ("", old.name()), digest(&intent), op, None);
            }
        }
    }

    /// Lets revisions go that are being deleted: not before the RGD says that their number is taken, for that would be lost
    /// with them, nor while they are needed.
    pub(super) fn release(&mut self, known: &Known<'_>) {
        for other in known.history.others.iter().filter(|other| other.deleting) {
            self.let_go(Subject::RevisionEnd, revision_kind(), other);
        }
        let Some(needed) = self.needed(known) else { return };
        let last = last_issued(known.rgd);
        let leaving = known.history.own.iter().filter(|issued| issued.view.deleting);
        let is_needed = |number: i64| needed.contains(&Some(number)) || self.is_kept(number);
        let leaving: Vec<_> = leaving.filter(|issued| issued.number <= last && !is_needed(issued.number)).collect();
        for issued in leaving {
            self.let_go(Subject::RevisionEnd, revision_kind(), issued.view);
        }
    }

    /// Lets all revisions go that are being deleted: their RGD is gone, or is going.
    pub(super) fn release_all(&mut self) {
        let Revisions::Known { list, .. } = self.snapshot.revisions else { return };
        for revision in list.iter().filter(|revision| revision.view.deleting) {
            self.let_go(Subject::RevisionEnd, revision_kind(), &revision.view);
        }
    }

    /// There is no RGD. Its revisions go with it: that is the API server's business, but for our finalizer.
    pub(super) fn gone(&mut self) {
        debug_assert_eq!(self.snapshot.rgd, &Seen::Absent);
        self.decision.serve = Serve::Nothing;
        self.release_all();
    }
}
