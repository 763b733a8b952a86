//! What is left to be done in a spoke that an RGD leaves: a pure function of the CRD and of its instances.

use std::collections::BTreeMap;

use broker_api::{
    ClusterName,
    graphs::{keys, rollout::Offboarding},
};
use runtime_effect::{kind::Kind, memory, merge::digest, note::Note, seen::Seen, view::View, write};
use serde_json::{Value, json};

use super::mark;
use crate::definition::{AT_ONCE, Instance, crd_deletion, crd_kind, deletion};

/// Labels of ours that are on an instance.
const LABELS: [&str; 5] = [keys::OWNED, keys::VERSION, keys::APPLYSET_ID, keys::RGD_ID, keys::RGD_NAME];

/// What a write in a spoke may be about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Subject {
    /// The CRD.
    CustomResource,
    /// An instance that is released or deleted.
    Instance,
}

impl memory::Subject for Subject {
    const MOST: usize = 2 * AT_ONCE;

    fn is_many(self) -> bool {
        self == Self::Instance
    }

    fn is_paced(self) -> bool {
        false
    }
}

/// A write that was decided on.
pub type Write = write::Write<Subject>;

/// All that one decision looks at.
#[derive(Debug, Clone, Copy)]
pub struct Leaving<'a> {
    /// The spoke.
    pub cluster: &'a ClusterName,
    /// The CRD of the RGD's name there, whoever made it.
    pub crd: &'a Seen,
    /// Uid of the RGD.
    pub rgd_uid: &'a str,
    /// 12 hexadecimal digits that tell this hub from others.
    pub hub: &'a str,
    /// What is asked for.
    pub offboarding: Offboarding,
    /// The kind that the CRD defines, where it is served.
    pub kind: Option<&'a Kind>,
}

/// How far it is.
#[derive(Debug, Clone, PartialEq)]
pub enum Departure {
    /// Nobody can tell.
    Unknown,
    /// Nothing is left to do.
    Left,
    /// It is under way.
    Going {
        /// To be done now.
        writes: Vec<Write>,
        /// Instances that something has to be done about, at least these.
        instances: usize,
        /// Some could not be read.
        unread: bool,
    },
}

/// Whether an instance with these labels, and with finalizers or without, may have anything of ours on it.
pub fn is_held(has_finalizers: bool, labels: &BTreeMap<String, String>) -> bool {
    has_finalizers || LABELS.iter().any(|label| labels.contains_key(*label))
}

/// What is to be done in a spoke that an RGD leaves. `instances`: all of the CRD's kind, where they are known, and the whole
/// of each, which is looked at where it is to be released; of those of which [`is_held`] says no, what is released has no
/// need. A CRD that was never served has none.
pub fn leave(leaving: &Leaving<'_>, instances: Option<impl Iterator<Item = (Instance, Seen)>>) -> Departure {
    let crd = match leaving.crd {
        Seen::Unknown => return Departure::Unknown,
        Seen::Absent => return Departure::Left,
        Seen::Present(crd) => crd,
    };
    if leaving.offboarding == Offboarding::Orphan || mark(crd, leaving.rgd_uid, leaving.hub).is_none() {
        return Departure::Left;
    }
    if instances.is_none() && leaving.kind.is_some() {
        return Departure::Unknown;
    }
    let deletes = leaving.offboarding == Offboarding::Delete;
    let (mut writes, mut left, mut unread) = (Vec::new(), 0, false);
    for (instance, seen) in instances.into_iter().flatten() {
        let wanted = match seen {
            _ if deletes => Some(deletion(&instance.uid)),
            Seen::Present(view) => match release(&view) {
                Some(op) => Some((op, json!(["release", &*instance.uid]))),
                None => continue,
            },
            Seen::Unknown => {
                unread = true;
                None
            }
            Seen::Absent => continue,
        };
        left += 1;
        // One that is being deleted is brought to its end, children first.
        if let (Some(kind), Some(wanted)) = (leaving.kind, wanted.filter(|_| !instance.deleting)) {
            let at = (&*instance.key.namespace, &*instance.key.name);
            writes.push(leaving.write(Subject::Instance, kind.clone(), at, wanted, None));
        }
        if writes.len() == AT_ONCE {
            break;
        }
    }
    if left > 0 {
        return Departure::Going { writes, instances: left, unread };
    }
    if !deletes {
        return Departure::Left;
    }
    if crd.deleting {
        return Departure::Going { writes, instances: 0, unread: false };
    }
    let name = crd.value["metadata"]["name"].as_str().unwrap_or_default();
    let note = Note::normal("KindDeleted", format!("CRD {name} was deleted in {}", leaving.cluster));
    let write = leaving.write(Subject::CustomResource, crd_kind(), ("", name), crd_deletion(crd), Some(note));
    Departure::Going { writes: vec![write], instances: 0, unread: false }
}

/// The labels of ours on an instance.
fn labels(instance: &View) -> Vec<&'static str> {
    LABELS.into_iter().filter(|label| instance.label(label).is_some()).collect()
}

/// Takes our finalizer and labels off; `None`: there are none. What says which children it has stays: it may be taken up
/// again.
fn release(instance: &View) -> Option<write::Op> {
    let labels = labels(instance);
    if labels.is_empty() && !instance.has_finalizer(keys::FINALIZER) {
        return None;
    }
    let finalizers: Vec<&str> = instance.finalizers().filter(|held| *held != keys::FINALIZER).collect();
    let labels: Value = labels.into_iter().map(|label| (label.to_owned(), Value::Null)).collect();
    Some(write::Op::Merge(instance.version().guard(json!({"metadata": {"finalizers": finalizers, "labels": labels}}))))
}

impl Leaving<'_> {
    fn write(
        &self,
        subject: Subject,
        kind: Kind,
        (namespace, name): (&str, &str),
        (op, intent): (write::Op, Value),
        note: Option<Note>,
    ) -> Write {
        let (cluster, namespace, name) = (self.cluster.clone(), namespace.to_owned(), name.to_owned());
        Write {
            cluster,
            kind,
            namespace,
            name,
            op,
            intent: digest(&intent),
            subject,
            notes: note.into_iter().collect(),
        }
    }
}
