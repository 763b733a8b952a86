//! What is there of a resource.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use broker_api::graphs::keys;
use serde_json::Value;

use super::text_at;
use crate::graph::{Resource, Role};

/// What is there, as far as is known. It is asked for each resource in the order of the graph.
pub trait World {
    /// The objects that are there of a resource: those of a collection in any order, and with their labels; those that a
    /// selector matches in the API's, and `None` until they have been listed. `wanted` is what was rendered of it; `None` where
    /// that is not known, and what was there before is asked for.
    fn there(&self, resource: &Resource, wanted: Option<&[Value]>) -> Option<Vec<Arc<Value>>>;
}

/// The objects that are there, by the ids of their resources.
pub type Observed = BTreeMap<String, Vec<Arc<Value>>>;

impl World for Observed {
    fn there(&self, resource: &Resource, _wanted: Option<&[Value]>) -> Option<Vec<Arc<Value>>> {
        self.get(&resource.id).cloned()
    }
}

/// What expressions see of a resource that is not rendered: what was there before, if it is clear what that is.
pub(super) fn before(resource: &Resource, there: Option<Vec<Arc<Value>>>) -> Option<Arc<Value>> {
    let there = there?;
    match resource.role {
        Role::Selected => None,
        Role::Collection => {
            let by_place: BTreeMap<u32, &Value> =
                there.iter().filter_map(|object| Some((place(object)?, object.as_ref()))).collect();
            // Two at one place, or one at none: some of them are to go, or are no children. An empty one may never have been.
            let is_clear = !there.is_empty() && by_place.len() == there.len();
            is_clear.then(|| Arc::new(by_place.into_values().cloned().collect()))
        }
        Role::One | Role::External => match there.as_slice() {
            [only] => Some(Arc::clone(only)),
            _ => None,
        },
    }
}

/// The place of an object in its collection, as its label says it.
fn place(object: &Value) -> Option<u32> {
    object.get("metadata")?.get("labels")?.get(keys::COLLECTION_INDEX)?.as_str()?.parse().ok()
}

/// What is there of what is wanted.
pub(super) enum Found {
    /// For each object that is wanted, in their order, the one that is there.
    Each(Vec<Option<Arc<Value>>>),
    /// All that a selector matches.
    Listed(Vec<Arc<Value>>),
    /// A selector's objects have not been listed yet.
    Unlisted,
}

impl Found {
    /// Matches objects by their names and namespaces.
    pub(super) fn of(resource: &Resource, wanted: &[Value], there: Option<Vec<Arc<Value>>>) -> Self {
        if resource.role == Role::Selected {
            return there.map_or(Self::Unlisted, Self::Listed);
        }
        let identity = |object| (text_at(object, "namespace"), text_at(object, "name"));
        let there = there.unwrap_or_default();
        let by_identity: HashMap<_, _> = there.iter().map(|object| (identity(object), object)).collect();
        Self::Each(wanted.iter().map(|object| by_identity.get(&identity(object)).copied().cloned()).collect())
    }

    /// What expressions see of it: of a collection only what is there, and nothing while nothing is.
    pub(super) fn value(&self, resource: &Resource, wanted: usize) -> Option<Arc<Value>> {
        let list = |objects: &mut dyn Iterator<Item = &Arc<Value>>| {
            Arc::new(Value::Array(objects.map(|object| object.as_ref().clone()).collect()))
        };
        match self {
            Self::Unlisted => None,
            Self::Listed(all) => Some(list(&mut all.iter())),
            Self::Each(all) if resource.role == Role::Collection => {
                let any = wanted == 0 || all.iter().any(Option::is_some);
                any.then(|| list(&mut all.iter().flatten()))
            }
            Self::Each(all) => all.first().cloned().flatten(),
        }
    }
}
