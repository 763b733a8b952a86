//! `Sight`: what is known of a kind in the coordination cluster. What nobody can tell is never taken for nothing.

use std::sync::Arc;

use runtime_fleet::{index::Index, kind::KindState, watch::WatchSpec};

use crate::broker::Broker;

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Sight<T> {
    /// Nobody can tell now, and what that waits for.
    Waiting(&'static str),
    /// Nobody can tell, and why: mostly a right is missing.
    Troubled(String),
    /// The kind is not served, so that there are none.
    Unserved,
    /// This is there.
    Known {
        /// What.
        seen: T,
        /// Why there may be news that nobody has heard of.
        doubt: Option<String>,
    },
}

/// What is not known yet, or not any more.
const LIST: &str = "the first list is not done";
const CONNECTION: &str = "there is no connection to the coordination cluster";

impl<T> Default for Sight<T> {
    fn default() -> Self {
        Self::Waiting(LIST)
    }
}

impl Sight<Arc<Index>> {
    /// Of a watch in the coordination cluster.
    pub(super) fn of(broker: &Broker, spec: &WatchSpec) -> Self {
        let Some(hub) = broker.hub() else { return Self::Waiting(CONNECTION) };
        let Some(index) = hub.index(spec) else { return Self::default() };
        if index.is_complete() {
            let away = || (!hub.is_ready()).then(|| CONNECTION.to_owned());
            let doubt = index.trouble().or_else(away);
            return Self::Known { seen: index, doubt };
        }
        if !hub.is_ready() {
            return Self::Waiting(CONNECTION);
        }
        if hub.kind(&spec.gvk) == KindState::Missing {
            return Self::Unserved;
        }
        index.trouble().map_or_else(Self::default, Self::Troubled)
    }
}

impl<T> Sight<T> {
    /// What is made of what is there. `None`: it cannot be told after all.
    pub(super) fn map<U>(self, make: impl FnOnce(T) -> Option<U>) -> Sight<U> {
        match self {
            Self::Waiting(what) => Sight::Waiting(what),
            Self::Troubled(why) => Sight::Troubled(why),
            Self::Unserved => Sight::Unserved,
            Self::Known { seen, doubt } => make(seen).map_or_else(Sight::default, |seen| Sight::Known { seen, doubt }),
        }
    }
}

impl<T> Sight<Option<T>> {
    /// Whether what was looked for is not there. `None`: nobody can tell.
    pub(super) fn absent(&self) -> Option<bool> {
        match self {
            Self::Waiting(_) | Self::Troubled(_) => None,
            Self::Unserved => Some(true),
            Self::Known { seen, .. } => Some(seen.is_none()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_told_after_all_is_not_known() {
        let known = || Sight::Known { seen: 1, doubt: Some("late".to_owned()) };
        assert_eq!(known().map(|one| Some(one + 1)), Sight::Known { seen: 2, doubt: Some("late".to_owned()) });
        assert_eq!(known().map(|_| None::<u8>), Sight::Waiting(LIST));
        assert_eq!(Sight::<u8>::Unserved.map(|_| Some(1)), Sight::Unserved);
    }

    #[tokio::test]
    async fn without_the_coordination_cluster_nothing_is_known() {
        let (broker, _channels) = Broker::of_one_kind();
        let spec = &broker.watches.migrations;
        assert_eq!(Sight::of(&broker, spec).map(|_| Some(())), Sight::Waiting(CONNECTION));
    }
}
