//! What an API server held, for one that begins with it.

use serde_json::{Value, json};

use crate::{
    history::{History, Key},
    resource::Storage,
    state::State,
};

impl State {
    /// All that is held.
    pub(crate) fn saved(&self) -> Value {
        let kinds: Vec<Value> = self
            .storages()
            .iter()
            .map(|storage| {
                let objects: Vec<&Value> = self.all(storage).map(|(_, object)| object).collect();
                json!({"group": storage.group, "plural": storage.plural, "objects": objects})
            })
            .collect();
        json!({"revision": self.history.revision(), "kinds": kinds})
    }

    /// What was saved: every object as it was, at the version that it had. Of what came before nothing is known, and something
    /// has happened since: an API server that starts writes, so that nobody goes on where it was.
    pub(crate) fn restored(&self, saved: &Value) -> Result<Self, String> {
        let revision = saved["revision"].as_u64().ok_or("it tells no revision")?;
        let mut state = Self::empty(self.uids.clone(), self.clock, History::from(revision + 1));
        state.longest = self.longest;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let kinds = saved["kinds"].as_array().ok_or("it tells no kinds")?;
        let kinds =
            kinds.iter().map(|kind| (Storage { group: text(&kind["group"]), plural: text(&kind["plural"]) }, kind));
        for (storage, kind) in kinds {
            for object in kind["objects"].as_array().into_iter().flatten() {
                state.hold(&storage, Key::of(object), object.clone());
            }
        }
        Ok(state)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{clock::Clock, state::CRDS};

    #[tokio::test(start_paused = true)]
    async fn what_is_saved_is_held_again_at_its_version() {
        let clock = Clock::starting(0);
        let mut state = State::new(1, clock);
        let maps = Storage::new("", "configmaps");
        let map = json!({"metadata": {"name": "a", "namespace": "default", "uid": "u"}, "data": {"key": "value"}});
        let kept = state.put(&maps, map);
        let crds = Storage::new(CRDS[0], CRDS[1]);
        let version = json!({"name": "v1", "served": true, "storage": true,
            "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}});
        let names = json!({"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"});
        let crd = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "things.g.io", "uid": "c"},
            "spec": {"group": "g.io", "scope": "Namespaced", "names": names, "versions": [version]}});
        state.put(&crds, crd);
        while state.settle_definitions() {}
        assert!(
            state.resource("g.io", "v1", "things").is_some(),
            "nothing is proven by what is not served before either"
        );

        let again = State::new(2, clock).restored(&state.saved()).unwrap();
        assert_eq!(again.get(&maps, &Key::new("default", "a")), Some(&*kept));
        assert_eq!(again.history.revision(), state.history.revision() + 1);
        assert!(again.resource("g.io", "v1", "things").is_some());
        assert!(!again.history.reaches(state.history.revision()), "nobody goes on where it was");
        assert!(state.restored(&json!({})).is_err());
    }
}
