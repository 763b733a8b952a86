//! `World`: what is there of an instance's resources, as its rendering asks for it.

use std::{cell::RefCell, collections::BTreeSet, sync::Arc};

use broker_api::graphs::keys;
use graphs_core::{
    applyset::GroupKind,
    graph,
    instance::{Form, Found, Members, Resource, target},
    render::{self, Want},
};
use runtime_effect::{kind::Kind, seen::Seen, selector::Selector, view::View};
use runtime_engine::engine::Engine;
use runtime_fleet::{cluster::Cluster, hashed::HashMap, index::Index, object::ObjectKey, watch::WatchSpec};
use serde_json::Value;

use super::{InstanceKey, groups::Version, listen::BY_SET, references::Reference};
use crate::{
    kinds::Kinds,
    watches::{Need, children},
};

/// See the module.
pub struct World<'a> {
    /// Where things are looked up.
    pub engine: &'a Engine,
    /// How kinds are served.
    pub kinds: &'a Kinds,
    /// The cluster.
    pub cluster: &'a Cluster,
    /// The instance.
    pub key: &'a InstanceKey,
    /// Id of its set.
    pub set: &'a str,
    /// Where its members may be, beside the instance's own namespace.
    pub namespaces: BTreeSet<&'a str>,
    /// What its graph says of its resources.
    pub resources: &'a HashMap<String, Arc<Resource>>,
    /// What was found.
    pub found: RefCell<Findings>,
}

/// What was looked up.
#[derive(Default)]
pub struct Findings {
    /// By the ids of resources: what is there of each object that is wanted.
    pub seen: HashMap<String, Vec<Seen>>,
    /// What is referred to.
    pub references: BTreeSet<Reference>,
    /// Why a resource cannot be looked up.
    pub trouble: HashMap<String, String>,
    /// Some kind is not served, and that may pass.
    pub doubt: bool,
    /// What its expressions lacked.
    pub want: Want,
    views: HashMap<(Kind, ObjectKey), Seen>,
}

fn labels(object: &View) -> std::collections::BTreeMap<String, String> {
    let labels = object.value["metadata"]["labels"].as_object().into_iter().flatten();
    labels.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

impl World<'_> {
    /// A child, as it was seen.
    fn child(&self, kind: &Kind, key: &ObjectKey) -> Seen {
        let place = (kind.clone(), key.clone());
        if let Some(seen) = self.found.borrow().views.get(&place) {
            return seen.clone();
        }
        let seen = self.engine.look(self.cluster, &children(kind), key);
        self.found.borrow_mut().views.insert(place, seen.clone());
        seen
    }

    /// Whether an object belongs to another set: nothing of it may be seen through this instance.
    fn is_foreign(&self, object: &View) -> bool {
        object.label(keys::APPLYSET_PART_OF).is_some_and(|set| set != self.set)
    }

    /// Why a watch says nothing, and will not soon.
    fn trouble(&self, kind: &Kind, spec: &WatchSpec) -> Option<String> {
        if self.kinds.is_missing(&self.key.cluster, kind) {
            return Some(format!("kind {} of {} is not served", kind.kind, kind.api_version()));
        }
        self.cluster.index(spec)?.trouble()
    }

    fn applied(&self, resource: &Resource, wanted: &[Value]) -> Vec<Arc<Value>> {
        let mut all = Vec::with_capacity(wanted.len());
        let mut there = Vec::new();
        for object in wanted {
            let Ok(key) = target(resource, object, &self.key.object.namespace) else {
                all.push(Seen::Unknown);
                continue;
            };
            let seen = self.child(&resource.kind, &key);
            match &seen {
                // It may go.
                Seen::Present(view) if self.is_foreign(view) => {
                    let contested = Reference::Named(resource.kind.clone(), key);
                    self.found.borrow_mut().references.insert(contested);
                }
                Seen::Present(view) => there.push(Arc::clone(&view.value)),
                Seen::Unknown | Seen::Absent => {}
            }
            all.push(seen);
        }
        if all.contains(&Seen::Unknown)
            && let Some(why) = self.trouble(&resource.kind, &children(&resource.kind))
        {
            self.found.borrow_mut().trouble.insert(resource.id.clone(), why);
        }
        self.found.borrow_mut().seen.insert(resource.id.clone(), all);
        there
    }

    /// The objects of a resource, which bear its id.
    fn before(&self, resource: &Resource) -> Vec<Arc<Value>> {
        let members = self.members_of(&resource.kind).unwrap_or_default();
        // Others may write the set's label wherever they like.
        let is_near = |view: &&View| {
            let namespace = view.value["metadata"]["namespace"].as_str().unwrap_or_default();
            namespace.is_empty() || namespace == &*self.key.object.namespace || self.namespaces.contains(namespace)
        };
        let own = members.iter().filter(|view| view.label(keys::NODE_ID) == Some(resource.id.as_str()));
        own.filter(is_near).map(|view| Arc::clone(&view.value)).collect()
    }

    fn referred(&self, resource: &Resource, wanted: &Value) -> Vec<Arc<Value>> {
        let text = |field: &str| wanted["metadata"][field].as_str().unwrap_or_default();
        let key = ObjectKey::new(text("namespace"), text("name"));
        let spec = Need::References(resource.kind.clone()).spec();
        let seen = self.engine.look(self.cluster, &spec, &key);
        let mut found = self.found.borrow_mut();
        if seen == Seen::Unknown
            && let Some(why) = self.trouble(&resource.kind, &spec)
        {
            found.trouble.insert(resource.id.clone(), why);
        }
        found.references.insert(Reference::Named(resource.kind.clone(), key));
        let there = seen.present().map(|view| Arc::clone(&view.value)).into_iter().collect();
        found.seen.insert(resource.id.clone(), vec![seen]);
        there
    }

    fn selected(&self, resource: &Resource, wanted: &Value) -> Option<Vec<Arc<Value>>> {
        let metadata = &wanted["metadata"];
        let namespace = metadata["namespace"].as_str().map(str::to_owned);
        let selector = match Selector::read(&metadata["selector"]) {
            Ok(selector) => selector,
            Err(why) => {
                self.found.borrow_mut().trouble.insert(resource.id.clone(), format!("metadata.selector: {why}"));
                return None;
            }
        };
        let spec = Need::References(resource.kind.clone()).spec();
        let reference = Reference::Selected(resource.kind.clone(), namespace.clone(), selector.clone());
        self.found.borrow_mut().references.insert(reference);
        let index = self.cluster.index(&spec).filter(|index| index.is_complete());
        let Some(index) = index else {
            if let Some(why) = self.trouble(&resource.kind, &spec) {
                self.found.borrow_mut().trouble.insert(resource.id.clone(), why);
            }
            return None;
        };
        let mut keys: Vec<ObjectKey> = index.snapshot().into_iter().map(|(key, _)| key).collect();
        keys.retain(|key| namespace.as_deref().is_none_or(|namespace| *namespace == *key.namespace));
        keys.sort_by(ObjectKey::cmp_as_listed);
        let mut matching = Vec::new();
        for key in keys {
            match self.engine.look(self.cluster, &spec, &key) {
                Seen::Present(view) if selector.selects(&labels(&view)) => matching.push(view),
                Seen::Present(_) | Seen::Absent => {}
                // It may be one of them.
                Seen::Unknown => {
                    let why = format!("{} {key} cannot be read, so nobody knows what is selected", resource.kind.kind);
                    self.found.borrow_mut().trouble.insert(resource.id.clone(), why);
                    return None;
                }
            }
        }
        let there = matching.iter().map(|view| Arc::clone(&view.value)).collect();
        self.found.borrow_mut().seen.insert(resource.id.clone(), matching.into_iter().map(Seen::Present).collect());
        Some(there)
    }

    /// The members of the set of a kind; `None`: not known.
    fn members_of(&self, kind: &Kind) -> Option<Vec<View>> {
        let index: Arc<Index> = self.cluster.index(&children(kind)).filter(|index| index.is_complete())?;
        let mut keys = index.sorted(BY_SET.name, self.set);
        keys.sort();
        let mut members = Vec::with_capacity(keys.len());
        for key in keys {
            match self.child(kind, &key) {
                Seen::Present(view) => members.push(view),
                Seen::Absent => {}
                Seen::Unknown => return None,
            }
        }
        Some(members)
    }

    /// All that is there with the label of the set of these kinds; the versions in which they are watched beside them.
    pub fn members(&self, kinds: &[(GroupKind, Version)]) -> Vec<Members> {
        let hidden = self.engine.hidden(self.key);
        let may_hide =
            |kind: &Kind| hidden.iter().any(|(cluster, other)| cluster == self.cluster.name() && other == kind);
        let members = kinds.iter().map(|(group_kind, version)| {
            let found = match version {
                Version::Unknown => Found::Unknown(None),
                Version::NotServed => Found::NotServed,
                Version::Is(kind) if self.kinds.is_gone(&self.key.cluster, kind) => Found::NotServed,
                Version::Is(kind) if self.kinds.is_missing(&self.key.cluster, kind) => {
                    self.found.borrow_mut().doubt = true;
                    Found::Unknown(None)
                }
                Version::Is(kind) if may_hide(kind) => Found::Unknown(None),
                Version::Is(kind) => match self.members_of(kind) {
                    Some(objects) => Found::Listed { kind: kind.clone(), objects },
                    None => Found::Unknown(self.trouble(kind, &children(kind))),
                },
            };
            Members { group_kind: group_kind.clone(), found }
        });
        members.collect()
    }
}

impl render::World for World<'_> {
    fn there(&self, resource: &graph::Resource, wanted: Option<&[Value]>) -> Option<Vec<Arc<Value>>> {
        let resource = self.resources.get(&resource.id)?;
        match (resource.form, wanted) {
            (Form::Single | Form::Collection, Some(wanted)) => Some(self.applied(resource, wanted)),
            (Form::Single | Form::Collection, None) => Some(self.before(resource)),
            (Form::Reference, Some([wanted])) => Some(self.referred(resource, wanted)),
            (Form::Selection, Some([wanted])) => self.selected(resource, wanted),
            _ => None,
        }
    }
}
