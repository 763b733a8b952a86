//! What the platform says of clusters, beside their kubeconfigs: bounds of providers, and labels.

use std::sync::{Arc, PoisonError, RwLock};

use broker_api::ClusterName;
use broker_core::policy::{Policy, PolicyDocument};
use runtime_fleet::{cluster::Labels, hashed::HashMap, source::Beside};

/// What stands beside a kubeconfig.
#[derive(Debug)]
pub(crate) struct Said {
    /// The bounds.
    pub(crate) policy: Arc<Policy>,
    /// `None`: they cannot be read.
    pub(crate) labels: Option<Labels>,
}

/// The bounds, by cluster. Labels are the fleet's.
#[derive(Debug, Default)]
pub(crate) struct Policies(RwLock<HashMap<ClusterName, Arc<Policy>>>);

impl Policies {
    /// Takes in the bounds of a cluster. Whether they are others than before.
    pub(crate) fn set(&self, cluster: &ClusterName, policy: &Arc<Policy>) -> bool {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        all.insert(cluster.clone(), Arc::clone(policy)).unwrap_or_default() != *policy
    }

    /// A cluster has left.
    pub(crate) fn forget(&self, cluster: &ClusterName) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).remove(cluster);
    }

    /// The bounds of a provider.
    pub(crate) fn of(&self, provider: &ClusterName) -> Arc<Policy> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(provider).cloned().unwrap_or_default()
    }
}

/// What the platform says beside a kubeconfig.
pub(crate) fn read(beside: &Beside) -> Said {
    match beside {
        Beside::Nothing => Said { policy: Arc::default(), labels: Some(Arc::default()) },
        Beside::Secret { labels, annotations } => {
            Said { policy: Arc::new(Policy::annotated(annotations)), labels: Some(Arc::new(labels.clone())) }
        }
        Beside::File { name, content } => {
            let content = content.as_ref().map_err(Clone::clone);
            let document = content.and_then(|text| {
                // YAML's null, which would pass for bounds that say nothing.
                if text.trim().is_empty() {
                    return Err("it is empty".to_owned());
                }
                serde_saphyr::from_str::<PolicyDocument>(text).map_err(|error| error.to_string())
            });
            match document {
                Ok(document) => {
                    Said { policy: Arc::new(Policy::written(&document)), labels: Some(Arc::new(document.labels)) }
                }
                // The first line says where; the rest shows the file.
                Err(why) => {
                    let why = why.lines().next().unwrap_or_default();
                    Said { policy: Arc::new(Policy::unreadable(format!("{name}: {why}"))), labels: None }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use runtime_effect::kind::Kind;

    use super::*;

    fn file(text: &str) -> Beside {
        Beside::File { name: "theseus.policy.yaml".into(), content: Ok(text.to_owned()) }
    }

    #[test]
    fn a_file_says_all_that_annotations_and_labels_say() {
        let said = read(&file(
            "maxPriority: 5\nallowRebalance: true\nserves: [VM.v1.g]\nconsumers: tier in (gold)\nlabels: {tier: gold}\n",
        ));
        assert_eq!((said.policy.max_priority, said.policy.allow_rebalance), (Some(5), true));
        assert!(said.policy.errors().is_empty());
        let kind = |kind: &str| Kind { group: "g".into(), version: "v1".into(), kind: kind.into() };
        assert!(said.policy.serves(&kind("VM")) && !said.policy.serves(&kind("Certificate")));
        assert!(said.policy.consumers().unwrap().selects(&said.labels.unwrap()));
    }

    #[test]
    fn what_cannot_be_read_is_never_taken_for_nothing() {
        for text in ["", "maxPriority: [", "maxPriority: high", "maxpriority: 5", "serves: vms", "- a"] {
            let said = read(&file(text));
            assert!(said.policy.errors().len() == 1 && said.labels.is_none(), "{text:?}: {said:?}");
            let error = &said.policy.errors()[0];
            assert!(error.starts_with("theseus.policy.yaml: ") && !error.contains('\n'), "{error}");
        }
        let unread = Beside::File { name: "a".into(), content: Err("cannot be read".into()) };
        assert_eq!(read(&unread).policy.errors(), ["a: cannot be read"]);
    }

    #[test]
    fn only_what_is_other_is_news() {
        let policies = Policies::default();
        let cluster = ClusterName::provider("theseus");
        let set = |beside: &Beside| policies.set(&cluster, &read(beside).policy);
        assert!(!set(&Beside::Nothing), "no bounds are none");
        assert!(set(&file("maxPriority: 5")));
        assert!(!set(&file("maxPriority: 5 # five")));
        assert_eq!(policies.of(&cluster).max_priority, Some(5));
        policies.forget(&cluster);
        assert_eq!(policies.of(&cluster).max_priority, None);
    }
}
