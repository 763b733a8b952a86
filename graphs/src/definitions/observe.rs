//! From what indexes hold to what a decision about an RGD looks at.

use std::{collections::BTreeSet, sync::Arc};

use broker_api::ClusterName;
use graphs_core::{
    applyset::GroupKind,
    definition::{self, Compilation, Controller, Instance, Revision},
};
use runtime_effect::{seen::Seen, view::View};
use runtime_engine::{bodies::Needs, view::view};
use runtime_fleet::{cluster::Cluster, index::Lookup, object::ObjectKey};

use super::{
    DefinitionKey,
    key::key_of,
    listen::{BY_DEFINITION, BY_KIND, sorted_kind},
    record::Record,
};
use crate::{graphs::Graphs, instances::generated, watches::Need};

/// The CRD of an RGD, as it is known.
pub enum Crd {
    /// So.
    Seen(Seen),
    /// There is one that is not ours, as far as its label says: it has to be read.
    Unread,
}

impl Graphs {
    /// The RGD.
    pub(crate) fn definition(&self, key: &DefinitionKey) -> Seen {
        self.engine.seen(&key.cluster, &self.fixed.definitions, &key_of(&key.name))
    }

    /// A CRD, whoever made it.
    pub(crate) fn crd(&self, cluster: &Cluster, name: &str) -> Crd {
        let key = key_of(name);
        match self.engine.look(cluster, &self.fixed.generated, &key) {
            Seen::Absent => {}
            known => return Crd::Seen(known),
        }
        match cluster.index(&self.fixed.crds).map_or(Lookup::Unknown, |index| index.get(&key)) {
            Lookup::Unknown => Crd::Seen(Seen::Unknown),
            Lookup::Absent => Crd::Seen(Seen::Absent),
            Lookup::Found(_) => match self.engine.look(cluster, &self.fixed.crds, &key) {
                Seen::Unknown => Crd::Unread,
                known => Crd::Seen(known),
            },
        }
    }

    /// Whether nobody can tell what there is of a CRD, as [`Graphs::crd`] would say, too.
    pub(crate) fn is_crd_unknown(&self, cluster: &Cluster, name: &str) -> bool {
        let look = |spec| cluster.index(spec).map_or(Lookup::Unknown, |index| index.get(&key_of(name)));
        match look(&*self.fixed.generated) {
            Lookup::Found(_) => false,
            Lookup::Absent => matches!(look(&*self.fixed.crds), Lookup::Unknown),
            Lookup::Unknown => true,
        }
    }

    /// Name of the CRD of a kind: one of ours that defines it already keeps its plural. `None`: nobody knows yet.
    pub(crate) fn crd_name(&self, cluster: &ClusterName, kind: &GroupKind) -> Option<Arc<str>> {
        let index = self.engaged(cluster)?.index(&self.fixed.generated).filter(|index| index.is_complete())?;
        let ours = index.sorted(BY_KIND.name, &sorted_kind(kind));
        let is_established = |key: &ObjectKey| {
            let crd = index.get(key).found().and_then(|crd| crd.value().ok());
            crd.is_some_and(|crd| generated::kind_of(&crd).is_some())
        };
        let ours = ours.iter().map(|key| (&*key.name, is_established(key)));
        Some(definition::crd_name(kind, ours).into())
    }

    /// Whether there is a CRD of a kind, or may be.
    pub(crate) fn is_defined(&self, cluster: &ClusterName, plural: &str, group: &str) -> bool {
        let index = self.engaged(cluster).and_then(|cluster| cluster.index(&self.fixed.crds));
        let key = key_of(&format!("{plural}.{group}"));
        index.is_none_or(|index| index.get(&key) != Lookup::Absent)
    }

    /// What the next decision on an RGD has to read.
    pub(crate) fn definition_needs(&self, key: &DefinitionKey, crd: Option<&str>) -> Needs {
        let mut needs = Needs::default();
        let (Some(cluster), Some(crd)) = (self.fleet().cluster(&key.cluster), crd) else { return needs };
        if matches!(self.crd(&cluster, crd), Crd::Unread) {
            needs.look(&self.engine.bodies, cluster, &self.fixed.crds, &key_of(crd));
        }
        needs
    }

    /// The revisions of an RGD; `None`: not known yet.
    pub(super) fn revisions(&self, cluster: &Cluster, name: &str, record: &Record) -> Option<Vec<Revision>> {
        let index = cluster.index(&self.fixed.revisions).filter(|index| index.is_complete())?;
        let all = index.sorted(BY_DEFINITION.name, name).into_iter().filter_map(|key| {
            let view = view(&*index.get(&key).found()?)?;
            let outcome = record.revisions.iter().find(|attempt| attempt.uid == view.uid);
            let outcome = outcome.map_or(Compilation::Pending, |attempt| attempt.outcome.clone());
            Some(Revision { view, outcome })
        });
        Some(all.collect())
    }

    /// The uids of an RGD's revisions; `None`: not known.
    pub(super) fn revision_uids(&self, key: &DefinitionKey) -> Option<BTreeSet<Box<str>>> {
        let index = self.engaged(&key.cluster)?.index(&self.fixed.revisions).filter(|index| index.is_complete())?;
        let keys = index.sorted(BY_DEFINITION.name, &key.name).into_iter();
        Some(keys.filter_map(|key| Some(index.get(&key).found()?.uid.clone())).collect())
    }

    /// The instances of the kind that a CRD defines; `None`: not known.
    pub(super) fn instances_of_crd(cluster: &Cluster, crd: &View) -> Option<Vec<Instance>> {
        let kind = generated::kind_of(&crd.value)?;
        let index = cluster.index(&Need::Instances(kind).spec()).filter(|index| index.is_complete())?;
        let all = index.snapshot().into_iter();
        Some(all.map(|(key, object)| Instance { key, uid: object.uid.clone(), deleting: object.deleting }).collect())
    }

    /// How serving the instances of a CRD's kind goes, where they are served.
    pub(super) fn controller(cluster: &Cluster, crd: &Seen, serves: Option<bool>) -> Controller {
        if serves == Some(false) {
            return Controller::Running;
        }
        let kind = crd.present().and_then(|crd| generated::kind_of(&crd.value));
        // Without a kind there is nothing to serve, and other conditions say so.
        let Some(kind) = kind else { return Controller::Running };
        match cluster.index(&Need::Instances(kind).spec()) {
            Some(index) if index.is_complete() => Controller::Running,
            Some(index) => index.trouble().map_or(Controller::Starting, Controller::FailedToStart),
            None => Controller::Starting,
        }
    }

    /// A cluster, if it is engaged.
    pub(crate) fn engaged(&self, cluster: &ClusterName) -> Option<Arc<Cluster>> {
        self.fleet().cluster(cluster)
    }
}
