//! `Place`: one cluster, as a person and the provider's controller act there.

use anyhow::Context as _;
use broker_api::keys;
use harness::{Cluster, FIELD_MANAGER};
use kube::{
    Api, Client,
    api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::{
    Kind, Object, Told,
    kind::{EVENT, NAMESPACE},
    selection::Selection,
};

/// The user of people.
pub const PERSON: &str = "person";
/// The user of what runs at a provider.
pub const CONTROLLER: &str = "provider-controller";

/// One cluster. Its clients belong to the runtime in which it was made.
#[derive(Clone)]
pub struct Place {
    /// The API server.
    pub cluster: Cluster,
    name: String,
    person: Client,
    controller: Client,
}

/// The first 12 hex digits of SHA-256 over `consumer#<name>`.
pub fn consumer_hash(consumer: &str) -> String {
    let mut hash = hex::encode(Sha256::digest(format!("consumer#{consumer}")));
    hash.truncate(12);
    hash
}

impl Place {
    /// A cluster which brokers call `name`.
    pub async fn new(name: &str, cluster: Cluster) -> Self {
        let person = cluster.client(PERSON).await.unwrap();
        let controller = cluster.client(CONTROLLER).await.unwrap();
        Self { cluster, name: name.to_owned(), person, controller }
    }

    /// What brokers call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Name of the copy of an object of this consumer, where it is short enough.
    pub fn copy_name(&self, name: &str) -> String {
        format!("{}-{name}", consumer_hash(&self.name))
    }

    /// A person's client.
    pub fn client(&self) -> Client {
        self.person.clone()
    }

    fn api_of(client: &Client, kind: &Kind, namespace: &str) -> Api<DynamicObject> {
        if kind.is_namespaced() && !namespace.is_empty() {
            Api::namespaced_with(client.clone(), namespace, &kind.resource())
        } else {
            Api::all_with(client.clone(), &kind.resource())
        }
    }

    /// A person's view of a kind in a namespace; with an empty one, of cluster-scoped objects or of all.
    pub fn api(&self, kind: &Kind, namespace: &str) -> Api<DynamicObject> {
        Self::api_of(&self.person, kind, namespace)
    }

    /// `kubectl apply --server-side` as a person; CRDs are waited for.
    pub async fn apply(&self, yaml: &str) -> Vec<Object> {
        let applied = self.cluster.apply(PERSON, yaml).await;
        applied.unwrap_or_else(|error| panic!("{error:#}")).into_iter().map(Object::from).collect()
    }

    /// The same for one object of a kind that is served. [`Place::apply`] dials, and asks which kinds there are; this does not.
    pub async fn put(&self, kind: &Kind, object: &Value) -> Object {
        let field = |name: &str| object["metadata"][name].as_str().unwrap_or_default();
        let (namespace, name) = (field("namespace"), field("name"));
        let params = PatchParams::apply(FIELD_MANAGER).force();
        let put = self.api(kind, namespace).patch(name, &params, &Patch::Apply(object)).await;
        put.map_or_else(|error| panic!("put {} {namespace}/{name} in {}: {error}", kind.kind, self.name), Object::from)
    }

    /// Makes a namespace, if it is not there.
    pub async fn make_namespace(&self, name: &str) {
        self.put(&NAMESPACE, &NAMESPACE.object("", name, &json!({}))).await;
    }

    /// Takes the broker's label off the namespaces that it has made. Emptied ones would go some time after what belonged to
    /// their copies, which garbage collectors take their time for: they are somebody else's now.
    pub async fn keep_namespaces(&self) {
        let kept = json!({"metadata": {"labels": {keys::MANAGED_BY: null}}});
        let made = self.list(&NAMESPACE, "").await;
        let made = made.iter().filter(|made| made.label(keys::MANAGED_BY).is_some() && !made.is_deleting());
        for namespace in made {
            self.edit(&NAMESPACE, "", namespace.name(), kept.clone()).await;
        }
    }

    /// `kubectl create` as a person: the answer of the API server.
    pub async fn try_create(&self, kind: &Kind, object: &Value) -> kube::Result<Object> {
        let object: DynamicObject = serde_json::from_value(object.clone()).unwrap();
        let namespace = object.metadata.namespace.clone().unwrap_or_default();
        let created = self.api(kind, &namespace).create(&PostParams::default(), &object).await;
        created.map(Object::from)
    }

    /// `kubectl create` as a person. `body` holds `spec` and the like, and maybe labels and annotations.
    pub async fn create(&self, kind: &Kind, namespace: &str, name: &str, body: Value) -> Object {
        let created = self.try_create(kind, &kind.object(namespace, name, &body)).await;
        created.unwrap_or_else(|error| panic!("create {} {namespace}/{name} in {}: {error}", kind.kind, self.name))
    }

    /// An object, if it is there.
    pub async fn try_get(&self, kind: &Kind, namespace: &str, name: &str) -> anyhow::Result<Option<Object>> {
        let found = self.api(kind, namespace).get_opt(name).await;
        let found = found.with_context(|| format!("get {} {namespace}/{name} in {}", kind.kind, self.name))?;
        Ok(found.map(Object::from))
    }

    /// An object, if it is there.
    pub async fn find(&self, kind: &Kind, namespace: &str, name: &str) -> Option<Object> {
        self.try_get(kind, namespace, name).await.unwrap_or_else(|error| panic!("{error:#}"))
    }

    /// An object that must be there.
    pub async fn get(&self, kind: &Kind, namespace: &str, name: &str) -> Object {
        let found = self.find(kind, namespace, name).await;
        found.unwrap_or_else(|| panic!("no {} {namespace}/{name} in {}", kind.kind, self.name))
    }

    /// All objects of a kind in a namespace.
    pub async fn list(&self, kind: &Kind, namespace: &str) -> Vec<Object> {
        let listed = self.api(kind, namespace).list(&ListParams::default()).await.unwrap();
        listed.items.into_iter().map(Object::from).collect()
    }

    /// `kubectl patch --type merge` as a person. A patch with `status` alone is one of the status.
    pub async fn edit(&self, kind: &Kind, namespace: &str, name: &str, patch: Value) -> Object {
        let params = PatchParams { field_manager: Some(PERSON.to_owned()), ..PatchParams::default() };
        let edited = self.api(kind, namespace).patch(name, &params, &Patch::Merge(&patch)).await;
        let edited = edited
            .unwrap_or_else(|error| panic!("edit {} {namespace}/{name} in {}: {error}: {patch}", kind.kind, self.name));
        Object::from(edited)
    }

    /// Sets fields of a status as the provider's controller does (merge patch of the status subresource).
    pub async fn set_status(&self, kind: &Kind, namespace: &str, name: &str, status: Value) -> Object {
        let api = Self::api_of(&self.controller, kind, namespace);
        let params = PatchParams { field_manager: Some(CONTROLLER.to_owned()), ..PatchParams::default() };
        let set = api.patch_status(name, &params, &Patch::Merge(json!({"status": status}))).await;
        let set = set.unwrap_or_else(|error| {
            panic!("set the status of {} {namespace}/{name} in {}: {error}: {status}", kind.kind, self.name)
        });
        Object::from(set)
    }

    /// `kubectl delete` as a person, without waiting for finalizers.
    pub async fn delete(&self, kind: &Kind, namespace: &str, name: &str) {
        let deleted = self.api(kind, namespace).delete(name, &DeleteParams::default()).await;
        deleted.unwrap_or_else(|error| panic!("delete {} {namespace}/{name} in {}: {error}", kind.kind, self.name));
    }

    /// Waits until the object is there and `test` holds for it; returns it.
    pub async fn until(
        &self,
        kind: &Kind,
        namespace: &str,
        name: &str,
        what: &str,
        test: impl Fn(&Object) -> bool,
    ) -> Object {
        let what = format!("{} {namespace}/{name} in {}: {what}", kind.kind, self.name);
        let selected = self.selected(kind, namespace, format!("metadata.name={name}"));
        let look = |all: &[Object]| {
            let seen = all.first().context("no such object")?;
            anyhow::ensure!(test(seen), "{seen}");
            Ok(seen.clone())
        };
        selected.until(&what, look).await
    }

    fn selected(&self, kind: &Kind, namespace: &str, fields: String) -> Selection {
        Selection::new(self.api(kind, namespace), fields)
    }

    /// Waits until the object is there; returns it.
    pub async fn until_there(&self, kind: &Kind, namespace: &str, name: &str) -> Object {
        self.until(kind, namespace, name, "to be there", |_| true).await
    }

    /// Waits until the object is gone.
    pub async fn until_gone(&self, kind: &Kind, namespace: &str, name: &str) {
        let what = format!("{} {namespace}/{name} in {} to be gone", kind.kind, self.name);
        let selected = self.selected(kind, namespace, format!("metadata.name={name}"));
        let look = |all: &[Object]| {
            anyhow::ensure!(all.is_empty(), "{}", all[0]);
            Ok(())
        };
        selected.until(&what, look).await;
    }

    /// Events about objects of this name in a namespace: type, reason, message.
    pub async fn events(&self, namespace: &str, name: &str) -> Vec<Told> {
        let about = ListParams::default().fields(&about(name));
        let events = self.api(&EVENT, namespace).list(&about).await.unwrap();
        events.items.into_iter().map(|event| told(&event.into())).collect()
    }

    /// Waits for an Event about an object of this name, for which `test` holds.
    pub async fn until_event(&self, namespace: &str, name: &str, reason: &str, test: impl Fn(&Told) -> bool) -> Told {
        let what = format!("an Event {reason} about {namespace}/{name} in {}", self.name);
        let look = |all: &[Object]| {
            let told: Vec<Told> = all.iter().map(told).collect();
            let found = told.iter().find(|told| told.reason == reason && test(told)).cloned();
            found.ok_or_else(|| anyhow::anyhow!("{told:?}"))
        };
        self.selected(&EVENT, namespace, about(name)).until(&what, look).await
    }
}

/// The fields of Events about objects of this name.
fn about(name: &str) -> String {
    format!("involvedObject.name={name}")
}

/// What an Event says.
fn told(event: &Object) -> Told {
    Told {
        status: event.text("/type").to_owned(),
        reason: event.text("/reason").to_owned(),
        message: event.text("/message").to_owned(),
    }
}
