//! `Kinds`: how clusters serve the kinds that graphs use, and what these can hold.

use std::{
    cell::RefCell,
    collections::BTreeSet,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use broker_api::{ClusterName, Gvk};
use graphs_core::{applyset::GroupKind, graph};
use runtime_cel::{schema::Schema, shared::Shared};
use runtime_effect::kind::Kind;
use runtime_fleet::{
    GroupVersionKind,
    hashed::HashMap,
    kind::{KindInfo, KindState, SchemaDigest, SchemaNews},
};
use serde_json::{Value, json};
use tokio::time::Instant;

/// So long a kind is not served before nothing of it is taken to be there.
pub const GONE: Duration = Duration::from_secs(10);

/// A kind that is served.
#[derive(Clone)]
struct Served {
    kind: Arc<graph::ServedKind>,
    /// Of what was published.
    digest: Option<SchemaDigest>,
    schema: Arc<Schema>,
}

#[derive(Clone)]
enum Entry {
    /// Since then.
    NotServed(Instant),
    /// It is served; nobody has asked what it can hold.
    Unread(Arc<KindInfo>),
    Served(Served),
}

/// What was told of kinds.
#[derive(Default)]
pub struct Kinds {
    all: RwLock<HashMap<ClusterName, HashMap<Kind, Entry>>>,
    /// Each of them once, however many clusters and kinds have it.
    compiled: Shared<SchemaDigest, Schema>,
    /// As graphs have them, by how they are served and what they can hold: once, however many clusters serve them alike.
    alike: Shared<(Arc<KindInfo>, Option<SchemaDigest>), graph::ServedKind>,
}

fn name_of(gvk: &GroupVersionKind) -> Gvk {
    Gvk { group: gvk.group.clone(), version: gvk.version.clone(), kind: gvk.kind.clone() }
}

impl Kinds {
    /// Takes in what was told of a kind. Whether that may change what is compiled.
    pub fn take(&self, cluster: &ClusterName, gvk: &GroupVersionKind, state: &KindState, news: SchemaNews<'_>) -> bool {
        let kind = Kind::from(gvk);
        let held = self.get(cluster, &kind);
        // What a graph comes to follows from schemas, and its CRD from that: it waits until they are read.
        let news = if news == SchemaNews::Unread { SchemaNews::Unasked } else { news };
        let entry = match (state, held) {
            (KindState::Unknown, None) | (KindState::Missing, Some(Entry::NotServed(_))) => return false,
            (KindState::Unknown, Some(_)) => None,
            (KindState::Missing, _) => Some(Entry::NotServed(Instant::now())),
            (KindState::Found(info), held) => match (news, held) {
                (SchemaNews::Same | SchemaNews::Unasked, Some(Entry::Unread(held))) if held == *info => return false,
                (SchemaNews::Same, Some(Entry::Unread(_)))
                | (SchemaNews::Unasked, None | Some(Entry::NotServed(_) | Entry::Unread(_))) => {
                    Some(Entry::Unread(Arc::clone(info)))
                }
                (SchemaNews::Same | SchemaNews::Unasked, Some(Entry::Served(held))) => {
                    if held.kind.plural == info.plural && held.kind.namespaced == info.namespaced {
                        return false;
                    }
                    let schema = || held.kind.schema.clone();
                    let kind = self.kind(info, held.digest, schema);
                    Some(Entry::Served(Served { kind, ..held }))
                }
                // It will be told.
                (SchemaNews::Same | SchemaNews::Unread, _) => return false,
                (SchemaNews::Unpublished, _) => {
                    let open = || json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
                    let (kind, schema) = (self.kind(info, None, open), Arc::new(Schema::any()));
                    Some(Entry::Served(Served { kind, digest: None, schema }))
                }
                (SchemaNews::New(new), _) => {
                    let schema = self.compiled.get_or_make(*new.digest(), || Schema::compile(new.json()));
                    let kind = self.kind(info, Some(*new.digest()), || new.json().clone());
                    Some(Entry::Served(Served { kind, digest: Some(*new.digest()), schema }))
                }
            },
        };
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        let own = all.entry(cluster.clone()).or_default();
        match entry {
            Some(entry) => own.insert(kind, entry),
            None => own.remove(&kind),
        };
        true
    }

    fn kind(
        &self,
        info: &Arc<KindInfo>,
        digest: Option<SchemaDigest>,
        schema: impl FnOnce() -> Value,
    ) -> Arc<graph::ServedKind> {
        self.alike.get_or_make((Arc::clone(info), digest), || {
            let (name, plural) = (name_of(&info.gvk), info.plural.clone());
            graph::ServedKind { name, plural, namespaced: info.namespaced, schema: schema() }
        })
    }

    fn get(&self, cluster: &ClusterName, kind: &Kind) -> Option<Entry> {
        self.all.read().unwrap_or_else(PoisonError::into_inner).get(cluster)?.get(kind).cloned()
    }

    /// What a cluster can hold of a kind, where that is known; of one that it does not serve, what the others can.
    pub fn schema(&self, cluster: &ClusterName, others: &[ClusterName], kind: &Kind) -> Option<Arc<Schema>> {
        match self.find(cluster, others, kind)? {
            Entry::Served(served) => Some(served.schema),
            Entry::Unread(_) | Entry::NotServed(_) => None,
        }
    }

    /// A version in which a cluster serves a kind, among those that were asked for.
    pub fn version(&self, cluster: &ClusterName, kind: &GroupKind) -> Option<Kind> {
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
        let is_it = |of: &Kind| of.group == kind.group && of.kind == kind.kind;
        let served = |(of, entry): &(&Kind, &Entry)| is_it(of) && !matches!(entry, Entry::NotServed(_));
        all.get(cluster)?.iter().filter(served).map(|(of, _)| of.clone()).max()
    }

    /// Those of these kinds that a cluster does not serve, as far as that is known.
    pub fn missing(&self, cluster: &ClusterName, kinds: &BTreeSet<Kind>) -> Vec<Kind> {
        kinds.iter().filter(|kind| self.is_missing(cluster, kind)).cloned().collect()
    }

    /// A cluster is no more.
    pub fn forget(&self, cluster: &ClusterName) {
        self.all.write().unwrap_or_else(PoisonError::into_inner).remove(cluster);
    }

    /// Whether it is known if a cluster serves a kind.
    pub fn is_known(&self, cluster: &ClusterName, kind: &Kind) -> bool {
        self.get(cluster, kind).is_some()
    }

    /// How a kind is served by this cluster, or by the first of the others that serves it. As long as one of them has not
    /// told, it may; and one that serves it has told only when it has told what it can hold.
    fn find(&self, cluster: &ClusterName, others: &[ClusterName], kind: &Kind) -> Option<Entry> {
        let own = self.get(cluster, kind);
        if !matches!(own, Some(Entry::NotServed(_))) {
            return own;
        }
        let mut all_told = true;
        for other in others {
            match self.get(other, kind) {
                Some(entry @ Entry::Served(_)) => return Some(entry),
                Some(Entry::NotServed(_)) => {}
                None | Some(Entry::Unread(_)) => all_told = false,
            }
        }
        own.filter(|_| all_told)
    }

    /// Whether a cluster does not serve a kind.
    pub fn is_missing(&self, cluster: &ClusterName, kind: &Kind) -> bool {
        matches!(self.get(cluster, kind), Some(Entry::NotServed(_)))
    }

    /// Whether it has not for so long that nothing can be there of it. An API server, or whoever stands before it, may say so
    /// for a moment of a kind that it serves.
    pub fn is_gone(&self, cluster: &ClusterName, kind: &Kind) -> bool {
        matches!(self.get(cluster, kind), Some(Entry::NotServed(since)) if since.elapsed() >= GONE)
    }
}

/// The kinds of a cluster, those of others that it has not, and which of them were asked for.
pub struct Asked<'a> {
    kinds: &'a Kinds,
    cluster: &'a ClusterName,
    others: &'a [ClusterName],
    names: RefCell<BTreeSet<Kind>>,
}

impl<'a> Asked<'a> {
    /// Nothing was asked for yet.
    pub fn new(kinds: &'a Kinds, cluster: &'a ClusterName, others: &'a [ClusterName]) -> Self {
        Self { kinds, cluster, others, names: RefCell::default() }
    }

    /// All that was asked for.
    pub fn all(self) -> BTreeSet<Kind> {
        self.names.into_inner()
    }
}

impl graph::Kinds for Asked<'_> {
    fn find(&self, name: &Gvk) -> graph::Found {
        let kind = Kind::from(name);
        let found = match self.kinds.find(self.cluster, self.others, &kind) {
            None | Some(Entry::Unread(_)) => graph::Found::Unknown,
            Some(Entry::NotServed(_)) => graph::Found::NotServed,
            Some(Entry::Served(served)) => graph::Found::Served(served.kind),
        };
        self.names.borrow_mut().insert(kind);
        found
    }
}

#[cfg(test)]
mod tests {
    use graph::Kinds as _;

    use super::*;

    #[test]
    fn a_kind_is_compiled_with_only_when_it_is_known_what_it_can_hold() {
        let (hub, spoke) = (ClusterName::new(broker_api::Role::Coordination, "hub"), [ClusterName::spoke("a")]);
        let gvk = GroupVersionKind::gvk("g.io", "v1", "Thing");
        let (kind, kinds) = (Kind::from(&gvk), Kinds::default());
        let info = KindInfo { gvk: gvk.clone(), plural: "things".into(), namespaced: true, has_status: true };
        let found = KindState::Found(Arc::new(info));
        let asks = || Asked::new(&kinds, &hub, &spoke).find(&name_of(&gvk));
        kinds.take(&hub, &gvk, &KindState::Missing, SchemaNews::Same);
        assert!(kinds.take(&spoke[0], &gvk, &found, SchemaNews::Unasked));
        assert!(!kinds.take(&spoke[0], &gvk, &found, SchemaNews::Unasked), "that is known");
        assert!(kinds.is_known(&spoke[0], &kind) && !kinds.is_missing(&spoke[0], &kind));
        assert!(matches!(asks(), graph::Found::Unknown), "it will be told");
        assert!(!kinds.take(&spoke[0], &gvk, &found, SchemaNews::Unread));
        assert!(matches!(asks(), graph::Found::Unknown), "it could not be read, and will be");
        assert!(kinds.take(&spoke[0], &gvk, &found, SchemaNews::Unpublished));
        assert!(matches!(asks(), graph::Found::Served(_)));
        // Nobody asks any more, or it cannot be read: what is known stays.
        assert!(!kinds.take(&spoke[0], &gvk, &found, SchemaNews::Unread));
        assert!(matches!(asks(), graph::Found::Served(_)));
        assert!(!kinds.take(&spoke[0], &gvk, &found, SchemaNews::Unasked));
        assert!(matches!(asks(), graph::Found::Served(_)));
    }
}
