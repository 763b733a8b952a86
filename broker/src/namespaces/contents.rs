//! What namespaces of an API server hold: asked for all of them at once where there are several, and never faster than
//! the provider can bear.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{APIGroupList, APIResourceList};
use runtime_fleet::{
    call::{Caller, JSON, OBJECT_LIMIT, get},
    error::CallError,
    hashed::HashSet,
    kind::group_version_path,
};
use serde::{Deserialize, de::DeserializeOwned};
use tokio::time::Instant;

/// Requests a second to one provider in the long run, and at once.
const RATE: f64 = 25.0;
const BURST: f64 = 150.0;

/// Objects that one list of all namespaces brings at the most. Kinds that have more are asked for by namespace.
const PAGE: usize = 500;

/// So few namespaces are asked for one by one.
const ALONE: usize = 3;

const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

/// All groups, versions and resources in one answer (Kubernetes 1.30); older servers answer with their list of groups.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

/// How many requests may be sent now.
#[derive(Debug)]
pub(super) struct Bucket {
    tokens: f64,
    at: Instant,
}

impl Bucket {
    pub(super) fn new() -> Self {
        Self { tokens: BURST, at: Instant::now() }
    }

    /// Takes the right to send one, or says how long to wait for it.
    fn take(&mut self) -> Option<Duration> {
        let now = Instant::now();
        self.tokens = (self.tokens + (now - self.at).as_secs_f64() * RATE).min(BURST);
        self.at = now;
        if self.tokens < 1.0 {
            return Some(Duration::from_secs_f64((1.0 - self.tokens) / RATE));
        }
        self.tokens -= 1.0;
        None
    }

    /// Waits until one more request may be sent.
    pub(super) async fn turn(&mut self) {
        while let Some(wait) = self.take() {
            tokio::time::sleep(wait).await;
        }
    }
}

/// A page of metadata.
#[derive(Deserialize)]
pub(super) struct Page {
    #[serde(default)]
    metadata: PageMetadata,
    /// An empty list comes as `null`.
    items: Option<Vec<Item>>,
}

#[derive(Default, Deserialize)]
struct PageMetadata {
    #[serde(default, rename = "continue")]
    next: String,
}

#[derive(Deserialize)]
struct Item {
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Default, Deserialize)]
struct Metadata {
    #[serde(default)]
    name: String,
    #[serde(default)]
    namespace: String,
}

/// Asks one API server.
pub(super) struct Asker<'a> {
    pub(super) caller: &'a Caller,
    pub(super) bucket: &'a mut Bucket,
}

/// A resource whose objects are in namespaces.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Listable {
    /// `/api/v1`, or `/apis/group/version`.
    root: String,
    resource: String,
}

impl Listable {
    /// What every namespace holds by itself is left out.
    fn selector(&self) -> &'static str {
        match (self.root.as_str(), self.resource.as_str()) {
            ("/api/v1", "configmaps") => "&fieldSelector=metadata.name!%3Dkube-root-ca.crt",
            ("/api/v1", "serviceaccounts") => "&fieldSelector=metadata.name!%3Ddefault",
            _ => "",
        }
    }

    fn everywhere(&self) -> String {
        format!("{}/{}?limit={PAGE}{}", self.root, self.resource, self.selector())
    }

    fn within(&self, namespace: &str) -> String {
        format!("{}/namespaces/{namespace}/{}?limit=1{}", self.root, self.resource, self.selector())
    }

    /// Those that are most likely to be there come first: a namespace that is used is then known by few requests.
    fn order(&self) -> usize {
        let likely = ["pods", "secrets", "configmaps", "deployments", "persistentvolumeclaims", "services"];
        likely.iter().position(|likely| *likely == self.resource).unwrap_or(likely.len())
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Group {
    #[serde(default)]
    metadata: Metadata,
    #[serde(default)]
    versions: Vec<Version>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    #[serde(rename = "version")]
    name: String,
    #[serde(default)]
    resources: Vec<Resource>,
    #[serde(default)]
    freshness: String,
}

#[derive(Deserialize)]
struct Resource {
    #[serde(rename = "resource")]
    plural: String,
    #[serde(default)]
    scope: String,
    #[serde(default)]
    verbs: Vec<String>,
}

#[derive(Deserialize)]
struct Groups {
    kind: String,
    #[serde(default)]
    items: Vec<Group>,
}

/// All versions: a kind that only an older one serves is there as well. Events say nothing about use.
fn listable(groups: Vec<Group>) -> Result<Vec<Listable>, CallError> {
    let mut seen: HashSet<(String, String)> = HashSet::default();
    let mut all = Vec::new();
    for Group { metadata, versions } in groups {
        for version in versions {
            let root = group_version_path(&metadata.name, &version.name);
            if version.freshness == "Stale" {
                return Err(CallError::UnknownOutcome(format!("the API server does not know what {root} serves now")));
            }
            let resources = version.resources.into_iter().filter(|resource| {
                resource.scope == "Namespaced"
                    && resource.plural != "events"
                    && resource.verbs.iter().any(|verb| verb == "list")
            });
            for Resource { plural: resource, .. } in resources {
                if seen.insert((metadata.name.clone(), resource.clone())) {
                    all.push(Listable { root: root.clone(), resource });
                }
            }
        }
    }
    all.sort_by_key(Listable::order);
    Ok(all)
}

impl Asker<'_> {
    async fn read<T: DeserializeOwned>(&mut self, path: &str, accept: &'static str) -> Result<T, CallError> {
        self.bucket.turn().await;
        let (_, answer) = self.caller.call(get(path, accept)?, OBJECT_LIMIT).await?;
        serde_json::from_slice(&answer)
            .map_err(|error| CallError::UnknownOutcome(format!("unreadable answer from {path}: {error}")))
    }

    /// Names of the namespaces with these labels.
    pub(super) async fn namespaces(&mut self, selector: &str) -> Result<Vec<Arc<str>>, CallError> {
        let mut names = Vec::new();
        let mut next = String::new();
        loop {
            let path = format!("/api/v1/namespaces?limit={PAGE}&labelSelector={selector}{next}");
            let page: Page = self.read(&path, METADATA_LIST).await?;
            let items = page.items.unwrap_or_default();
            let count = items.len();
            names.extend(items.into_iter().map(|item| Arc::from(item.metadata.name)));
            if page.metadata.next.is_empty() || count == 0 {
                return Ok(names);
            }
            next = format!("&continue={}", page.metadata.next);
        }
    }

    async fn kinds(&mut self) -> Result<Vec<Listable>, CallError> {
        let mut groups = Vec::new();
        for path in ["/api", "/apis"] {
            let answer: Groups = self.read(path, AGGREGATED).await?;
            if answer.kind != "APIGroupDiscoveryList" {
                return self.kinds_one_by_one().await;
            }
            groups.extend(answer.items);
        }
        listable(groups)
    }

    async fn kinds_one_by_one(&mut self) -> Result<Vec<Listable>, CallError> {
        let named: APIGroupList = self.read("/apis", JSON).await?;
        let all = named.groups.iter().flat_map(|group| &group.versions).map(|version| version.group_version.as_str());
        let mut groups = Vec::new();
        for group_version in all.chain(["v1"]) {
            let (group, version) = group_version.split_once('/').unwrap_or(("", group_version));
            let list: APIResourceList = self.read(&group_version_path(group, version), JSON).await?;
            let resources = list.resources.into_iter().filter(|resource| !resource.name.contains('/'));
            let resources = resources.map(|resource| Resource {
                plural: resource.name,
                scope: if resource.namespaced { "Namespaced" } else { "Cluster" }.to_owned(),
                verbs: resource.verbs,
            });
            groups.push(Group {
                metadata: Metadata { name: group.to_owned(), namespace: String::new() },
                versions: vec![Version {
                    name: version.to_owned(),
                    resources: resources.collect(),
                    freshness: String::new(),
                }],
            });
        }
        listable(groups)
    }

    /// Those of these namespaces in which there is nothing. An error means that nobody can tell.
    pub(super) async fn empty(&mut self, mut left: BTreeSet<Arc<str>>) -> Result<BTreeSet<Arc<str>>, CallError> {
        for kind in self.kinds().await? {
            if left.is_empty() {
                break;
            }
            if left.len() > ALONE {
                let page: Page = self.read(&kind.everywhere(), METADATA_LIST).await?;
                for item in page.items.iter().flatten() {
                    left.remove(item.metadata.namespace.as_str());
                }
                if page.metadata.next.is_empty() {
                    continue;
                }
            }
            for namespace in left.clone() {
                let page: Page = self.read(&kind.within(&namespace), METADATA_LIST).await?;
                if page.items.is_some_and(|items| !items.is_empty()) || !page.metadata.next.is_empty() {
                    left.remove(&namespace);
                }
            }
        }
        Ok(left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_bounded_in_rate() {
        let mut bucket = Bucket::new();
        let sent = (0..1000).filter(|_| bucket.take().is_none()).count();
        assert!((150..160).contains(&sent), "{sent}");
        let wait = bucket.take().unwrap();
        assert!(wait <= Duration::from_millis(40) && wait > Duration::ZERO, "{wait:?}");
    }

    #[test]
    fn every_kind_once_and_likely_ones_first() {
        let text = r#"{"kind":"APIGroupDiscoveryList","items":[
            {"metadata":{"name":"g"},"versions":[
                {"version":"v2","freshness":"Current","resources":[
                    {"resource":"things","scope":"Namespaced","verbs":["list"]},
                    {"resource":"halls","scope":"Cluster","verbs":["list"]},
                    {"resource":"reviews","scope":"Namespaced","verbs":["create"]}]},
                {"version":"v1","resources":[
                    {"resource":"things","scope":"Namespaced","verbs":["list"]},
                    {"resource":"olds","scope":"Namespaced","verbs":["list"]}]}]},
            {"metadata":{"name":""},"versions":[{"version":"v1","resources":[
                {"resource":"events","scope":"Namespaced","verbs":["list"]},
                {"resource":"configmaps","scope":"Namespaced","verbs":["list"]}]}]}]}"#;
        let groups: Groups = serde_json::from_str(text).unwrap();
        let all: Vec<String> = listable(groups.items).unwrap().iter().map(|kind| kind.within("n")).collect();
        assert_eq!(
            all,
            [
                "/api/v1/namespaces/n/configmaps?limit=1&fieldSelector=metadata.name!%3Dkube-root-ca.crt",
                "/apis/g/v2/namespaces/n/things?limit=1",
                "/apis/g/v1/namespaces/n/olds?limit=1",
            ]
        );
        let stale = r#"{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"g"},"versions":[{"version":"v1","freshness":"Stale"}]}]}"#;
        let groups: Groups = serde_json::from_str(stale).unwrap();
        assert!(listable(groups.items).is_err(), "what is not known is not empty");
    }
}
