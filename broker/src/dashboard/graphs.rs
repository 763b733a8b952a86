//! `Graphs`: ResourceGraphDefinitions of the coordination cluster and their rollouts, as far as the page shows them. The broker
//! itself needs to know of neither.

use std::sync::Arc;

use super::{
    definition::Definition,
    kept::{Kept, Listed},
    rollout::Rollout,
    sight::Sight,
};
use crate::broker::Broker;

/// See the module.
pub(super) struct Graphs {
    definitions: Kept<Definition>,
    rollouts: Kept<Rollout>,
}

/// All of them, in short.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct GraphList {
    /// The graphs.
    pub(super) definitions: Sight<Listed<Definition>>,
    /// How they get to clusters.
    pub(super) rollouts: Sight<Listed<Rollout>>,
}

/// One of them, as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Graph {
    /// Its name.
    pub(super) name: String,
    /// The graph, if there is one.
    pub(super) definition: Sight<Option<Definition>>,
    /// How it gets to clusters, if anybody has said that.
    pub(super) rollout: Sight<Option<Rollout>>,
}

impl Graphs {
    /// Watches both from now on, and as long as this is held.
    pub(super) fn watch(broker: &Broker) -> Self {
        Self { definitions: Kept::watch(broker), rollouts: Kept::watch(broker) }
    }

    /// All of them, as of now.
    pub(super) fn list(&self, broker: &Broker) -> GraphList {
        GraphList { definitions: self.definitions.list(broker), rollouts: self.rollouts.list(broker) }
    }

    /// At most so many of the graphs that are such, by name, and whether there are more.
    pub(super) fn some(
        &self,
        broker: &Broker,
        most: usize,
        is_such: impl Fn(&Definition) -> bool,
    ) -> Sight<(Vec<Arc<Definition>>, bool)> {
        self.definitions.some(broker, most, is_such)
    }

    /// The one of this name.
    pub(super) fn one(&self, broker: &Broker, name: &str) -> Graph {
        let (definition, rollout) = (self.definitions.one(broker, name), self.rollouts.one(broker, name));
        Graph { name: name.to_owned(), definition, rollout }
    }
}

impl Graph {
    /// Whether it is known that there is nothing of this name. What nobody can tell may be there.
    pub(super) fn is_missing(&self) -> bool {
        self.definition.absent() == Some(true) && self.rollout.absent() == Some(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known<T>(seen: T) -> Sight<T> {
        Sight::Known { seen, doubt: None }
    }

    #[test]
    fn only_what_is_known_not_to_be_there_is_missing() {
        let graph = |definition, rollout| Graph { name: "web".into(), definition, rollout };
        assert!(graph(known(None), known(None)).is_missing());
        assert!(graph(known(None), Sight::Unserved).is_missing());
        assert!(!graph(Sight::Troubled("forbidden".into()), known(None)).is_missing());
        assert!(!graph(known(None), Sight::default()).is_missing());
        assert!(!graph(known(Some(Definition::default())), Sight::Unserved).is_missing());
        assert!(!graph(known(None), known(Some(Rollout::default()))).is_missing());
    }

    #[tokio::test]
    async fn without_the_coordination_cluster_no_graph_is_missing() {
        let (broker, _channels) = Broker::of_one_kind();
        let graphs = Graphs::watch(&broker);
        assert!(!graphs.one(&broker, "web").is_missing());
        let GraphList { definitions, rollouts } = graphs.list(&broker);
        assert!(matches!((definitions, rollouts), (Sight::Waiting(_), Sight::Waiting(_))));
    }
}
