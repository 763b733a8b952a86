//! Looks whether a provider is settled, when something has changed there.

use broker_api::{ClusterName, Role};
use runtime_effect::kind::Kind;
use runtime_fleet::{cluster::ClusterState, kind::KindState};

use crate::{broker::Broker, watches::Brokered};

impl Broker {
    /// A cluster is about to be engaged. Once it is, [`Broker::resettle`]; what that finds is enqueued. A change of its
    /// policy that is taken in in between finds it not engaged yet: what is decided until then is as good as decided before.
    pub(crate) fn expect(&self, cluster: &ClusterName) {
        if cluster.role() == Role::Provider {
            for brokered in &self.watches.brokered {
                self.origins.unsettled.expect(cluster, &brokered.kind);
            }
        }
    }

    /// Something has changed at a provider: its connection, what it serves, what is known of its copies or AcceptAPIs. To be
    /// called before anything is looked at again because of it.
    pub(crate) fn resettle(&self, provider: &ClusterName, kind: Option<&Kind>) {
        if provider.role() != Role::Provider {
            return;
        }
        let wanted = |brokered: &&Brokered| kind.is_none_or(|kind| *brokered.kind == *kind);
        for brokered in self.watches.brokered.iter().filter(wanted) {
            self.origins.unsettled.look_at(provider, &brokered.kind, || self.is_settled(provider, brokered));
        }
    }

    /// Whether a provider that holds no copy of an origin, has no AcceptAPI that speaks of it, and is not its own, matters to
    /// nothing that is decided of it: see [`broker_core::snapshot::Snapshot::holders`].
    fn is_settled(&self, provider: &ClusterName, brokered: &Brokered) -> bool {
        // One that is not engaged is nobody's business.
        let Some(cluster) = self.fleet().cluster(provider) else { return true };
        let complete = cluster.index(&brokered.spec).is_some_and(|index| index.is_complete());
        let known = self.knows_acceptances(&self.accept_apis.load(), provider, &brokered.kind);
        is_settled(&cluster.state(), &cluster.kind(&brokered.gvk), complete, known)
    }
}

/// `complete`: all its objects of the kind have been seen; `known`: so have its AcceptAPIs. One that does not serve the kind
/// has neither. That holds when it does not answer any more, too: whatever it was seen to hold, or to accept, is looked at
/// for that. But whether it still does not serve the kind nobody knows then.
fn is_settled(state: &ClusterState, serves: &KindState, complete: bool, known: bool) -> bool {
    match state {
        ClusterState::Ready => *serves == KindState::Missing || complete && known,
        ClusterState::Unreachable { .. } => complete && known,
        ClusterState::Connecting | ClusterState::Leaving => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settled_is_of_whom_all_is_known() {
        let (ready, connecting) = (&ClusterState::Ready, &ClusterState::Connecting);
        let since = tokio::time::Instant::now();
        let lost = &ClusterState::Unreachable { since, cause: runtime_fleet::cluster::Cause::Lost, why: String::new() };
        let (missing, unknown) = (&KindState::Missing, &KindState::Unknown);
        assert!(is_settled(ready, unknown, true, true) && is_settled(ready, missing, false, false));
        assert!(!is_settled(ready, unknown, false, true), "it may hold a copy that was not seen");
        assert!(!is_settled(ready, unknown, true, false), "it may accept the object");
        assert!(is_settled(lost, unknown, true, true), "what it was seen to hold and to accept is looked at for that");
        assert!(!is_settled(lost, unknown, false, true) && !is_settled(lost, unknown, true, false));
        assert!(!is_settled(lost, missing, false, false), "it may serve it by now");
        for state in [connecting, &ClusterState::Leaving] {
            assert!(!is_settled(state, unknown, true, true) && !is_settled(state, missing, false, false));
        }
    }
}
