//! `Records`: what is remembered of RGDs between decisions. Losing it costs nothing but time.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::{Arc, Mutex},
};

use broker_api::ClusterName;
use graphs_core::definition::{Outcome, Revision, Subject};
use runtime_effect::{kind::Kind, memory::Memory, view::View};
use runtime_engine::recorder::Told;
use runtime_fleet::lock::lock;

use super::DefinitionKey;
use crate::compiled::{self, Compiled};

/// What came of compiling a spec, of the RGD or of a revision of it.
#[derive(Clone)]
pub struct Attempt {
    /// The uid of the object that has the spec.
    pub uid: Box<str>,
    /// `metadata.generation` of that object; a revision's spec stays what it is.
    pub generation: i64,
    /// For decisions.
    pub outcome: Outcome,
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
    /// The revision that serves, and what it comes to.
    pub serves: Option<(i64, Arc<Compiled>)>,
    /// What spokes go by of the RGD itself: its uid, and whether breaking changes go through.
    pub itself: Option<(Box<str>, bool)>,
    /// Name of the revision that it says was issued and that is not seen.
    pub unseen: Option<String>,
}

impl Record {
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
            // The newest says what the RGD says, as long as it was not compiled by itself.
            let attempt = attempt.or_else(|| self.own.as_ref().filter(|_| Some(number) == first))?;
            match (&attempt.compiled, &attempt.outcome) {
                (Some(compiled), _) => return Some(Some((number, Arc::clone(compiled)))),
                (None, Outcome::Pending) => return None,
                (None, _) => {}
            }
        }
        Some(None)
    }

    /// Number of the newest revision that compiles, as far as that is known.
    pub fn newest_number(&self) -> Option<Option<i64>> {
        self.newest.as_ref().map(|newest| newest.as_ref().map(|(number, _)| *number))
    }

    /// How many of its specs compile.
    pub fn compiled(&self) -> usize {
        self.own.iter().chain(&self.revisions).filter(|attempt| attempt.compiled.is_some()).count()
    }

    /// What the object of this uid compiled to.
    pub fn of(&self, uid: &str) -> Option<&Attempt> {
        self.own.iter().chain(&self.revisions).find(|attempt| *attempt.uid == *uid)
    }

    fn is_of(&self, kind: &Kind) -> bool {
        self.own.iter().chain(&self.revisions).any(|attempt| attempt.kinds.contains(kind))
    }
}

/// See the module.
#[derive(Default)]
pub struct Records {
    all: Mutex<HashMap<DefinitionKey, Arc<Mutex<Record>>>>,
    crds: Mutex<HashMap<Arc<str>, HashSet<DefinitionKey>>>,
}

impl Records {
    /// That of an RGD, new where there is none.
    pub fn of(&self, key: &DefinitionKey) -> Arc<Mutex<Record>> {
        Arc::clone(lock(&self.all).entry(key.clone()).or_default())
    }

    /// That of an RGD, if there is one.
    pub fn get(&self, key: &DefinitionKey) -> Option<Arc<Mutex<Record>>> {
        lock(&self.all).get(key).cloned()
    }

    /// All RGDs of which anything is remembered.
    pub fn all(&self) -> Vec<DefinitionKey> {
        lock(&self.all).keys().cloned().collect()
    }

    /// An RGD is no more.
    pub fn forget(&self, key: &DefinitionKey) {
        let record = lock(&self.all).remove(key);
        let crd = record.and_then(|record| lock(&record).crd.clone());
        if let Some(crd) = crd {
            self.unname(key, &crd);
        }
    }

    /// Forgets what was compiled with a kind. Returns whose that was.
    pub fn stale(&self, cluster: &ClusterName, kind: &Kind) -> Vec<DefinitionKey> {
        let all: Vec<_> = lock(&self.all)
            .iter()
            .filter(|(key, _)| key.cluster == *cluster)
            .map(|(key, record)| (key.clone(), Arc::clone(record)))
            .collect();
        let stale = all.into_iter().filter(|(_, record)| {
            let mut record = lock(record);
            let is_of = record.is_of(kind);
            if is_of {
                record.own = record.own.take().filter(|own| !own.kinds.contains(kind));
                record.revisions.retain(|attempt| !attempt.kinds.contains(kind));
            }
            is_of
        });
        stale.map(|(key, _)| key).collect()
    }

    /// Forgets what could not be told for want of what some cluster had not told: that may be otherwise.
    pub fn forget_pending(&self) {
        let all: Vec<_> = lock(&self.all).values().cloned().collect();
        for record in all {
            let mut record = lock(&record);
            record.own = record.own.take().filter(|own| own.outcome != Outcome::Pending);
            record.revisions.retain(|attempt| attempt.outcome != Outcome::Pending);
        }
    }

    /// An RGD's CRD has this name.
    pub fn name(&self, key: &DefinitionKey, before: Option<&Arc<str>>, crd: &Arc<str>) {
        if let Some(before) = before {
            self.unname(key, before);
        }
        lock(&self.crds).entry(Arc::clone(crd)).or_default().insert(key.clone());
    }

    fn unname(&self, key: &DefinitionKey, crd: &Arc<str>) {
        let mut crds = lock(&self.crds);
        if let Some(keys) = crds.get_mut(crd) {
            keys.remove(key);
            if keys.is_empty() {
                crds.remove(crd);
            }
        }
    }

    /// The RGDs whose CRD has this name.
    pub fn of_crd(&self, crd: &str) -> Vec<DefinitionKey> {
        lock(&self.crds).get(crd).into_iter().flatten().cloned().collect()
    }
}
