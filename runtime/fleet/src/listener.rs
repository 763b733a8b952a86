//! Who hears of what happens in clusters. Whoever asks for a watch says who hears of it, and several may share one.

use std::{collections::BTreeMap, sync::Arc};

use broker_api::{ClusterName, Role};
use kube::core::GroupVersionKind;

use crate::{
    census::Census,
    cluster::state::{ClusterState, Labels},
    index::{Change, Index},
    kind::{KindState, SchemaNews},
    object::ObjectKey,
    sorted::Sort,
    watch::WatchSpec,
};

/// Hears of what one watch sees. Called from the watch's task: must be quick and must not block.
///
/// What it hears is where to look, and no more: how often, and in which order, does not matter.
pub trait Listener: Send + Sync + 'static {
    /// Whether decisions will want to read this object. What nobody keeps is known by key, uid and version only.
    fn keep(&self, _index: &Index, _key: &ObjectKey) -> bool {
        true
    }

    /// Whether decisions read bodies that are not held: then they may be dropped for want of memory, if all listeners say so.
    fn reads_again(&self) -> bool {
        false
    }

    /// Whether anything waits for what the watch tells. A cluster does not lag for want of what is only shown to people.
    fn is_awaited(&self) -> bool {
        true
    }

    /// Where the watch's index is counted, if it is. Of several the first counts.
    fn census(&self) -> Option<Arc<Census>> {
        None
    }

    /// By what the watch's index sorts its objects, for [`Index::sorted`]. Of two of one name the first counts.
    fn sorts(&self) -> &'static [Sort] {
        &[]
    }

    /// An object came, changed or went.
    fn changed(&self, index: &Index, change: &Change);

    /// An object is among those with which the index became complete, or was when the listener came: [`Listener::completed`]
    /// follows at once. Whoever looks at all of them there need not do so here.
    fn listed(&self, index: &Index, change: &Change) {
        self.changed(index, change);
    }

    /// All that is there has been seen: the index has finished its first list, or had when the listener came.
    fn completed(&self, _index: &Index) {}

    /// What is there is not known (any more), until it is completed: it may not be watched, the kind is gone, or what is held
    /// has grown too much.
    fn incomplete(&self, _index: &Index) {}

    /// It hears no more of the watch in this cluster. If nobody else does, nothing is known any more of what that saw.
    fn ended(&self, _cluster: &ClusterName) {}

    /// The kind was found, is served in another way, changed its schema, or went missing. [`Observer::kind`] has heard of it.
    /// Who comes to a watch that runs already is not told what was known before: that is in the cluster.
    fn kind(&self, _cluster: &ClusterName, _gvk: &GroupVersionKind, _state: &KindState) {}
}

/// Hears of clusters. Must be quick and must not block.
pub trait Observer: Send + Sync + 'static {
    /// A cluster came, or changed its state.
    fn cluster(&self, cluster: &ClusterName, state: &ClusterState);

    /// A cluster's labels are others than before; `None`: they cannot be read.
    fn labels(&self, _cluster: &ClusterName, _labels: Option<&Labels>) {}

    /// A kind that is wanted there was found, is served in another way, changed its schema, or went missing. Called once,
    /// before any [`Listener::kind`]: whoever listens finds the schema taken in.
    fn kind(&self, _cluster: &ClusterName, _gvk: &GroupVersionKind, _state: &KindState, _schema: SchemaNews<'_>) {}

    /// This watch has seen all that is there, for the first time or again. Those that listen to it have heard of that: what was
    /// not known because they were being told is known now.
    fn completed(&self, _cluster: &ClusterName, _spec: &WatchSpec) {}

    /// What this watch has seen is not known any more, until it is completed: see [`Listener::incomplete`].
    fn incomplete(&self, _cluster: &ClusterName, _spec: &WatchSpec) {}
}

/// Which clusters are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClusterSelector {
    /// All in this role.
    Role(Role),
    /// This one.
    Name(ClusterName),
    /// All in this role that have these labels, at each moment.
    Labelled(Role, BTreeMap<String, String>),
}

impl ClusterSelector {
    /// Whether a cluster with these labels is meant. `None`: its labels cannot be read, and nobody can say.
    pub fn selects(&self, cluster: &ClusterName, labels: Option<&Labels>) -> Option<bool> {
        match self {
            Self::Role(role) => Some(cluster.role() == *role),
            Self::Name(name) => Some(cluster == name),
            Self::Labelled(role, _) if cluster.role() != *role => Some(false),
            Self::Labelled(_, wanted) => {
                let labels = labels?;
                Some(wanted.iter().all(|(key, value)| labels.get(key) == Some(value)))
            }
        }
    }

    /// Whether other labels may change the answer.
    pub(crate) fn reads_labels(&self) -> bool {
        matches!(self, Self::Labelled(..))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(of: &[(&str, &str)]) -> BTreeMap<String, String> {
        of.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_cluster_is_meant_by_its_name_its_role_or_its_labels() {
        let (a, b, consumer) = (ClusterName::provider("a"), ClusterName::provider("b"), ClusterName::consumer("a"));
        let none = Labels::default();
        let selects =
            |selector: &ClusterSelector, cluster: &ClusterName| selector.selects(cluster, Some(&none)).unwrap();
        let by_name = ClusterSelector::Name(a.clone());
        assert!(selects(&by_name, &a) && !selects(&by_name, &b) && !selects(&by_name, &consumer));
        let by_role = ClusterSelector::Role(Role::Provider);
        assert!(selects(&by_role, &a) && selects(&by_role, &b) && !selects(&by_role, &consumer));
        assert!(!by_name.reads_labels() && !by_role.reads_labels());

        let gold = ClusterSelector::Labelled(Role::Provider, labels(&[("tier", "gold"), ("region", "eu")]));
        let with = |cluster, of: &[(&str, &str)]| gold.selects(cluster, Some(&Arc::new(labels(of))));
        assert_eq!(with(&a, &[("tier", "gold"), ("region", "eu"), ("more", "")]), Some(true));
        assert_eq!(with(&a, &[("tier", "gold")]), Some(false), "all of them");
        assert_eq!(with(&a, &[("tier", "silver"), ("region", "eu")]), Some(false));
        assert_eq!(with(&consumer, &[("tier", "gold"), ("region", "eu")]), Some(false));
        assert!(gold.reads_labels());
    }

    #[test]
    fn labels_that_cannot_be_read_are_not_taken_for_none() {
        let a = ClusterName::provider("a");
        let asks = |selector: ClusterSelector| selector.selects(&a, None);
        assert_eq!(asks(ClusterSelector::Labelled(Role::Provider, labels(&[("tier", "gold")]))), None);
        assert_eq!(asks(ClusterSelector::Labelled(Role::Consumer, labels(&[("tier", "gold")]))), Some(false));
        assert_eq!(asks(ClusterSelector::Role(Role::Provider)), Some(true));
    }
}
