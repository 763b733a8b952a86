//! `Thing`: an object of a kind that this program has no type for, such as an instance of a kind that was just defined.

use anyhow::Context as _;
use harness::wait_for;
use kube::{
    Api,
    api::{DeleteParams, DynamicObject, Patch, PatchParams},
    core::{ApiResource, GroupVersionKind},
};
use serde_json::Value;

use crate::{DEADLINE, Place, place::NAMESPACE};

/// The group of the kinds that demos define.
pub const GROUP: &str = "platform.example.org";

/// An object, whether it is there or not.
pub struct Thing {
    api: Api<DynamicObject>,
    name: String,
    what: String,
}

impl Thing {
    /// A ResourceGraphDefinition.
    pub fn definition(place: &Place, name: &str) -> Self {
        let resource = resource("kro.run", "ResourceGraphDefinition");
        Self::of(Api::all_with(place.client.clone(), &resource), place, &resource, name)
    }

    /// An instance of a kind that a demo defines.
    pub fn instance(place: &Place, kind: &str, name: &str) -> Self {
        Self::object(place, GROUP, kind, name)
    }

    /// An object of any kind that demos have.
    pub fn object(place: &Place, group: &str, kind: &str, name: &str) -> Self {
        let resource = resource(group, kind);
        Self::of(Api::namespaced_with(place.client.clone(), NAMESPACE, &resource), place, &resource, name)
    }

    fn of(api: Api<DynamicObject>, place: &Place, resource: &ApiResource, name: &str) -> Self {
        let what = format!("{} {name} in {}", resource.kind, place.name());
        Self { api, name: name.to_owned(), what }
    }

    /// As it is now.
    pub async fn get(&self) -> anyhow::Result<Value> {
        let object = self.api.get(&self.name).await.with_context(|| format!("cannot read {}", self.what))?;
        Ok(serde_json::to_value(object)?)
    }

    /// Waits until it is as wanted, and returns it.
    pub async fn until(&self, wanted: &str, fits: impl Fn(&Value) -> bool) -> anyhow::Result<Value> {
        wait_for(DEADLINE, &format!("{} to be {wanted}", self.what), async || {
            let seen = self.get().await?;
            anyhow::ensure!(fits(&seen), "its status is {}", seen["status"]);
            Ok(seen)
        })
        .await
    }

    /// Waits until an instance is `ACTIVE` as it is now, and `fits`.
    pub async fn until_active(&self, fits: impl Fn(&Value) -> bool) -> anyhow::Result<Value> {
        self.until("ACTIVE, as it is now", |seen| {
            seen["status"]["state"] == "ACTIVE" && is(seen, "Ready", "True") && fits(seen)
        })
        .await
    }

    /// `kubectl patch --type merge`.
    pub async fn edit(&self, patch: Value) -> anyhow::Result<()> {
        let edited = self.api.patch(&self.name, &PatchParams::default(), &Patch::Merge(patch)).await;
        edited.map(drop).with_context(|| format!("cannot edit {}", self.what))
    }

    /// `kubectl delete`, without waiting.
    pub async fn delete(&self) -> anyhow::Result<()> {
        let deleted = self.api.delete(&self.name, &DeleteParams::default()).await;
        deleted.map(drop).with_context(|| format!("cannot delete {}", self.what))
    }

    /// Waits until it is not there.
    pub async fn gone(&self) -> anyhow::Result<()> {
        wait_for(DEADLINE, &format!("{} to be gone", self.what), async || {
            anyhow::ensure!(self.api.get_opt(&self.name).await?.is_none(), "it is there");
            Ok(())
        })
        .await
    }
}

/// All kinds here are `v1alpha1`, and their plurals end in a plain `s`.
fn resource(group: &str, kind: &str) -> ApiResource {
    ApiResource::from_gvk_with_plural(
        &GroupVersionKind::gvk(group, "v1alpha1", kind),
        &format!("{}s", kind.to_lowercase()),
    )
}

/// Message of a condition that has this status, of the object as it is now.
pub fn message<'a>(object: &'a Value, kind: &str, status: &str) -> Option<&'a str> {
    let generation = &object["metadata"]["generation"];
    let conditions = object["status"]["conditions"].as_array()?;
    let found = conditions.iter().find(|held| held["type"] == kind && held["observedGeneration"] == *generation)?;
    found["message"].as_str().filter(|_| found["status"] == status)
}

/// Whether an object, as it is now, has a condition of this status.
pub fn is(object: &Value, kind: &str, status: &str) -> bool {
    message(object, kind, status).is_some()
}

/// Whether a ResourceGraphDefinition is served as it is now.
pub fn is_served(object: &Value) -> bool {
    object["status"]["state"] == "Active" && is(object, "Ready", "True")
}
