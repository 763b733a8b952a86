//! What a real API server answers while there is nothing to do, recorded once, for those that only look like one.

use std::collections::HashMap;

use anyhow::Context as _;
use http::header::ACCEPT;
use kube::Client;
use serde_json::{Value, json};

use crate::widget;

/// The namespace by whose uid an API server is known.
pub(crate) const KUBE_SYSTEM: &str = "/api/v1/namespaces/kube-system";
const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const ACCEPT_APIS: &str = "/apis/broker.platform-mesh.io/v1alpha1/acceptapis";
/// Discovery and schemas of what every cluster has.
const DOCUMENTS: [&str; 8] = [
    "/version",
    "/api",
    "/apis",
    "/api/v1",
    "/apis/apiextensions.k8s.io/v1",
    "/apis/bench.example.org/v1",
    "/openapi/v3",
    "/openapi/v3/apis/bench.example.org/v1",
];
/// And of providers.
const DOCUMENTS_OF_PROVIDERS: [&str; 2] =
    ["/apis/broker.platform-mesh.io/v1alpha1", "/openapi/v3/apis/broker.platform-mesh.io/v1alpha1"];
/// What `kubectl broker` asks of what is served: all of it in two answers.
const DISCOVERIES: [&str; 2] = ["/api", "/apis"];
const LISTS: [&str; 5] = [CRDS, widget::ALL, "/api/v1/namespaces", "/api/v1/secrets", "/api/v1/configmaps"];
const JSON: &str = "application/json";
const DISCOVERY: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const METADATA: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

/// Answers of one API server.
#[derive(Debug, Default)]
pub(crate) struct Recording {
    documents: HashMap<&'static str, String>,
    discoveries: HashMap<&'static str, String>,
    /// By path, and whether only metadata was asked for.
    lists: HashMap<(&'static str, bool), Value>,
}

impl Recording {
    /// Of a consumer: its CRDs, and none of its objects.
    pub(crate) async fn of_consumer(client: &Client) -> anyhow::Result<Self> {
        let mut recording = Self::default();
        for path in DOCUMENTS {
            recording.document(client, path).await?;
        }
        for path in DISCOVERIES {
            recording.discoveries.insert(path, ask(client, path, DISCOVERY).await?);
        }
        for path in LISTS {
            recording.list(client, path).await?;
        }
        Ok(recording)
    }

    /// Of a provider: the same, and its AcceptAPIs as far as they are of a kind that nobody brokers. The broker must have
    /// written what it says of those.
    pub(crate) async fn of_provider(client: &Client) -> anyhow::Result<Self> {
        let mut recording = Self::of_consumer(client).await?;
        for path in DOCUMENTS_OF_PROVIDERS {
            recording.document(client, path).await?;
        }
        recording.list(client, ACCEPT_APIS).await?;
        Ok(recording)
    }

    /// The same without AcceptAPIs.
    pub(crate) fn that_accepts_nothing(&self) -> Self {
        let mut lists = self.lists.clone();
        for ((path, _), list) in &mut lists {
            if *path == ACCEPT_APIS {
                list["items"] = json!([]);
            }
        }
        Self { documents: self.documents.clone(), discoveries: self.discoveries.clone(), lists }
    }

    async fn document(&mut self, client: &Client, path: &'static str) -> anyhow::Result<()> {
        self.documents.insert(path, ask(client, path, JSON).await?);
        Ok(())
    }

    async fn list(&mut self, client: &Client, path: &'static str) -> anyhow::Result<()> {
        for accept in [JSON, METADATA] {
            let mut list: Value = serde_json::from_str(&ask(client, path, accept).await?)?;
            anyhow::ensure!(list["metadata"]["resourceVersion"].is_string(), "{path} is no list");
            // An empty list may be `null`.
            let items = list["items"].as_array().into_iter().flatten();
            list["items"] = items.filter(|item| is_kept(path, item)).cloned().collect();
            self.lists.insert((path, accept == METADATA), list);
        }
        Ok(())
    }

    /// The answer to a GET: a document, a list, or one object of a list.
    pub(crate) fn answer(&self, path: &str, metadata_only: bool) -> Option<String> {
        if let Some(document) = self.documents.get(path) {
            return Some(document.clone());
        }
        if let Some(list) = self.find(path, metadata_only) {
            return Some(list.to_string());
        }
        let (list, name) = path.rsplit_once('/')?;
        let items = self.find(list, metadata_only)?["items"].as_array()?;
        items.iter().find(|item| item["metadata"]["name"] == name).map(Value::to_string)
    }

    /// The answer to whoever asks for all that is served at once.
    pub(crate) fn discovery(&self, path: &str) -> Option<String> {
        self.discoveries.get(path).cloned()
    }

    /// The line of a watch of a list that says how far it is, and nothing else.
    pub(crate) fn bookmark(&self, path: &str, metadata_only: bool) -> Option<String> {
        let list = self.find(path, metadata_only)?;
        let kind = list["kind"].as_str().unwrap_or_default();
        let object = json!({
            "kind": kind.strip_suffix("List").unwrap_or(kind),
            "apiVersion": list["apiVersion"],
            "metadata": {"resourceVersion": list["metadata"]["resourceVersion"], "creationTimestamp": null},
        });
        Some(format!("{}\n", json!({"type": "BOOKMARK", "object": object})))
    }

    fn find(&self, path: &str, metadata_only: bool) -> Option<&Value> {
        let same = |known: &(&str, bool)| known.0 == path && known.1 == metadata_only;
        self.lists.iter().find_map(|(known, list)| same(known).then_some(list))
    }
}

/// Whether an idle cluster has this object.
fn is_kept(path: &str, item: &Value) -> bool {
    match path {
        CRDS => true,
        ACCEPT_APIS => item["metadata"]["name"] != widget::RESOURCE,
        _ => false,
    }
}

async fn ask(client: &Client, path: &str, accept: &str) -> anyhow::Result<String> {
    let request = http::Request::get(path).header(ACCEPT, accept).body(Vec::new())?;
    client.request_text(request).await.with_context(|| format!("cannot record {path}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn recording() -> Recording {
        let list = json!({
            "kind": "AcceptAPIList", "apiVersion": "g/v1", "metadata": {"resourceVersion": "7"},
            "items": [{"metadata": {"name": "gadgets"}}],
        });
        let documents = HashMap::from([("/api/v1", "{}".to_owned())]);
        Recording { documents, lists: HashMap::from([((ACCEPT_APIS, false), list)]), ..Recording::default() }
    }

    #[test]
    fn what_was_recorded_is_answered_and_nothing_else() {
        let recording = recording();
        assert_eq!(recording.answer("/api/v1", false).unwrap(), "{}");
        assert!(recording.answer(ACCEPT_APIS, false).unwrap().contains("gadgets"));
        assert_eq!(recording.answer(ACCEPT_APIS, true), None);
        let one = recording.answer(&format!("{ACCEPT_APIS}/gadgets"), false).unwrap();
        assert_eq!(one, r#"{"metadata":{"name":"gadgets"}}"#);
        assert_eq!(recording.answer(&format!("{ACCEPT_APIS}/others"), false), None);
        assert_eq!(recording.answer("/api/v2", false), None);
    }

    #[test]
    fn a_bookmark_is_an_object_of_the_kind() {
        let line = recording().bookmark(ACCEPT_APIS, false).unwrap();
        assert!(line.ends_with('\n'));
        let event: Value = serde_json::from_str(&line).unwrap();
        assert_eq!((&event["type"], &event["object"]["kind"]), (&json!("BOOKMARK"), &json!("AcceptAPI")));
        assert_eq!(event["object"]["metadata"]["resourceVersion"], "7");
        assert_eq!(recording().bookmark("/api/v1", false), None);
    }

    #[test]
    fn idle_clusters_hold_no_objects_but_what_is_installed() {
        let widgets = json!({"metadata": {"name": widget::RESOURCE}});
        assert!(is_kept(CRDS, &widgets));
        assert!(!is_kept(ACCEPT_APIS, &widgets) && is_kept(ACCEPT_APIS, &json!({"metadata": {"name": "gadgets"}})));
        assert!(!is_kept(widget::ALL, &widgets));
        let none = recording().that_accepts_nothing();
        assert_eq!(none.lists[&(ACCEPT_APIS, false)]["items"], json!([]));
    }
}
