//! YAML texts of several documents, put into a cluster the way `kubectl apply --server-side` does.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::Context as _;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DynamicObject, ListParams, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::discovery::{ApiCapabilities, ApiResource, Scope, pinned_kind};
use kube::{Api, Client};

use crate::wait_for;

/// The field manager of what the harness applies.
pub const FIELD_MANAGER: &str = "harness";

const CRD_DEADLINE: Duration = Duration::from_secs(30);
const CRD_KIND: &str = "CustomResourceDefinition";

/// The objects of a YAML text; empty documents are left out.
///
/// # Errors
/// When it is not YAML, or a document is not an object with `apiVersion` and `kind`.
pub fn parse_objects(yaml: &str) -> anyhow::Result<Vec<DynamicObject>> {
    let documents: Vec<serde_json::Value> = serde_saphyr::from_multiple(yaml).context("not YAML")?;
    documents
        .into_iter()
        .filter(|document| !document.is_null())
        .map(|document| {
            let object: DynamicObject = serde_json::from_value(document.clone())
                .with_context(|| format!("not a Kubernetes object: {document}"))?;
            anyhow::ensure!(object.types.is_some(), "without apiVersion and kind: {document}");
            Ok(object)
        })
        .collect()
}

/// Applies every document of `yaml` in its order, as field manager [`FIELD_MANAGER`], taking over fields that others
/// own. Objects without a namespace go to `default`. CRDs are waited for until they are established and all their
/// versions are served, so that objects of their kinds can follow in the same text. Returns what the server stored.
///
/// # Errors
/// Names the object that the server refused.
pub async fn apply(client: &Client, yaml: &str) -> anyhow::Result<Vec<DynamicObject>> {
    let mut stored = Vec::new();
    let mut kinds = HashMap::new();
    let mut unserved: Vec<CustomResourceDefinition> = Vec::new();
    for object in parse_objects(yaml)? {
        let gvk = kind_of(&object)?;
        if gvk.kind != CRD_KIND {
            // Many CRDs in a row become ready together, so they are waited for at the end of the row.
            for definition in unserved.drain(..) {
                until_served(client, &definition).await?;
            }
        }
        let name = object.metadata.name.clone().unwrap_or_default();
        let described = || format!("cannot apply {} {name}", gvk.kind);
        let (resource, capabilities) = if let Some(known) = kinds.get(&gvk) {
            known
        } else {
            let found = pinned_kind(client, &gvk).await.with_context(described)?;
            kinds.entry(gvk.clone()).or_insert(found)
        };
        let object = api(client, &object, resource, capabilities)
            .patch(&name, &PatchParams::apply(FIELD_MANAGER).force(), &Patch::Apply(&object))
            .await
            .with_context(described)?;
        if gvk.kind == CRD_KIND {
            unserved.push(object.clone().try_parse().with_context(described)?);
        }
        stored.push(object);
    }
    for definition in unserved {
        until_served(client, &definition).await?;
    }
    Ok(stored)
}

fn kind_of(object: &DynamicObject) -> anyhow::Result<GroupVersionKind> {
    let types = object.types.as_ref().context("an object without a kind")?;
    Ok(GroupVersionKind::try_from(types)?)
}

fn api(
    client: &Client,
    object: &DynamicObject,
    resource: &ApiResource,
    capabilities: &ApiCapabilities,
) -> Api<DynamicObject> {
    match (&capabilities.scope, object.metadata.namespace.as_deref()) {
        (Scope::Cluster, _) => Api::all_with(client.clone(), resource),
        (Scope::Namespaced, namespace) => {
            Api::namespaced_with(client.clone(), namespace.unwrap_or("default"), resource)
        }
    }
}

/// Waits until a CRD is established and its objects can be listed in every served version: between the condition and
/// the first list that works, the server may say 404 for a moment.
async fn until_served(client: &Client, definition: &CustomResourceDefinition) -> anyhow::Result<()> {
    let name = definition.metadata.name.as_deref().unwrap_or_default();
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let what = format!("CRD {name} to be established");
    wait_for(CRD_DEADLINE, &what, async || {
        let now = definitions.get(name).await?;
        let conditions = now.status.and_then(|status| status.conditions).unwrap_or_default();
        anyhow::ensure!(
            conditions.iter().any(|condition| condition.type_ == "Established" && condition.status == "True"),
            "conditions {conditions:?}"
        );
        Ok(())
    })
    .await?;
    for version in definition.spec.versions.iter().filter(|version| version.served) {
        let gvk = GroupVersionKind::gvk(&definition.spec.group, &version.name, &definition.spec.names.kind);
        let resource = ApiResource::from_gvk_with_plural(&gvk, &definition.spec.names.plural);
        let objects: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
        let what = format!("CRD {name} to be served in {}", version.name);
        wait_for(CRD_DEADLINE, &what, async || {
            objects.list_metadata(&ListParams::default().limit(1)).await?;
            // Discovery is published separately from the handler, and later calls go by it.
            pinned_kind(client, &gvk).await
        })
        .await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;

    #[test]
    fn documents_are_separated_and_empty_ones_left_out() {
        let objects = parse_objects(
            "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n---\n# nothing\n---\n{apiVersion: v1, kind: Secret, metadata: {name: b}}\n",
        )
        .unwrap();
        let names: Vec<_> = objects.iter().filter_map(|o| o.metadata.name.as_deref()).collect();
        assert_eq!(names, ["a", "b"]);
    }

    #[test]
    fn a_document_without_a_kind_is_refused() {
        parse_objects("metadata: {name: a}").expect_err("it has no kind");
    }
}
