//! `References`: which instances refer to which objects that are not theirs.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use broker_api::ClusterName;
use runtime_effect::{kind::Kind, selector::Selector};
use runtime_fleet::{
    hashed::{HashMap, HashSet},
    object::ObjectKey,
};

use super::key::InstanceKey;

/// Something that an instance refers to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reference {
    /// An object by its name.
    Named(Kind, ObjectKey),
    /// All objects of a kind with these labels, in a namespace or in all.
    Selected(Kind, Option<String>, Selector),
}

type Place = (ClusterName, Kind, ObjectKey);

#[derive(Default)]
struct All {
    of: HashMap<InstanceKey, BTreeSet<Reference>>,
    named: HashMap<Place, HashSet<InstanceKey>>,
    selecting: HashMap<(ClusterName, Kind), HashSet<InstanceKey>>,
}

/// See the module.
#[derive(Default)]
pub struct References(Mutex<All>);

impl References {
    fn all(&self) -> MutexGuard<'_, All> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on this is what an instance refers to. Whether there is anything new: what was seen of that may have changed
    /// meanwhile.
    pub fn set(&self, key: &InstanceKey, references: BTreeSet<Reference>) -> bool {
        let mut all = self.all();
        if all.of.get(key).map_or(references.is_empty(), |held| *held == references) {
            return false;
        }
        let before = all.of.remove(key).unwrap_or_default();
        for gone in before.difference(&references) {
            match gone {
                Reference::Named(kind, object) => {
                    take(&mut all.named, &(key.cluster.clone(), kind.clone(), object.clone()), key);
                }
                Reference::Selected(kind, ..) => take(&mut all.selecting, &(key.cluster.clone(), kind.clone()), key),
            }
        }
        let mut news = false;
        for reference in &references {
            news |= !before.contains(reference);
            match reference {
                Reference::Named(kind, object) => {
                    let place = (key.cluster.clone(), kind.clone(), object.clone());
                    all.named.entry(place).or_default().insert(key.clone());
                }
                Reference::Selected(kind, ..) => {
                    all.selecting.entry((key.cluster.clone(), kind.clone())).or_default().insert(key.clone());
                }
            }
        }
        if !references.is_empty() {
            all.of.insert(key.clone(), references);
        }
        news
    }

    /// The instances that an object concerns which had, or has, these labels.
    pub fn concerned(
        &self,
        cluster: &ClusterName,
        kind: &Kind,
        object: &ObjectKey,
        labels: impl FnOnce() -> Vec<BTreeMap<String, String>>,
    ) -> Vec<InstanceKey> {
        let all = self.all();
        let named = all.named.get(&(cluster.clone(), kind.clone(), object.clone()));
        let mut concerned: Vec<InstanceKey> = named.into_iter().flatten().cloned().collect();
        if let Some(selecting) = all.selecting.get(&(cluster.clone(), kind.clone())) {
            let labels = labels();
            let selects = |reference: &Reference| match reference {
                Reference::Selected(of, namespace, selector) => {
                    of == kind
                        && namespace.as_deref().is_none_or(|namespace| *namespace == *object.namespace)
                        && labels.iter().any(|labels| selector.selects(labels))
                }
                Reference::Named(..) => false,
            };
            let selecting = selecting.iter().filter(|key| all.of.get(*key).into_iter().flatten().any(selects));
            concerned.extend(selecting.cloned());
        }
        concerned
    }

    /// The instances that refer to objects of a kind.
    pub fn of_kind(&self, cluster: &ClusterName, kind: &Kind) -> Vec<InstanceKey> {
        let all = self.all();
        let refers = |reference: &Reference| match reference {
            Reference::Named(of, _) | Reference::Selected(of, ..) => of == kind,
        };
        let own = all.of.iter().filter(|(key, held)| key.cluster == *cluster && held.iter().any(refers));
        own.map(|(key, _)| key.clone()).collect()
    }
}

fn take<K: Eq + std::hash::Hash>(from: &mut HashMap<K, HashSet<InstanceKey>>, place: &K, key: &InstanceKey) {
    if let Some(keys) = from.get_mut(place) {
        keys.remove(key);
        if keys.is_empty() {
            from.remove(place);
        }
    }
}
