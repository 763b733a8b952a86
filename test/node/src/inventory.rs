//! All objects of a cluster, of all kinds.

use std::collections::BTreeSet;

use futures::future::try_join_all;
use kube::{
    Api, Client, ResourceExt,
    api::{DynamicObject, ListParams},
    discovery::{ApiGroup, Discovery, verbs},
};

/// Kinds that come and go by themselves, and what only shows other objects.
const RESTLESS: [&str; 4] = ["Event", "Lease", "ComponentStatus", "EndpointSlice"];

/// An object: kind and group, namespace, name.
pub(crate) type Item = (String, String, String);

/// What there is, but for the restless.
pub(crate) async fn inventory(client: &Client) -> anyhow::Result<BTreeSet<Item>> {
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
