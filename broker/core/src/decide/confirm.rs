//! What is asked of an API server itself, because a cache may be behind it.

use broker_api::ClusterName;
use runtime_effect::interest::Interest;

use super::Pass;
use crate::{copy, decision::Step, snapshot::Live};

impl<'a> Pass<'a> {
    /// Where the copy at a provider is.
    pub(super) fn copy_at(&self, provider: &ClusterName) -> Interest {
        Interest { cluster: provider.clone(), name: copy::name(self.snapshot.key), ..self.snapshot.key.place() }
    }

    /// What a live read has just said of an object, if that was read.
    pub(super) fn live(&self, object: &Interest) -> Option<&'a Live> {
        let confirmed = self.snapshot.confirmed.as_ref()?;
        (confirmed.object == *object).then_some(&confirmed.live)
    }

    /// The same; asks for it, and comes again with the answer, where it was not read.
    pub(super) fn confirm(&mut self, object: Interest) -> Option<&'a Live> {
        let live = self.live(&object);
        let step = Step::Confirm(Box::new(object));
        if live.is_none() && !self.decision.steps.contains(&step) {
            self.decision.steps.push(step);
        }
        live
    }
}
