//! `History`: the revisions of an RGD, newest first.

use broker_api::graphs::{GraphRevisionSpec, ResourceGraphDefinitionSpec};
use runtime_effect::view::View;
use serde::Deserialize;

use super::{
    condition::name_of,
    snapshot::{Compilation, Revision},
};
use crate::revision::{self, Content};

/// A revision, and what is told by its object alone.
#[derive(Debug, Clone, Copy)]
pub(super) struct Issued<'a> {
    /// The object.
    pub view: &'a View,
    /// What came of compiling it.
    pub outcome: &'a Compilation,
    /// Its number, at least 1.
    pub number: i64,
}

impl<'a> Issued<'a> {
    pub(super) fn name(&self) -> &'a str {
        name_of(self.view)
    }
}

/// The revisions of an RGD.
pub(super) struct History<'a> {
    /// Those that it owns, newest first.
    pub own: Vec<Issued<'a>>,
    /// Those of RGDs of the same name that are no more, and whatever else claims to be one.
    pub others: Vec<&'a View>,
}

impl<'a> History<'a> {
    /// Of the RGD with this uid. Where the newest says what the RGD says it comes to the same, and need not be compiled twice.
    pub(super) fn of(list: &'a [Revision], uid: &str, content: Option<Content>, outcome: &'a Compilation) -> Self {
        let mut history = Self { own: Vec::new(), others: Vec::new() };
        for Revision { view, outcome } in list {
            match number(view).filter(|_| is_owned(view, uid)) {
                Some(number) => history.own.push(Issued { view, outcome, number }),
                None => history.others.push(view),
            }
        }
        history.own.sort_by(|one, other| other.number.cmp(&one.number).then_with(|| one.name().cmp(other.name())));
        if let Some(first) = history.own.first_mut()
            && *first.outcome == Compilation::Pending
            && content.is_some()
            && content_of(first.view) == content
        {
            first.outcome = outcome;
        }
        history
    }

    /// Number of the newest, 0 where there is none.
    pub(super) fn newest(&self) -> i64 {
        self.own.first().map_or(0, |newest| newest.number)
    }

    /// Whether the newest was taken of a later state of the RGD than the one that is seen: what is seen is out of date.
    pub(super) fn is_ahead_of(&self, rgd: &View) -> bool {
        self.own
            .iter()
            .any(|issued| issued.view.value["spec"]["snapshot"]["generation"].as_i64() > Some(rgd.generation()))
    }

    /// Whether the newest of those that stay says this.
    pub(super) fn says(&self, content: Content) -> bool {
        let mut staying = self.own.iter().filter(|issued| !issued.view.deleting);
        staying.next().is_some_and(|newest| content_of(newest.view) == Some(content))
    }

    /// The number and the name of the next one. `None`: there is no larger number.
    pub(super) fn next(&self, rgd: &str, last_issued: i64) -> Option<(i64, String)> {
        let mut number = last_issued.max(self.newest()).checked_add(1)?;
        loop {
            let name = revision::name(rgd, number);
            // What an earlier RGD has left, and is not gone yet.
            if self.others.iter().all(|other| name_of(other) != name) {
                return Some((number, name));
            }
            number = number.checked_add(1)?;
        }
    }
}

/// Number of a revision; of one that cannot be read, by its name.
fn number(view: &View) -> Option<i64> {
    let named = || {
        let (_, end) = name_of(view).rsplit_once("-r")?;
        end.split_once('-').map_or(end, |(number, _)| number).parse().ok()
    };
    view.value["spec"]["revision"].as_i64().or_else(named).filter(|number| *number >= 1)
}

fn is_owned(view: &View, uid: &str) -> bool {
    let owners = view.value["metadata"]["ownerReferences"].as_array();
    owners.into_iter().flatten().any(|owner| owner["uid"].as_str() == Some(uid))
}

/// What a snapshot says; nothing that could be an RGD's where it cannot be read.
fn content_of(view: &View) -> Option<Content> {
    let spec = GraphRevisionSpec::deserialize(view.value.get("spec")?).ok()?;
    Content::of(&spec.snapshot.spec).ok()
}

/// Whether a revision says what the RGD says: an RGD that has changed is ahead of all its revisions until the next one is issued.
pub fn says_the_same(revision: &View, rgd: &View) -> bool {
    content_of_rgd(rgd).is_ok_and(|content| content_of(revision) == Some(content))
}

/// What the spec of an RGD says, or why it cannot be read.
pub(super) fn content_of_rgd(rgd: &View) -> Result<Content, String> {
    if let Some(unread) = rgd.unread {
        return Err(unread.why().to_owned());
    }
    let spec = ResourceGraphDefinitionSpec::deserialize(&rgd.value["spec"])
        .map_err(|error| format!("the spec cannot be read: {error}; is the CRD that of this release?"))?;
    Content::of(&spec).map_err(|error| error.to_string())
}
