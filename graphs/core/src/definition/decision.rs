//! What comes out of a decision about an RGD.

use runtime_effect::{kind::Kind, memory, note::Note, write};

/// A write that was decided on.
pub type Write = write::Write<Subject>;

/// What a write may be about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Subject {
    /// The finalizer of the RGD.
    Marks,
    /// A revision that is issued.
    Revision,
    /// The end of a revision: its deletion, its finalizer.
    RevisionEnd,
    /// The status of a revision.
    RevisionStatus,
    /// The CRD.
    CustomResource,
    /// The end of an instance.
    Instance,
    /// The status of the RGD.
    Status,
}

impl memory::Subject for Subject {
    const MOST: usize = 32;

    fn is_many(self) -> bool {
        matches!(self, Self::RevisionEnd | Self::RevisionStatus | Self::Instance)
    }

    fn is_paced(self) -> bool {
        false
    }
}

/// What to do about an RGD.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Decision {
    /// In this order; after the first that fails no more.
    pub writes: Vec<Write>,
    /// What its instances are served from.
    pub serve: Serve,
    /// Whether what the RGD says now would break the instances of the CRD that is there, so that it was not written; `None`: it
    /// is not known what is there.
    pub breaks: Option<bool>,
    /// Kinds for which the RGD, or a revision newer than the one that serves, waits: compile again when one is served.
    pub waits_for: Vec<Kind>,
    /// The revision, by its name, that is to be compiled before anything more can be said.
    pub compile: Option<String>,
    /// The RGD says that there is a revision which is not in the list: read the list from the API server, then decide again.
    pub confirm: bool,
    /// The instances have to be known: list them, then decide again.
    pub list_instances: bool,
    /// Look again after so many milliseconds, even if nothing changes.
    pub again: Option<u64>,
    /// What to tell on the RGD.
    pub notes: Vec<Note>,
}

impl Decision {
    /// Look again after so many milliseconds, or earlier.
    pub(super) fn again_in(&mut self, millis: u64) {
        self.again = Some(self.again.map_or(millis, |again| again.min(millis)));
    }
}

/// What the instances of an RGD are served from. Those that are being deleted are finished in any case: that needs no graph.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Serve {
    /// What they are served from now, if anything: it cannot be told yet whether that changes.
    #[default]
    AsBefore,
    /// Nothing.
    Nothing,
    /// This revision.
    Revision {
        /// Its number.
        number: i64,
        /// Name of the GraphRevision.
        name: String,
        /// Uid of the GraphRevision: it is compiled once.
        uid: Box<str>,
    },
}

impl Serve {
    /// The number, if it is a revision.
    pub fn number(&self) -> Option<i64> {
        match self {
            Self::Revision { number, .. } => Some(*number),
            Self::AsBefore | Self::Nothing => None,
        }
    }
}
