//! `Record`: what is remembered of an RGD between decisions.

use std::{collections::BTreeSet, sync::Arc};

use graphs_core::definition::{Compilation, Revision, Subject, says_the_same};
use runtime_effect::{kind::Kind, memory::Memory, view::View};
use runtime_engine::recorder::Told;

use crate::compiled::{self, Compiled};

/// What came of compiling a spec, of the RGD or of a revision of it.
#[derive(Clone)]
pub struct Attempt {
    /// The uid of the object that has the spec.
    pub uid: Box<str>,
    /// `metadata.generation` of that object; a revision's spec stays what it is.
    pub generation: i64,
    /// For decisions.
    pub outcome: Compilation,
    /// If it compiles.
    pub compiled: Option<Arc<Compiled>>,
    /// The kinds that this depends on.
    pub kinds: Arc<BTreeSet<Kind>>,
    /// It may come to something else in a moment.
    pub busy: bool,
}

impl Attempt {
    /// Of the object with this uid.
    pub fn new(uid: &str, generation: i64, result: compiled::Result) -> Self {
        let compiled::Result { outcome, compiled, kinds, busy } = result;
        Self { uid: uid.into(), generation, outcome, compiled, kinds: Arc::new(kinds), busy }
    }
}

/// A revision by its number, and what it comes to; `None`: there is none.
pub type Newest = Option<(i64, Arc<Compiled>)>;

/// Number of a revision; `None`: there is none.
pub type Number = Option<i64>;

/// What is remembered of an RGD.
#[derive(Default)]
pub struct Record {
    /// Of its writes.
    pub memory: Memory<Subject>,
    /// What people were told.
    pub told: Told,
    /// Its own spec.
    pub own: Option<Attempt>,
    /// Specs of its revisions.
    pub revisions: Vec<Attempt>,
    /// Name of its CRD.
    pub crd: Option<Arc<str>>,
    /// The newest revision that compiles, whether or not the hub can serve it; `None`: nobody can tell yet.
    pub newest: Option<Newest>,
    /// Whether that would break the instances of the CRD that the hub has; `None`: nobody can tell yet.
    pub breaks: Option<bool>,
    /// The revision that serves, and what it comes to.
    pub serves: Option<(i64, Arc<Compiled>)>,
    /// What spokes go by of the RGD itself: its uid, and whether breaking changes go through.
    pub itself: Option<(Box<str>, bool)>,
}

impl Record {
    /// Its CRD has another name than before: what was compiled is made for the old one.
    pub fn name(&mut self, crd: Arc<str>) {
        self.crd = Some(crd);
        self.own = None;
        self.revisions.clear();
    }

    /// The kinds that what was compiled depends on.
    pub fn kinds(&self) -> BTreeSet<Kind> {
        self.own.iter().chain(&self.revisions).flat_map(|attempt| attempt.kinds.iter().cloned()).collect()
    }

    /// The newest of its revisions that compiles; `None`: one that is newer may, and nobody can tell yet.
    pub fn newest_of(&self, rgd: &View, revisions: &[Revision]) -> Option<Newest> {
        let owners = |view: &View| view.value["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
        let own = revisions
            .iter()
            .filter(|revision| owners(&revision.view).iter().any(|owner| owner["uid"].as_str() == Some(&*rgd.uid)));
        let number = |revision: &Revision| revision.view.value["spec"]["revision"].as_i64();
        let mut own: Vec<(i64, &Revision)> = own.filter_map(|revision| Some((number(revision)?, revision))).collect();
        own.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
        let first = own.first().map(|(number, _)| *number);
        for (number, revision) in own {
            let attempt = self.of(&revision.view.uid);
            let attempt = attempt.or_else(|| {
                // The newest need not be compiled by itself where it says what the RGD says.
                self.own.as_ref().filter(|_| Some(number) == first && says_the_same(&revision.view, rgd))
            })?;
            match (&attempt.compiled, &attempt.outcome) {
                (Some(compiled), _) => return Some(Some((number, Arc::clone(compiled)))),
                (None, Compilation::Pending) => return None,
                (None, _) => {}
            }
        }
        Some(None)
    }

    /// Number of the newest revision that compiles, as far as that is known.
    pub fn newest_number(&self) -> Option<Option<i64>> {
        self.newest.as_ref().map(|newest| newest.as_ref().map(|(number, _)| *number))
    }

    /// What those of its specs come to that compile.
    pub fn compiled(&self) -> Vec<Arc<Compiled>> {
        self.own.iter().chain(&self.revisions).filter_map(|attempt| attempt.compiled.clone()).collect()
    }

    /// What the object of this uid compiled to.
    pub fn of(&self, uid: &str) -> Option<&Attempt> {
        self.own.iter().chain(&self.revisions).find(|attempt| *attempt.uid == *uid)
    }

    /// Forgets what was compiled with a kind. Whether that was anything.
    pub fn forget_kind(&mut self, kind: &Kind) -> bool {
        self.forget(|attempt| attempt.kinds.contains(kind))
    }

    /// Forgets what could not be told.
    pub fn forget_pending(&mut self) {
        self.forget(|attempt| attempt.outcome == Compilation::Pending);
    }

    fn forget(&mut self, is_one: impl Fn(&Attempt) -> bool) -> bool {
        let (own, revisions) = (self.own.is_some(), self.revisions.len());
        self.own.take_if(|own| is_one(own));
        self.revisions.retain(|attempt| !is_one(attempt));
        self.own.is_some() != own || self.revisions.len() != revisions
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn named(uid: &str, spec: &Value) -> View {
        View {
            uid: uid.into(),
            resource_version: 1,
            deleting: false,
            applied_by_us: true,
            value: Arc::new(json!({"metadata": {"name": uid, "ownerReferences": [{"uid": "web"}]}, "spec": spec})),
            unread: None,
            conditions_known: true,
        }
    }

    /// An RGD that was changed once served what it said under the number of its last revision, before the next was issued.
    #[test]
    fn what_an_rgd_says_is_of_no_revision_before_it_is_issued() {
        let says = |default: &str| json!({"schema": {"apiVersion": "v1", "kind": "Web", "spec": {"text": default}}});
        let attempt = |uid: &str| Attempt {
            uid: uid.into(),
            generation: 1,
            outcome: Compilation::Invalid("no".into()),
            compiled: None,
            kinds: Arc::default(),
            busy: false,
        };
        let newest = |issued: &str, attempts: Vec<Attempt>| {
            let snapshot = json!({"revision": 1, "snapshot": {"name": "web", "generation": 1, "spec": says(issued)}});
            let revision = Revision { view: named("web-r00001", &snapshot), outcome: Compilation::Pending };
            let record = Record { own: Some(attempt("web")), revisions: attempts, ..Record::default() };
            record.newest_of(&named("web", &says("string")), &[revision])
        };
        assert!(newest("integer", Vec::new()).is_none());
        assert!(matches!(newest("string", Vec::new()), Some(None)));
        assert!(matches!(newest("integer", vec![attempt("web-r00001")]), Some(None)));
    }
}
