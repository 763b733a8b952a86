//! `ConfigurationMachine`: the statuses of MigrationConfigurations, kept up to date.

use std::sync::Arc;

use runtime_effect::{
    kind::Kind,
    memory::{Memory, Sole},
    report::Report,
    write::{Op, Write},
};
use runtime_engine::{
    engine::Engine,
    machine::{Machine, Occasion, Plan},
};
use runtime_fleet::{
    lock::lock,
    queue::{Outcome, Queue},
    watch::WatchSpec,
};

use super::statuses::ConfigurationWork;
use crate::broker::Broker;

/// See [`Machine`].
pub struct ConfigurationMachine {
    broker: Arc<Broker>,
}

impl ConfigurationMachine {
    /// The broker's.
    pub fn new(broker: Arc<Broker>) -> Arc<Self> {
        Arc::new(Self { broker })
    }

    /// The write that is wanted now, if any is.
    fn wanted(&self, work: &ConfigurationWork) -> Option<Write<Sole>> {
        let (broker, key) = (&self.broker, &work.key);
        let all = broker.configuring.current.load();
        // Before all are in, nobody knows which is the oldest.
        let entry = all.get(key).filter(|_| all.is_complete())?;
        let spec = &broker.watches.configurations;
        let held = broker.fleet().cluster(&work.cluster)?.index(spec)?.get(key).found()?;
        let Report { patch, intent } = broker.configuration_report(&all, key, entry, &held)?;
        Some(Write {
            cluster: work.cluster.clone(),
            kind: Kind::from(&spec.gvk),
            namespace: key.namespace.to_string(),
            name: key.name.to_string(),
            op: Op::MergeStatus(patch),
            intent,
            subject: Sole,
            notes: Vec::new(),
        })
    }
}

impl Machine for ConfigurationMachine {
    type Key = ConfigurationWork;
    type Subject = Sole;

    fn engine(&self) -> &Arc<Engine> {
        &self.broker.engine
    }

    fn queue(&self) -> &Arc<Queue<ConfigurationWork>> {
        self.broker.configuring.statuses.queue()
    }

    fn decide(&self, work: &ConfigurationWork, _occasion: &Occasion) -> Result<Plan<Sole>, Outcome> {
        let wanted = self.wanted(work);
        let all = &self.broker.configuring.statuses;
        if self.broker.configuring.current.load().get(&work.key).is_none() {
            all.forget(work);
            return Err(Outcome::Done);
        }
        Plan::paced(wanted, &lock(&all.of(work)))
    }

    fn remember<T>(&self, work: &ConfigurationWork, change: impl FnOnce(&mut Memory<Sole>) -> T) -> Option<T> {
        self.broker.configuring.statuses.with(work, change)
    }

    fn sees(&self, _work: &ConfigurationWork, _write: &Write<Sole>) -> Option<Arc<WatchSpec>> {
        Some(Arc::clone(&self.broker.watches.configurations))
    }
}
