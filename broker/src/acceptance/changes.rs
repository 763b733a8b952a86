//! The task that takes in changes of AcceptAPIs: in batches, each provider by itself.
//!
//! A provider may edit its AcceptAPIs as often as it likes. The first edit counts at once; while they go on, all that came
//! meanwhile is taken in together, ever more slowly, with one change of the registry; and what is looked at again because of
//! it waits behind everybody's own work. What is compiled is done in the provider's own share of the time.

use std::{collections::BTreeSet, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use broker_api::{ClusterName, Gvr};
use broker_core::acceptance::AcceptId;
use futures::FutureExt as _;
use runtime_engine::decisions::Urgency;
use runtime_fleet::{
    crash::within,
    hashed::{HashMap, HashSet},
    index::Lookup,
    object::ObjectKey,
};
use tokio::{sync::mpsc, task::JoinSet, time::Instant};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::{
    change::AcceptChange,
    registry::{self, Entry, Found, Registry, accept_api_key},
};
use crate::broker::Broker;

/// Between two batches of a provider.
const REST: Duration = Duration::from_millis(100);

/// The same while its edits do not end.
const LONGEST_REST: Duration = Duration::from_secs(1);

/// How many changes are taken from the channel at once.
const NEWS: usize = 1024;

/// What has come of one provider and is not taken in yet.
#[expect(clippy::struct_excessive_bools, reason = "each is something that may have come, and any may come with any")]
#[derive(Debug, Default)]
struct Pending {
    changed: BTreeSet<ObjectKey>,
    complete: bool,
    left: bool,
    bounded: bool,
    running: bool,
    rest: Duration,
    ended: Option<Instant>,
}

/// What is taken in at once.
#[derive(Debug, Default, PartialEq, Eq)]
struct Batch {
    /// The provider has left, before all else.
    left: bool,
    changed: BTreeSet<ObjectKey>,
    /// The platform's bounds for it are others.
    bounded: bool,
    /// All are in, after all else.
    complete: bool,
}

impl Pending {
    fn take(&mut self, change: AcceptChange) {
        match change {
            AcceptChange::Changed(_, key) => {
                self.changed.insert(key);
            }
            AcceptChange::Complete(_) => self.complete = true,
            AcceptChange::Bounded(_) => self.bounded = true,
            AcceptChange::Left(_) => {
                self.changed.clear();
                (self.complete, self.left) = (false, true);
            }
        }
    }

    /// When the next batch begins, if there is anything for it.
    fn due(&self, now: Instant) -> Option<Instant> {
        if self.running || (self.changed.is_empty() && !self.complete && !self.left && !self.bounded) {
            return None;
        }
        // A provider that comes or goes, or is bounded, need not wait: that is not its authors' doing.
        let rest = self.ended.filter(|_| !self.complete && !self.left && !self.bounded);
        Some(rest.map_or(now, |ended| ended + self.rest))
    }

    fn begin(&mut self, now: Instant) -> Option<Batch> {
        self.due(now).filter(|due| *due <= now)?;
        let constant = self.ended.is_some_and(|ended| now < ended + 2 * self.rest);
        self.rest = if constant { (2 * self.rest).min(LONGEST_REST) } else { REST };
        self.running = true;
        Some(Batch {
            left: std::mem::take(&mut self.left),
            changed: std::mem::take(&mut self.changed),
            bounded: std::mem::take(&mut self.bounded),
            complete: std::mem::take(&mut self.complete),
        })
    }

    fn end(&mut self, now: Instant) {
        self.running = false;
        self.ended = Some(now);
    }

    /// Whether nothing need be remembered of it.
    fn is_over(&self, now: Instant) -> bool {
        self.due(now).is_none() && !self.running && self.ended.is_none_or(|ended| ended + 2 * LONGEST_REST < now)
    }
}

fn provider_of(change: &AcceptChange) -> &ClusterName {
    match change {
        AcceptChange::Changed(provider, _)
        | AcceptChange::Complete(provider)
        | AcceptChange::Left(provider)
        | AcceptChange::Bounded(provider) => provider,
    }
}

/// Takes changes in until `stop`.
pub async fn run(broker: Arc<Broker>, mut changes: mpsc::UnboundedReceiver<AcceptChange>, stop: CancellationToken) {
    let mut providers: HashMap<ClusterName, Pending> = HashMap::default();
    let mut batches: JoinSet<ClusterName> = JoinSet::new();
    let mut news = Vec::with_capacity(NEWS);
    loop {
        let now = Instant::now();
        for (name, pending) in &mut providers {
            let Some(batch) = pending.begin(now) else { continue };
            let (broker, name) = (Arc::clone(&broker), name.clone());
            batches.spawn(within(async move {
                if AssertUnwindSafe(broker.take_in(&name, batch)).catch_unwind().await.is_err() {
                    warn!(provider = %name, "its AcceptAPIs could not be taken in");
                }
                name
            }));
        }
        providers.retain(|_, pending| !pending.is_over(now));
        let due = providers.values().filter_map(|pending| pending.due(now)).min();
        tokio::select! {
            () = stop.cancelled() => return,
            count = changes.recv_many(&mut news, NEWS) => {
                if count == 0 {
                    return;
                }
                for change in news.drain(..) {
                    providers.entry(provider_of(&change).clone()).or_default().take(change);
                }
            }
            Some(Ok(name)) = batches.join_next() => {
                if let Some(pending) = providers.get_mut(&name) {
                    pending.end(Instant::now());
                }
            }
            () = until(due) => {}
        }
    }
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}

impl Broker {
    async fn take_in(self: &Arc<Self>, provider: &ClusterName, batch: Batch) {
        let Batch { left, mut changed, bounded, complete } = batch;
        if left {
            self.settle(provider, Registry::remove_provider, true).await;
        }
        if complete {
            changed.extend(self.untold(provider));
        }
        let found = self.compile(provider, &changed).await;
        if !complete && !bounded && found.is_empty() {
            return;
        }
        let policy = self.clusters.policies.of(provider);
        let take = move |registry: &mut Registry, name: &ClusterName| {
            let mut concerned = registry.take(name, found);
            if bounded {
                concerned.extend(registry.bound(name, &policy));
            }
            if complete {
                registry.mark_known(name);
            }
            concerned
        };
        self.settle(provider, take, complete).await;
    }

    /// Does a job in the provider's share of the time.
    async fn in_share_of<T: Send + 'static>(
        self: &Arc<Self>,
        id: &AcceptId,
        job: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> Option<T> {
        let broker = Arc::clone(self);
        let what = format!("AcceptAPI {id}");
        self.engine.decisions.run(&id.provider, Urgency::InTurn, &what, move || job(&broker)).await
    }

    /// An AcceptAPI as its provider has it.
    fn accept_api(&self, id: &AcceptId) -> Lookup {
        let index = self.fleet().cluster(&id.provider).and_then(|cluster| cluster.index(&self.watches.accept_apis));
        let key = accept_api_key(id);
        index.map_or(Lookup::Unknown, |index| index.get(&key))
    }

    /// AcceptAPIs that went while nobody could say what is there: nobody tells again of those.
    fn untold(&self, provider: &ClusterName) -> Vec<ObjectKey> {
        let registry = self.accept_apis.load();
        let gone = |id: &&AcceptId| matches!(self.accept_api(id), Lookup::Absent);
        registry.entries_of(provider).map(|(id, _)| id).filter(gone).map(accept_api_key).collect()
    }

    /// Looks at what has changed, one AcceptAPI after the other; then at those that count because others do no longer, and
    /// the other way round. Returns what is new.
    async fn compile(self: &Arc<Self>, provider: &ClusterName, changed: &BTreeSet<ObjectKey>) -> Found {
        let registry = self.accept_apis.load();
        let mut found = Found::new();
        for key in changed {
            let id = AcceptId {
                provider: provider.clone(),
                namespace: Arc::clone(&key.namespace),
                name: Arc::clone(&key.name),
            };
            let (own, before) = (id.clone(), registry.entry(&id).cloned());
            let read = move |broker: &Self| match broker.accept_api(&own) {
                Lookup::Unknown => None,
                Lookup::Absent => Some(None),
                Lookup::Found(object) => Some(Some(Entry::read(&object, before.as_ref()))),
            };
            match self.in_share_of(&id, read).await.flatten() {
                // Not known any more, or it cannot be read at all: what was said last holds.
                None => {}
                Some(None) if registry.entry(&id).is_none() => {}
                Some(Some(entry)) if registry.entry(&id).is_some_and(|before| Arc::ptr_eq(before, &entry)) => {}
                Some(entry) => {
                    found.insert(id, entry);
                }
            }
        }
        if found.is_empty() {
            return found;
        }
        let most = registry::MOST * self.watches.brokered.len().max(1);
        let ours = |group: &str| self.watches.brokered.iter().any(|brokered| *brokered.kind.group == *group);
        for (id, counts) in registry.counting(provider, &found, most, ours) {
            let entry = found.get(&id).map_or_else(|| registry.entry(&id).cloned(), Clone::clone);
            let Some(entry) = entry else { continue };
            let own = id.clone();
            let next = if counts && entry.is_open() {
                let compile = move |broker: &Self| {
                    let object = broker.accept_api(&own).found()?;
                    Some(entry.compiled(&own, &object, &broker.evaluator, &broker.clusters.policies.of(&own.provider)))
                };
                let compiled = self.in_share_of(&id, compile).await.flatten();
                if compiled.as_ref().is_some_and(Entry::is_pending) {
                    self.take_in_again(&id);
                }
                compiled.unwrap_or_else(|| Entry::unreadable("it cannot be taken in; see the broker's log"))
            } else if !counts && !entry.too_many {
                entry.left_out()
            } else {
                continue;
            };
            found.insert(id, Some(Arc::new(next)));
        }
        found
    }

    /// The machine was too busy for an AcceptAPI's expression: it is compiled again in a moment.
    fn take_in_again(&self, id: &AcceptId) {
        let key = accept_api_key(id);
        self.accept_apis.changes.tell_later(AcceptChange::Changed(id.provider.clone(), key));
    }

    /// Changes the registry, once, and has looked at again what that concerns; `all`: whatever the provider holds, too.
    async fn settle(
        self: &Arc<Self>,
        provider: &ClusterName,
        change: impl FnOnce(&mut Registry, &ClusterName) -> HashSet<Gvr> + Send + 'static,
        all: bool,
    ) {
        let (broker, name) = (Arc::clone(self), provider.clone());
        let change = move || {
            let taking = broker.intake.begin();
            let (registry, concerned) = broker.accept_apis.change(|registry| change(registry, &name));
            broker.resettle(&name, None);
            broker.enqueue_statuses(&name);
            if all {
                broker.origins.enqueue_concerned(&name, None);
                // Until now it counted as settling, and what it holds of others' objects was left alone.
                broker.enqueue_stranded(&name, None);
            }
            for gvr in concerned {
                broker.enqueue_judged(&name, &gvr, &registry);
            }
            drop(taking);
        };
        self.engine.decisions.run(provider, Urgency::InTurn, &format!("AcceptAPIs of {provider}"), change).await;
    }

    /// Origins that a provider's AcceptAPIs for a resource concern are looked at again, in the provider's share of the time.
    fn enqueue_judged(&self, provider: &ClusterName, gvr: &Gvr, registry: &Registry) {
        // It may attract any of them.
        let attracts = registry.accepting(provider, gvr).iter().any(|acceptance| acceptance.rebalance);
        // Where the provider does not serve the kind, people are told so instead of that there is no AcceptAPI.
        for brokered in self.spoken_of(provider, gvr) {
            let kind = &brokered.kind;
            let concerned = if attracts {
                self.origins.records.of_kind(kind)
            } else {
                self.origins.records.concerned(provider, Some(kind))
            };
            for key in concerned {
                self.origins.enqueue_later(key, provider);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use broker_core::decision::{Decision, State};
    use serde_json::json;

    use super::*;
    use crate::{
        conventions,
        origins::{key::origin_key, records::bounds::Bounds},
    };

    fn provider() -> ClusterName {
        ClusterName::provider("p")
    }

    fn changed(name: &str) -> AcceptChange {
        AcceptChange::Changed(provider(), ObjectKey::new("n", name))
    }

    #[tokio::test]
    async fn what_went_while_its_kind_was_not_served_counts_no_more_once_that_is_known() {
        let broker = Broker::of_one_kind().0;
        let _listens = crate::listen::listen(&broker, broker.fleet());
        broker.engage_unreachable(&provider());
        let (key, held) = conventions::object(&json!({
            "apiVersion": "broker.platform-mesh.io/v1alpha1", "kind": "AcceptAPI",
            "metadata": {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "1", "generation": 1},
            "spec": {"gvr": {"group": "g", "version": "v1", "resource": "ks"}},
        }));
        let id = AcceptId { provider: provider(), namespace: key.namespace, name: key.name };
        let found = Found::from_iter([(id.clone(), Some(Entry::read(&held, None)))]);
        broker.accept_apis.change(|registry| registry.take(&provider(), found));
        let completes = async || {
            broker.take_in(&provider(), Batch { complete: true, ..Batch::default() }).await;
            broker.accept_apis.load().entry(&id).is_some()
        };
        assert!(completes().await, "nobody knows");
        let index = broker.fleet().cluster(&provider()).unwrap().index(&broker.watches.accept_apis).unwrap();
        index.replace(Vec::new(), 1);
        assert!(!completes().await);
    }

    #[test]
    fn the_first_edit_counts_at_once_and_constant_ones_ever_more_slowly() {
        let (mut pending, mut now) = (Pending::default(), Instant::now());
        let mut begun = Vec::new();
        for round in 0..400_u32 {
            pending.take(changed(&format!("a{}", round % 7)));
            if let Some(batch) = pending.begin(now) {
                begun.push((round * 10, batch.changed.len()));
                pending.take(changed("meanwhile"));
                assert_eq!(pending.begin(now), None, "one at a time");
                pending.end(now);
            }
            now += Duration::from_millis(10);
        }
        assert_eq!(begun[0], (0, 1));
        assert_eq!(begun.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [0, 100, 300, 700, 1500, 2500, 3500]);
        assert!(begun[2..].iter().all(|(_, count)| *count == 8), "edits of the same merge: {begun:?}");
        now += 4 * LONGEST_REST;
        assert!(pending.begin(now).is_some(), "what came last is not forgotten");
        pending.end(now);
        now += 4 * LONGEST_REST;
        assert!(pending.is_over(now));
    }

    #[test]
    fn a_provider_that_comes_or_goes_does_not_wait() {
        let (mut pending, now) = (Pending::default(), Instant::now());
        pending.take(changed("a"));
        assert!(pending.begin(now).is_some());
        pending.end(now);
        pending.take(changed("a"));
        assert_eq!(pending.begin(now), None);
        pending.take(AcceptChange::Complete(provider()));
        assert!(pending.begin(now).is_some_and(|batch| batch.complete && !batch.left && batch.changed.len() == 1));
        pending.end(now);
        pending.take(changed("a"));
        pending.take(AcceptChange::Complete(provider()));
        pending.take(AcceptChange::Left(provider()));
        pending.take(changed("b"));
        let batch = pending.begin(now).unwrap();
        assert!(batch.left && !batch.complete, "what came before it left counts for nothing");
        assert_eq!(batch.changed, BTreeSet::from([ObjectKey::new("n", "b")]));
    }

    /// One that had been looked at before a provider's AcceptAPI came hears of it, although that does not serve the kind.
    #[tokio::test]
    async fn who_waits_hears_of_an_accept_api_by_the_providers_word_or_else_by_anybodys() {
        let broker = Broker::of_one_kind().0;
        let (homer, kind) = (ClusterName::consumer("homer"), Arc::clone(&broker.watches.brokered[0].kind));
        let origin = origin_key(&homer, &kind, &ObjectKey::new("n", "waits"));
        assert!(
            broker.origins.records.absorb(&origin, &Decision::state(State::NotAccepted), Bounds::ONE_MOVE).is_some()
        );
        let hear = |version: &str, resource: &str| {
            let gvr = Gvr { group: "g".into(), version: version.into(), resource: resource.into() };
            let before = broker.origins.queue.stats().depth;
            broker.enqueue_judged(&provider(), &gvr, &Registry::default());
            broker.origins.queue.stats().depth - before
        };
        assert_eq!(hear("v1", "ks"), 0, "nobody calls it so");
        broker.clusters.plurals.set(&homer, &kind, "ks");
        broker.clusters.plurals.set(&provider(), &kind, "kays");
        assert_eq!((hear("v1", "ks"), hear("v2", "kays")), (0, 0), "to this provider it is something else");
        broker.clusters.plurals.forget(&provider());
        assert_eq!(hear("v1", "ks"), 1);
    }
}
