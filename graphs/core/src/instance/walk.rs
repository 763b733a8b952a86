//! The walk over a graph: what of each node may be applied now, and how each stands.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use broker_api::graphs::{condition, keys};
use runtime_effect::{merge, note::Note, object_key::ObjectKey, seen::Seen, view::View, write::Op};

use super::{
    Pass, Written,
    child::{Child, adoption, belongs_elsewhere, gvk_text, target},
    condition::Said,
    decision::{State, Write},
    manage::group_kind,
    snapshot::{Form, NodeView, Served},
    subject::Subject,
};
use crate::{
    applyset::{GroupKind, Inventory},
    node::{Ready, Wanted},
};

/// How a node stands, from good to bad; with what to tell people.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Standing {
    /// It is not wanted.
    Skipped,
    /// It is there and ready.
    Ready,
    /// It is written now.
    Written,
    /// What it depends on is not there and ready.
    Blocked,
    /// It is there and not ready, or data for it is not there.
    Waiting(String),
    /// What is there is being deleted.
    Deleting(String),
    /// Nobody knows what is there.
    Unknown,
    /// It cannot be rendered until somebody sets a field of the instance.
    Unset(String),
    /// It cannot be rendered or judged.
    Broken(String),
    /// It cannot be applied.
    Failed(String),
}

/// An object of an instance, whatever its version.
type Identity = (GroupKind, ObjectKey);

/// What a graph wants, by identity.
#[derive(Default)]
pub(super) struct Wants<'a> {
    /// Keys of the objects of each node that is applied, in the order of expansion.
    targets: HashMap<&'a str, Vec<ObjectKey>>,
    /// Nodes whose objects cannot have a key.
    homeless: HashMap<&'a str, String>,
    /// All of them.
    identities: BTreeSet<Identity>,
    /// Two of one identity; for people.
    pub(super) conflict: Option<String>,
    /// Kinds of nodes whose data is not there yet.
    expected: BTreeSet<GroupKind>,
}

impl<'a> Wants<'a> {
    pub(super) fn new(pass: &Pass<'_>, nodes: &'a [NodeView]) -> Self {
        let mut wants = Self::default();
        let mut owners: BTreeMap<Identity, &str> = BTreeMap::new();
        for NodeView { resource, node, .. } in nodes.iter().filter(|node| !node.resource.form.is_external()) {
            let (id, kind) = (resource.id.as_str(), group_kind(&resource.kind));
            let objects = match &node.wanted {
                Wanted::Objects(objects) => objects,
                Wanted::Waiting(_) => {
                    wants.expected.insert(kind);
                    continue;
                }
                Wanted::Skipped | Wanted::Unset(_) | Wanted::Failed(_) => continue,
            };
            let mut keys = Vec::with_capacity(objects.len());
            for object in objects {
                let key = match target(resource, object, &pass.snapshot.key.namespace) {
                    Ok(key) if pass.set.is_instance(&kind.group, &kind.kind, &key.namespace, &key.name) => {
                        wants
                            .homeless
                            .insert(id, format!("node {id} renders the instance itself: give it another name"));
                        continue;
                    }
                    Ok(key) => key,
                    Err(why) => {
                        wants.homeless.insert(id, why);
                        continue;
                    }
                };
                if let Some(other) = owners.insert((kind.clone(), key.clone()), id) {
                    wants.conflict.get_or_insert_with(|| {
                        format!("found resources with conflicts: resourceID: {other} conflicts with resourceID: {id}")
                    });
                }
                keys.push(key);
            }
            wants.targets.insert(id, keys);
        }
        wants.identities = owners.into_keys().collect();
        wants
    }

    pub(super) fn wants(&self, kind: &GroupKind, key: &ObjectKey) -> bool {
        self.identities.contains(&(kind.clone(), key.clone()))
    }

    /// Where all that is wanted is.
    pub(super) fn inventory(&self, own_namespace: &str) -> Inventory {
        let mut inventory = Inventory::default();
        for (kind, key) in &self.identities {
            inventory.add(kind.clone(), &key.namespace, own_namespace);
        }
        inventory
    }

    /// The same, with kinds that are about to be wanted.
    pub(super) fn expected(&self, own_namespace: &str) -> Inventory {
        let expected = Inventory { group_kinds: self.expected.clone(), ..Inventory::default() };
        self.inventory(own_namespace).union(&expected)
    }
}

/// How all nodes stand.
pub(super) struct Walk<'a> {
    standings: Vec<(&'a NodeView, Standing)>,
}

impl Walk<'_> {
    /// Whether every node was decided on, so that what was not rendered is not wanted.
    pub(super) fn is_resolved(&self) -> bool {
        self.standings.iter().all(|(view, standing)| {
            let rendered = matches!(view.node.wanted, Wanted::Skipped | Wanted::Objects(_));
            let found = !view.resource.form.is_external() || *standing <= Standing::Ready;
            rendered && found && *standing != Standing::Unknown
        })
    }

    /// Whether something could not be applied.
    pub(super) fn has_failed(&self) -> bool {
        self.standings.iter().any(|(_, standing)| matches!(standing, Standing::Failed(_)))
    }

    /// Whether nobody can tell how it stands.
    pub(super) fn is_unknown(&self) -> bool {
        self.standings.iter().any(|(_, standing)| *standing == Standing::Unknown)
    }

    /// Condition ResourcesReady and the state. `leftovers`: what is pruned and not gone.
    pub(super) fn verdict(&self, leftovers: &[String]) -> (Said, State) {
        let told = |pick: fn(&Standing) -> Option<&String>| {
            listed(self.standings.iter().filter_map(|(_, standing)| pick(standing)).map(String::as_str))
        };
        let no = |message: String| Said::no(condition::NOT_READY, message);
        if let Some(why) = told(|standing| if let Standing::Failed(why) = standing { Some(why) } else { None }) {
            return (no(format!("resource reconciliation failed: {why}")), State::Error);
        }
        if let Some(why) = told(|standing| if let Standing::Broken(why) = standing { Some(why) } else { None }) {
            return (no(format!("resource error: {why}")), State::Error);
        }
        if let Some(why) = told(|standing| if let Standing::Unset(why) = standing { Some(why) } else { None }) {
            return (no(format!("resource error: {why}")), State::InProgress);
        }
        if let Some(why) = told(|standing| if let Standing::Deleting(why) = standing { Some(why) } else { None }) {
            return (Said::no(condition::RESOURCE_DELETING, why), State::InProgress);
        }
        if let Some(why) = told(|standing| if let Standing::Waiting(why) = standing { Some(why) } else { None }) {
            return (no(format!("awaiting resource readiness: {why}")), State::InProgress);
        }
        if self.standings.iter().any(|(_, standing)| *standing > Standing::Ready) {
            return (no("awaiting resource readiness: children are being written".to_owned()), State::InProgress);
        }
        if let Some(names) = listed(leftovers.iter().map(String::as_str)) {
            let why = format!("awaiting resource readiness: what is no longer wanted is being deleted: {names}");
            return (no(why), State::InProgress);
        }
        let all = Said::yes(condition::ALL_RESOURCES_READY, condition::ALL_RESOURCES_READY_MESSAGE);
        (all, State::Active)
    }
}

/// Most things that a message lists.
pub(super) const LISTED: usize = 5;

/// The first few, and how many more; `None`: there are none.
pub(super) fn listed<'t>(mut texts: impl Iterator<Item = &'t str>) -> Option<String> {
    let first: Vec<&str> = texts.by_ref().take(LISTED).collect();
    let more = texts.count();
    let more = if more == 0 { String::new() } else { format!("; and {more} more") };
    (!first.is_empty()).then(|| format!("{}{more}", first.join("; ")))
}

impl<'a> Pass<'a> {
    /// Goes through all nodes and applies what may be.
    pub(super) fn walk(&mut self, served: &'a Served<'a>, wants: &Wants<'_>) -> Walk<'a> {
        let mut walk = Walk { standings: Vec::with_capacity(served.nodes.len()) };
        let mut open: HashMap<&str, bool> = HashMap::new();
        for view in served.nodes {
            let may = view.resource.dependencies.iter().all(|id| open.get(id.as_str()).copied().unwrap_or_default());
            let standing = self.node(view, may, served.inherited, wants);
            open.insert(&view.resource.id, standing <= Standing::Ready);
            walk.standings.push((view, standing));
        }
        walk
    }

    fn node(&mut self, view: &'a NodeView, may: bool, inherited: bool, wants: &Wants<'_>) -> Standing {
        let id = &view.resource.id;
        let worst = match &view.node.wanted {
            Wanted::Skipped => return Standing::Skipped,
            Wanted::Waiting(why) => {
                return Standing::Waiting(format!("waiting for unresolved resource: {id}: {why}"));
            }
            Wanted::Unset(why) => return Standing::Unset(format!("{id}: {why}")),
            Wanted::Failed(why) => return Standing::Broken(format!("{id}: {why}")),
            Wanted::Objects(_) if view.resource.form == Form::Selection => Standing::Ready,
            Wanted::Objects(_) if view.resource.form == Form::Reference => Self::reference(view),
            Wanted::Objects(objects) => {
                if let Some(why) = wants.homeless.get(id.as_str()) {
                    return Standing::Failed(why.clone());
                }
                let keys = wants.targets.get(id.as_str()).map(Vec::as_slice).unwrap_or_default();
                let size = objects.len();
                let mut worst = Standing::Ready;
                for (index, (object, key)) in objects.iter().zip(keys).enumerate() {
                    let place = (view.resource.form == Form::Collection).then_some((index, size));
                    let seen = view.observed.get(index).unwrap_or(&Seen::Unknown);
                    let adopted = seen.present().is_some_and(|held| self.set.adopts(held));
                    let child = Child::new(&self.set, &view.resource, object, key.clone(), place, adopted);
                    worst = worst.max(self.child(view, &child, seen, may, inherited));
                }
                worst
            }
        };
        match (&view.node.ready, worst) {
            (Ready::Failed(why), Standing::Ready) => Standing::Broken(format!("{id}: {why}")),
            (Ready::No(why), Standing::Ready) => Standing::Waiting(format!("{id}: {why}")),
            (_, worst) => worst,
        }
    }

    fn reference(view: &NodeView) -> Standing {
        match (view.observed.first().unwrap_or(&Seen::Unknown), &view.trouble) {
            (Seen::Present(_), _) => Standing::Ready,
            (Seen::Absent, _) => {
                Standing::Waiting(format!("waiting for external reference {:?}: not found", view.resource.id))
            }
            (Seen::Unknown, Some(why)) => Standing::Broken(format!("{}: {why}", view.resource.id)),
            (Seen::Unknown, None) => Standing::Unknown,
        }
    }

    /// One object of a node.
    fn child(&mut self, view: &NodeView, child: &Child, seen: &Seen, may: bool, inherited: bool) -> Standing {
        let (id, kind, key) = (&view.resource.id, &view.resource.kind, &child.key);
        let held = match (seen, &view.trouble) {
            (Seen::Unknown, None) => return Standing::Unknown,
            (Seen::Unknown, Some(why)) => return Standing::Broken(format!("{id}: {why}")),
            (Seen::Absent, _) if !may => return Standing::Blocked,
            (Seen::Absent, _) => {
                return self.apply(view, child, (Op::Create(child.body.clone()), child.intent()), None, None);
            }
            (Seen::Present(held), _) => held,
        };
        if let Some(other) = self.set.foreign(held) {
            let what = format!("{key} ({})", gvk_text(kind));
            return Standing::Failed(belongs_elsewhere(&what, other, &self.set.id));
        }
        if held.deleting {
            return Standing::Deleting(format!(
                "resource {:?} for node {id:?} is currently being deleted; waiting until it is gone",
                key.to_string()
            ));
        }
        if let Some(unread) = held.unread {
            return Standing::Failed(format!("{key} of node {id} cannot be compared: {}", unread.why()));
        }
        if child.difference(held, &view.resource, inherited).is_none() {
            return Standing::Ready;
        }
        if !may {
            return Standing::Blocked;
        }
        let note = (self.set.adopts(held) && held.annotation(keys::ADOPTED).is_none())
            .then(|| adoption(&format!("{} {key} of node {id}", kind.kind)));
        let schema = view.resource.schema.as_deref();
        // A map that has just become empty is taken away first. That is another write: the whole one comes after it.
        let first = schema.and_then(|schema| schema.without_emptied(&child.body, &held.value));
        let intent = first.as_ref().map_or_else(|| child.intent(), merge::digest);
        let body = first.unwrap_or_else(|| child.body.clone());
        self.apply(view, child, (Op::Apply { body, uid: held.uid.clone() }, intent), Some(held), note)
    }

    fn apply(
        &mut self,
        view: &NodeView,
        child: &Child,
        (op, intent): (Op, [u8; 8]),
        held: Option<&View>,
        note: Option<Note>,
    ) -> Standing {
        let (key, kind) = (&child.key, &view.resource.kind);
        let write = Write {
            cluster: self.snapshot.cluster.clone(),
            kind: kind.clone(),
            namespace: key.namespace.to_string(),
            name: key.name.to_string(),
            op,
            intent,
            subject: Subject::Child,
            notes: note.into_iter().collect(),
        };
        let observed = held.map(|held| super::child::observed(&held.value)).unwrap_or_default();
        match self.write(write, &observed) {
            Written::Now => Standing::Written,
            Written::Settled => Standing::Ready,
            Written::Refused(why) => Standing::Failed(format!("{} {key}: {why}", kind.kind)),
            Written::Later => {
                let message =
                    format!("something keeps changing {} {key} back; it is written again ever more slowly", kind.kind);
                self.decision.notes.push(Note::warning(broker_api::condition::FIGHTING, message.clone()));
                // What is there is used as it is.
                if held.is_some() { Standing::Ready } else { Standing::Waiting(message) }
            }
        }
    }
}
