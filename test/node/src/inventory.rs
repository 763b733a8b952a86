//! All objects of a cluster, of all kinds.

use std::collections::BTreeSet;

use futures::future::try_join_all;
use harness::wait_for;
use kube::{
    Api, Client, ResourceExt,
    api::{DynamicObject, ListParams},
    discovery::{ApiGroup, Discovery, verbs},
};

use crate::DEADLINE;

/// Kinds that come and go by themselves, and what only shows other objects.
const RESTLESS: [&str; 4] = ["Event", "Lease", "ComponentStatus", "EndpointSlice"];

/// An object: kind and group, namespace, name.
pub(crate) type Item = (String, String, String);

/// What there is, but for the restless. Kinds that are new may say for a moment that they are not ready.
pub(crate) async fn inventory(client: &Client) -> anyhow::Result<BTreeSet<Item>> {
    wait_for(DEADLINE, "a list of all objects", async || all(client).await).await
}

async fn all(client: &Client) -> anyhow::Result<BTreeSet<Item>> {
    let discovery = Discovery::new(client.clone()).run().await?;
    let kinds = discovery.groups().flat_map(ApiGroup::recommended_resources);
    let kinds = kinds.filter(|(resource, capabilities)| {
        capabilities.supports_operation(verbs::LIST) && !RESTLESS.contains(&resource.kind.as_str())
    });
    let lists = kinds.map(async |(resource, _)| {
        let objects = Api::<DynamicObject>::all_with(client.clone(), &resource);
        let listed = objects.list_metadata(&ListParams::default()).await?;
        let kind = format!("{}.{}", resource.kind, resource.group);
        let item = |object: &kube::api::PartialObjectMeta<DynamicObject>| {
            (kind.clone(), object.namespace().unwrap_or_default(), object.name_any())
        };
        anyhow::Ok(listed.iter().map(item).collect::<Vec<_>>())
    });
    Ok(try_join_all(lists).await?.into_iter().flatten().collect())
}
