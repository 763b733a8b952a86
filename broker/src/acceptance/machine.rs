//! `AcceptMachine`: the statuses of AcceptAPIs, kept up to date.

use std::{sync::Arc, time::Duration};

use broker_api::ClusterName;
use broker_core::acceptance::AcceptId;
use runtime_effect::{
    kind::Kind,
    memory::Memory,
    merge::digest,
    report::Report,
    write::{Op, Write},
};
use runtime_engine::{
    engine::Engine,
    machine::{Machine, Occasion, Plan},
};
use runtime_fleet::{
    lock::lock,
    object::Object,
    queue::{Outcome, Queue},
    watch::WatchSpec,
};
use tokio::time::Instant;

use super::{
    registry::accept_api_key,
    status::{Said, finalizer_patch, said},
    statuses::{AcceptWork, Field},
};
use crate::broker::Broker;

/// How long a status rests after a write: counts change with every object.
const REST: Duration = Duration::from_secs(3);

/// After so long it is looked at again, although nothing has changed that it tells of: whether an expression rests is told
/// by nothing but time.
const WITH_EXPRESSION: Duration = Duration::from_secs(10);

/// Without one: nobody tells whether the resource that it names is served by a cluster which nobody else asks for it.
const WITHOUT: Duration = Duration::from_mins(5);

impl Broker {
    /// The status of an AcceptAPI is looked at. Only when all that was there at the start has been looked at do counts say
    /// anything; all are looked at then.
    pub(crate) fn enqueue_status(&self, id: &AcceptId) {
        if !self.intake.is_synced() {
            return;
        }
        let (now, work) = (Instant::now(), AcceptWork(id.clone()));
        // One that rests is looked at afterwards, whatever happens until then.
        let rests =
            self.accept_apis.statuses.with(&work, |remembered| remembered.rests.is_some_and(|until| now < until));
        if rests != Some(true) {
            self.accept_apis.statuses.enqueue(work);
        }
    }

    /// The statuses of a provider's AcceptAPIs are looked at.
    pub(crate) fn enqueue_statuses(&self, provider: &ClusterName) {
        for (id, _) in self.accept_apis.load().entries_of(provider) {
            self.enqueue_status(id);
        }
    }
}

/// See [`Machine`].
pub struct AcceptMachine {
    broker: Arc<Broker>,
}

impl AcceptMachine {
    /// The broker's.
    pub fn new(broker: Arc<Broker>) -> Arc<Self> {
        Arc::new(Self { broker })
    }

    /// The write that is wanted now, if any is.
    fn wanted(&self, id: &AcceptId, memory: &Memory<Field>) -> Option<Write<Field>> {
        let broker = &self.broker;
        let registry = broker.accept_apis.load();
        let entry = registry.entry(id)?;
        // One that does not answer is looked at when it does.
        let cluster = broker.fleet().cluster(&id.provider).filter(|cluster| cluster.is_ready())?;
        let index = cluster.index(&broker.watches.accept_apis)?;
        let held = index.get(&accept_api_key(id)).found()?;
        let (subject, patch, intent) = if let Some(patch) = finalizer_patch(&held) {
            let intent = digest(&patch["metadata"]["finalizers"]);
            (Field::Finalizers, patch, intent)
        } else if held.deleting {
            return None;
        } else {
            let Said { report: Report { patch, intent }, yields } = said(broker, id, entry, &held)?;
            if yields && memory.wants_again(Field::Status, intent) {
                return None;
            }
            (Field::Status, patch, intent)
        };
        Some(Write {
            cluster: id.provider.clone(),
            kind: Kind::from(&broker.watches.accept_apis.gvk),
            namespace: id.namespace.to_string(),
            name: id.name.to_string(),
            op: if subject == Field::Status { Op::MergeStatus(patch) } else { Op::Merge(patch) },
            intent,
            subject,
            notes: Vec::new(),
        })
    }
}

impl Machine for AcceptMachine {
    type Key = AcceptWork;
    type Subject = Field;

    fn engine(&self) -> &Arc<Engine> {
        &self.broker.engine
    }

    fn queue(&self) -> &Arc<Queue<AcceptWork>> {
        self.broker.accept_apis.statuses.queue()
    }

    fn decide(&self, work: &AcceptWork, _occasion: &Occasion) -> Result<Plan<Field>, Outcome> {
        let AcceptWork(id) = work;
        let registry = self.broker.accept_apis.load();
        let Some(entry) = registry.entry(id) else {
            self.broker.accept_apis.statuses.forget(work);
            return Err(Outcome::Done);
        };
        let has_expression = entry.compiled.as_ref().is_ok_and(|acceptance| acceptance.has_expression());
        let again = if has_expression { WITH_EXPRESSION } else { WITHOUT };
        let remembered = self.broker.accept_apis.statuses.of(work);
        let remembered = lock(&remembered);
        let rests = remembered.rests.and_then(|until| until.checked_duration_since(Instant::now()));
        if let Some(rest) = rests.filter(|rest| !rest.is_zero()) {
            return Err(Outcome::After(rest));
        }
        let memory = remembered.memory.clone();
        drop(remembered);
        let Some(write) = self.wanted(id, &memory) else { return Err(Outcome::After(again)) };
        let complete = write.subject == Field::Status;
        // What is written while it rests is looked at afterwards.
        Ok(Plan { again: Some(REST), complete, ..Plan::paced([write], &memory)? })
    }

    fn remember<T>(&self, work: &AcceptWork, change: impl FnOnce(&mut Memory<Field>) -> T) -> Option<T> {
        self.broker.accept_apis.statuses.with(work, |remembered| change(&mut remembered.memory))
    }

    fn sees(&self, _key: &AcceptWork, _write: &Write<Field>) -> Option<Arc<WatchSpec>> {
        Some(Arc::clone(&self.broker.watches.accept_apis))
    }

    fn wrote(&self, work: &AcceptWork, write: &Write<Field>, _object: Option<&Object>) {
        if write.subject == Field::Status {
            self.broker.accept_apis.statuses.with(work, |remembered| remembered.rests = Some(Instant::now() + REST));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn nobody_asks_how_an_accept_api_stands_before_that_can_be_said() {
        let broker = Broker::of_one_kind().0;
        let id = AcceptId { provider: ClusterName::provider("p"), namespace: "n".into(), name: "a".into() };
        broker.enqueue_status(&id);
        assert_eq!(broker.accept_apis.statuses.queue().stats().depth, 0);
        broker.intake.set_synced();
        broker.enqueue_status(&id);
        assert_eq!(broker.accept_apis.statuses.queue().stats().depth, 1);
    }
}
