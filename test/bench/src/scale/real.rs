//! What the real API servers hold.

use std::collections::BTreeMap;

use kube::Client;
use serde::Deserialize;

use crate::widget;

#[derive(Deserialize)]
struct List {
    metadata: ListMetadata,
    items: Vec<Item>,
}

#[derive(Deserialize)]
struct ListMetadata {
    #[serde(rename = "continue", default)]
    next: String,
}

#[derive(Deserialize)]
struct Item {
    metadata: Metadata,
    spec: Spec,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
}

#[derive(Deserialize)]
struct Spec {
    replicas: u64,
}

/// All Widgets of an API server by name, and the field of each that edits change.
pub(super) async fn replicas(client: &Client) -> anyhow::Result<BTreeMap<String, u64>> {
    let (mut all, mut next) = (BTreeMap::new(), String::new());
    loop {
        let path = format!("{}?limit=500&continue={next}", widget::ALL);
        let list: List = client.request(http::Request::get(path).body(Vec::new())?).await?;
        all.extend(list.items.into_iter().map(|item| (item.metadata.name, item.spec.replicas)));
        if list.metadata.next.is_empty() {
            return Ok(all);
        }
        next = list.metadata.next;
    }
}
