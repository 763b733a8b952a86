//! Listeners come to the watches of a cluster, and go; what a watch sees is told to those that it has.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use super::{Number, Watched};
use crate::{
    audience::Audience,
    cluster::Cluster,
    index::{Change, Index},
    listener::Listener,
    object::ObjectKey,
    watch::{self, spec::WatchSpec},
};

impl Cluster {
    /// Has somebody hear of a watch, which is started unless it runs already. It ends with the cluster, or when nobody
    /// listens to it any more. What has been seen is told at once.
    pub(crate) fn listen(self: &Arc<Self>, spec: &Arc<WatchSpec>, number: Number, listener: &Arc<dyn Listener>) {
        let Some((index, heard)) = self.watch(spec, number, listener) else { return };
        let complete = index.is_complete();
        for (key, object) in index.snapshot() {
            let change = Change { key, old: None, new: Some(object) };
            if complete {
                listener.listed(&index, &change);
            } else {
                listener.changed(&index, &change);
            }
        }
        if complete || index.is_complete() {
            listener.completed(&index);
            if heard {
                self.note_heard(&index, true);
                self.observer.completed(self.name(), spec);
            }
        }
    }

    /// Whether everybody has heard of all that is complete here: what listeners do about it is done. An index is complete a
    /// moment before.
    pub fn has_told(&self) -> bool {
        let watches = self.watches.read().unwrap_or_else(PoisonError::into_inner);
        watches.values().all(|watched| watched.heard.load(Ordering::Acquire) || !watched.index.is_complete())
    }

    /// Whether everybody has heard of all that there is on one watch. What listeners keep of it is no whole before.
    pub fn has_told_of(&self, spec: &WatchSpec) -> bool {
        let watches = self.watches.read().unwrap_or_else(PoisonError::into_inner);
        // In this order: that they have heard is taken back before a list is put in.
        watches.get(spec).is_some_and(|watched| watched.index.is_complete() && watched.heard.load(Ordering::Acquire))
    }

    fn note_heard(&self, index: &Index, heard: bool) {
        let watches = self.watches.read().unwrap_or_else(PoisonError::into_inner);
        // It may be another's by now.
        let own = watches.get(index.spec()).filter(|own| std::ptr::eq(Arc::as_ptr(&own.index), index));
        if let Some(own) = own {
            own.heard.store(heard, Ordering::Release);
        }
    }

    /// Somebody listens no more. A watch that nobody listens to ends: what it has seen is forgotten, and so is its kind where
    /// nothing else watches it; started again, it begins with a list. Its last event may still be told of.
    pub(crate) fn unlisten(&self, spec: &WatchSpec, number: Number) {
        let mut watches = self.watches.write().unwrap_or_else(PoisonError::into_inner);
        let Some(entry) = watches.get_mut(spec) else { return };
        let Some(listener) = entry.listeners.remove(&number) else { return };
        entry.changed();
        let ended = if entry.listeners.is_empty() { watches.remove(spec) } else { None };
        drop(watches);
        if let Some(ended) = &ended {
            ended.unwanted.cancel();
            self.server().kinds.unwant(spec);
        }
        // Whoever asks knows that it is unknown before it is not counted any more.
        listener.ended(self.name());
        if let Some(ended) = ended.filter(|ended| !self.is_of_server(&ended.index)) {
            ended.index.close();
        }
    }

    /// Starts a watch with somebody who hears of it. Where it runs already, whoever is new hears of it, too, and gets the
    /// index; so does who asks for what its server watches for itself. With it comes whether all others have heard of all that
    /// is there.
    fn watch(
        self: &Arc<Self>,
        spec: &Arc<WatchSpec>,
        number: Number,
        listener: &Arc<dyn Listener>,
    ) -> Option<(Arc<Index>, bool)> {
        let mut watches = self.watches.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = watches.get_mut(spec) {
            let new = entry.listeners.insert(number, Arc::clone(listener)).is_none();
            entry.changed();
            return new.then(|| (Arc::clone(&entry.index), std::mem::take(entry.heard.get_mut())));
        }
        let own = self.server().own(self.name(), spec).cloned();
        let index = own.clone().unwrap_or_else(|| {
            let index = Arc::new(Index::new(self.name().clone(), Arc::clone(spec), Arc::clone(&self.share)));
            self.share.add(&index);
            index
        });
        let unwanted = self.tasks.ending().child_token();
        let mut entry = Watched {
            index: Arc::clone(&index),
            listeners: BTreeMap::from([(number, Arc::clone(listener))]),
            told: Arc::default(),
            heard: AtomicBool::new(false),
            unwanted: unwanted.clone(),
        };
        entry.changed();
        watches.insert(Arc::clone(spec), entry);
        // While the watches are held: whoever ends this one again wants the kind no more only after that.
        self.server().want(spec);
        drop(watches);
        if spec.kind_only || own.is_some() {
            return own.map(|own| (own, true));
        }
        let task = watch::run(Arc::clone(self.server()), index, Arc::clone(self) as Arc<dyn Audience>);
        self.tasks.spawn_until(unwanted, task);
        None
    }

    /// Whether this is an index of the server's own stream.
    pub(crate) fn is_of_server(&self, index: &Arc<Index>) -> bool {
        self.server().own(self.name(), index.spec()).is_some_and(|own| Arc::ptr_eq(own, index))
    }

    /// Who hears of a watch.
    pub(crate) fn listeners(&self, spec: &WatchSpec) -> Arc<[Arc<dyn Listener>]> {
        let watches = self.watches.read().unwrap_or_else(PoisonError::into_inner);
        watches.get(spec).map(|entry| Arc::clone(&entry.told)).unwrap_or_default()
    }
}

/// Of the streams of its watches.
impl Audience for Cluster {
    fn path(&self) -> &str {
        &self.path
    }

    fn keeps(&self, index: &Index, key: &ObjectKey) -> bool {
        self.listeners(index.spec()).iter().any(|listener| listener.keep(index, key))
    }

    fn listing(&self, index: &Index) {
        self.note_heard(index, false);
    }

    fn changed(&self, index: &Index, change: &Change, first: bool) {
        let listed = first && change.new.is_some();
        for listener in &*self.listeners(index.spec()) {
            if listed {
                listener.listed(index, change);
            } else {
                listener.changed(index, change);
            }
        }
    }

    fn completed(&self, index: &Index) {
        for listener in &*self.listeners(index.spec()) {
            listener.completed(index);
        }
        self.caught_up(index);
    }

    fn caught_up(&self, index: &Index) {
        self.note_heard(index, true);
        self.observer.completed(self.name(), index.spec());
    }

    fn incomplete(&self, index: &Index) {
        self.note_heard(index, false);
        self.observer.incomplete(self.name(), index.spec());
        for listener in &*self.listeners(index.spec()) {
            listener.incomplete(index);
        }
    }
}
