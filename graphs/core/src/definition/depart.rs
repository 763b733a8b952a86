//! The end of an RGD.

use runtime_effect::{kind::Kind, merge::digest, note::Note, seen::Seen, view::View};
use serde_json::Value;

use super::{
    condition::name_of,
    custom_resource::{crd_kind, generated_kind, is_established},
    decide::{Pass, rgd_kind},
    decision::{Serve, Subject},
    instance::{AT_ONCE, Instance, crd_deletion, deletion},
    snapshot::{Elsewhere, Instances},
};
use crate::crd::{Owner, Ownership, ownership};

/// So many are named to people.
const NAMED: usize = 5;

impl Pass<'_> {
    /// The RGD is being deleted: it serves no more. Its CRD and its instances stay, unless the controller was told otherwise.
    pub(super) fn depart(&mut self, rgd: &View) {
        self.decision.serve = Serve::Nothing;
        self.release_all();
        if !rgd.has_finalizer(broker_api::graphs::keys::FINALIZER) {
            return;
        }
        if let Elsewhere::In(clusters) = self.snapshot.elsewhere {
            let message = format!("it has to be taken away first from {clusters}");
            self.decision.notes.push(Note::normal("AwaitingClusters", message));
        }
        let is_cleared =
            !self.snapshot.flags.allow_crd_deletion || generated_kind(rgd).is_none() || self.is_cleared(rgd);
        if is_cleared && *self.snapshot.elsewhere == Elsewhere::Nowhere {
            self.let_go(Subject::Marks, rgd_kind(), rgd);
        }
    }

    /// Deletes the instances, then the CRD. Returns whether nothing of ours is left.
    fn is_cleared(&mut self, rgd: &View) -> bool {
        let owner = Owner { name: self.snapshot.name, uid: &rgd.uid, version: self.snapshot.flags.version };
        let crd = match self.snapshot.crd {
            Seen::Unknown => return false,
            Seen::Absent => return true,
            Seen::Present(crd) => crd,
        };
        if ownership(&crd.value, owner) != Ownership::Ours {
            return true;
        }
        if crd.deleting {
            return false;
        }
        let instances = match self.snapshot.instances {
            Instances::Known(instances) => instances,
            // One that was never served has none.
            Instances::Unknown if crd.conditions_known && !is_established(crd) => &[],
            Instances::Unknown => {
                self.decision.list_instances = true;
                return false;
            }
        };
        if instances.is_empty() {
            let note = Note::normal("KindDeleted", format!("CRD {} was deleted", name_of(crd)));
            let (op, intent) = crd_deletion(crd);
            self.push(Subject::CustomResource, crd_kind(), ("", name_of(crd)), digest(&intent), op, Some(note));
        } else {
            self.clear(&instance_kind(crd), instances);
        }
        false
    }

    fn clear(&mut self, kind: &Kind, instances: &[Instance]) {
        let named: Vec<String> = instances.iter().take(NAMED).map(|instance| instance.key.to_string()).collect();
        let more = if instances.len() > NAMED { ", …" } else { "" };
        let left = instances.len();
        let message =
            format!("{left} instances of kind {} have to go before the CRD: {}{more}", kind.kind, named.join(", "));
        self.decision.notes.push(Note::normal("AwaitingInstances", message));
        for instance in instances.iter().filter(|instance| !instance.deleting).take(AT_ONCE) {
            let (op, intent) = deletion(&instance.uid);
            let at = (&*instance.key.namespace, &*instance.key.name);
            self.push(Subject::Instance, kind.clone(), at, digest(&intent), op, None);
        }
    }
}

/// The kind that a CRD of ours defines: it has one version.
fn instance_kind(crd: &View) -> Kind {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let spec = &crd.value["spec"];
    Kind {
        group: text(&spec["group"]),
        version: text(&spec["versions"][0]["name"]),
        kind: text(&spec["names"]["kind"]),
    }
}
