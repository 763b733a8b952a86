//! `Program`: which of the two programs that a Broker becomes an object is for, and how both are told apart.

use std::collections::BTreeMap;

use kube::api::ObjectMeta;
use serde_json::{Value, json};

use crate::{
    NAME,
    desired::hash,
    owner::{INSTANCE_LABEL, MANAGED_BY_LABEL, Owner, UID_LABEL},
};

/// Label that names the program.
const NAME_LABEL: &str = "app.kubernetes.io/name";
/// Longest value of a label, and name of a Service.
const LONGEST: usize = 63;

/// One of the programs that a Broker becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Program {
    /// The broker.
    Broker,
    /// The controller of ResourceGraphDefinitions.
    Graphs,
}

impl Program {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Broker, Self::Graphs];

    fn label(self) -> &'static str {
        match self {
            Self::Broker => "resource-broker",
            Self::Graphs => "resource-graphs",
        }
    }

    /// In sentences for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Broker => "the broker",
            Self::Graphs => "the graphs controller",
        }
    }

    /// Where a Broker says what its container gets.
    pub fn resources_field(self) -> &'static str {
        match self {
            Self::Broker => "spec.resources",
            Self::Graphs => "spec.graphs.resources",
        }
    }

    /// Name of its Deployment, and of all that has one name with it.
    pub fn name(self, owner: &Owner) -> String {
        match self {
            Self::Broker => owner.name.clone(),
            Self::Graphs => fitting(&owner.name, "-graphs"),
        }
    }

    /// Name of the Service of its metrics.
    pub fn metrics_name(self, owner: &Owner) -> String {
        match self {
            Self::Broker => fitting(&owner.name, "-metrics"),
            Self::Graphs => fitting(&owner.name, "-graphs-metrics"),
        }
    }

    /// Name of its container. That of the broker is the one that the Go operator gave it: with another name a server-side
    /// apply would leave the old container next to the new one.
    pub fn container_name(self, owner: &Owner) -> String {
        match self {
            Self::Broker => owner.name.clone(),
            Self::Graphs => self.label().to_owned(),
        }
    }

    /// Labels of its objects. They never change while the Broker lives: a change would restart its pods.
    pub fn labels(self, owner: &Owner) -> BTreeMap<String, String> {
        let labels = [
            (NAME_LABEL, self.label()),
            (INSTANCE_LABEL, &owner.name),
            (MANAGED_BY_LABEL, NAME),
            (UID_LABEL, &owner.uid),
        ];
        labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into()
    }

    /// Labels by which Services and policies find its pods.
    pub fn pod_selector(self, owner: &Owner) -> Value {
        json!({"app": self.name(owner), UID_LABEL: owner.uid})
    }

    /// The program of a Broker's object or pod.
    pub fn of(metadata: &ObjectMeta) -> Self {
        let name = metadata.labels.as_ref().and_then(|labels| labels.get(NAME_LABEL));
        if name.is_some_and(|name| name == Self::Graphs.label()) { Self::Graphs } else { Self::Broker }
    }
}

/// `<broker><suffix>`; of a name that is too long for that, what fits, and a hash of the whole.
fn fitting(broker: &str, suffix: &str) -> String {
    let full = format!("{broker}{suffix}");
    if full.len() <= LONGEST {
        return full;
    }
    let hash = &hash(&full.into())[..8];
    // Names are ASCII: validated before.
    let kept: String = broker.chars().take(LONGEST - suffix.len() - "-".len() - hash.len()).collect();
    format!("{kept}-{hash}{suffix}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(name: &str) -> Owner {
        Owner { name: name.into(), namespace: "n".into(), uid: "u".into() }
    }

    #[test]
    fn names_fit_and_differ() {
        assert_eq!(Program::Broker.metrics_name(&owner("b")), "b-metrics");
        assert_eq!(Program::Graphs.name(&owner("b")), "b-graphs");
        assert_eq!(Program::Broker.metrics_name(&owner(&"b".repeat(55))).len(), 63);
        let names: Vec<String> = [&"b".repeat(63), &format!("{}c", "b".repeat(62))]
            .into_iter()
            .flat_map(|name| {
                Program::ALL.into_iter().flat_map(move |it| {
                    let owner = owner(name);
                    [it.name(&owner), it.metrics_name(&owner)]
                })
            })
            .collect();
        for (index, name) in names.iter().enumerate() {
            assert!(name.len() <= 63 && !names[..index].contains(name), "{name}");
        }
    }

    #[test]
    fn a_pod_without_a_word_of_it_is_the_broker_s() {
        for program in Program::ALL {
            let metadata = ObjectMeta { labels: Some(program.labels(&owner("b"))), ..ObjectMeta::default() };
            assert_eq!(Program::of(&metadata), program);
        }
        assert_eq!(Program::of(&ObjectMeta::default()), Program::Broker);
    }
}
