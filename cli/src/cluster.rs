//! `Cluster`: one API server, asked for what is there now. What cannot be known is an error, never "absent".

use std::{fmt, time::Duration};

use broker_api::ClusterName;
use http::{Method, Request, StatusCode, header};
use k8s_openapi::jiff::Timestamp;
use kube::client::Body;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::{
    clock,
    resource::{Resource, Resources},
};

/// How long one request may take. Whoever asks fifty clusters waits for the slowest.
const DEADLINE: Duration = Duration::from_secs(5);

/// How many objects a page of a list has.
const PAGE: usize = 500;

/// Why nothing is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// A permission is missing.
    Forbidden(String),
    /// The API server has no such kind.
    NotServed(String),
    /// No answer, or none that could be read.
    Other(String),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Forbidden(why) | Self::NotServed(why) | Self::Other(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Trouble {}

/// A cluster that can be asked.
#[derive(Clone)]
pub(crate) struct Cluster {
    /// Its name and role.
    pub(crate) name: ClusterName,
    client: Result<kube::Client, String>,
    resources: std::sync::Arc<OnceCell<Result<Resources, Trouble>>>,
}

/// What an API server says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Probe {
    /// Its version, such as `v1.36.2`.
    pub(crate) version: String,
    /// Seconds that its clock is ahead of ours, or behind where negative; `None`: it does not tell the time.
    pub(crate) ahead: Option<i64>,
}

/// How an object is applied.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Applying {
    /// Fields that others own are taken over.
    pub(crate) force: bool,
    /// Nothing is stored.
    pub(crate) dry: bool,
}

/// Where an object is, within a cluster.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    /// Namespace; of no account for kinds that have none.
    pub(crate) namespace: &'a str,
    /// Name.
    pub(crate) name: &'a str,
}

impl Cluster {
    /// A cluster, or why it cannot be asked.
    pub(crate) fn new(name: ClusterName, client: Result<kube::Client, String>) -> Self {
        Self { name, client, resources: std::sync::Arc::default() }
    }

    /// All that is served there.
    pub(crate) async fn resources(&self) -> Result<&Resources, Trouble> {
        self.resources.get_or_init(|| Resources::read(self)).await.as_ref().map_err(Clone::clone)
    }

    /// Asks for a path.
    pub(crate) async fn ask<T: DeserializeOwned>(&self, path: &str, accept: &'static str) -> Result<T, Trouble> {
        let request = Request::builder().method(Method::GET).uri(path).header(header::ACCEPT, accept);
        self.send(request.body(Vec::new()).map_err(|error| Trouble::Other(error.to_string()))?).await
    }

    /// Changes an object by a JSON merge patch (RFC 7386).
    pub(crate) async fn patch(&self, resource: &Resource, place: Place<'_>, patch: &Value) -> Result<Value, Trouble> {
        let uri = format!("{}?fieldManager=kubectl-broker", resource.path(Some(place.namespace), Some(place.name)));
        let request = Request::builder().method(Method::PATCH).uri(uri);
        let request = request.header(header::CONTENT_TYPE, "application/merge-patch+json");
        let body = patch.to_string().into_bytes();
        self.send(request.body(body).map_err(|error| Trouble::Other(error.to_string()))?).await
    }

    /// Makes an object.
    pub(crate) async fn create(&self, resource: &Resource, namespace: &str, object: &Value) -> Result<Value, Trouble> {
        let path = format!("{}?fieldManager=kubectl-broker", resource.path(Some(namespace), None));
        let request = Request::builder().method(Method::POST).uri(path);
        let request = request.header(header::CONTENT_TYPE, "application/json");
        let body = object.to_string().into_bytes();
        self.send(request.body(body).map_err(|error| Trouble::Other(error.to_string()))?).await
    }

    /// Applies an object server-side, as `kubectl apply --server-side` does.
    pub(crate) async fn apply(&self, resource: &Resource, object: &Value, how: Applying) -> Result<Value, Trouble> {
        let part = |name: &str| object["metadata"][name].as_str().unwrap_or_default();
        let path = resource.path(Some(part("namespace")), Some(part("name")));
        let dry = if how.dry { "&dryRun=All" } else { "" };
        let path = format!("{path}?fieldManager=kubectl-broker&force={}{dry}", how.force);
        let request = Request::builder().method(Method::PATCH).uri(path);
        let request = request.header(header::CONTENT_TYPE, "application/apply-patch+yaml");
        let body = object.to_string().into_bytes();
        self.send(request.body(body).map_err(|error| Trouble::Other(error.to_string()))?).await
    }

    /// Deletes an object, as long as it is the one with this uid.
    pub(crate) async fn delete(&self, resource: &Resource, place: Place<'_>, uid: &str) -> Result<(), Trouble> {
        let path = resource.path(Some(place.namespace), Some(place.name));
        let request = Request::builder().method(Method::DELETE).uri(path);
        let request = request.header(header::CONTENT_TYPE, "application/json");
        let body = json!({ "apiVersion": "v1", "kind": "DeleteOptions", "preconditions": { "uid": uid } });
        let body = body.to_string().into_bytes();
        self.send::<Value>(request.body(body).map_err(|error| Trouble::Other(error.to_string()))?).await.map(drop)
    }

    /// Whether it answers, and what it says of itself.
    pub(crate) async fn probe(&self) -> Result<Probe, Trouble> {
        let version: Value = self.ask("/version", "application/json").await?;
        let request = Request::builder().method(Method::GET).uri("/version").body(Body::empty());
        let request = request.map_err(|error| Trouble::Other(error.to_string()))?;
        let client = self.client()?;
        // The connection is there by now, so that the answer takes no longer than it must.
        let before = Timestamp::now();
        let answer = tokio::time::timeout(DEADLINE, client.send(request)).await;
        let after = Timestamp::now();
        let answer = answer.map_err(|_| self.late())?.map_err(|error| self.trouble(&error))?;
        let date = answer.headers().get(header::DATE).and_then(|date| date.to_str().ok());
        let ahead = date.and_then(|date| clock::ahead(date, before, after));
        Ok(Probe { version: version["gitVersion"].as_str().unwrap_or_default().to_owned(), ahead })
    }

    fn client(&self) -> Result<&kube::Client, Trouble> {
        self.client.as_ref().map_err(|why| Trouble::Other(format!("{} cannot be asked: {why}", self.name)))
    }

    fn late(&self) -> Trouble {
        Trouble::Other(format!("{} does not answer within {} s", self.name, DEADLINE.as_secs()))
    }

    async fn send<T: DeserializeOwned>(&self, request: Request<Vec<u8>>) -> Result<T, Trouble> {
        let answer = tokio::time::timeout(DEADLINE, self.client()?.request::<T>(request)).await;
        answer.map_err(|_| self.late())?.map_err(|error| self.trouble(&error))
    }

    fn trouble(&self, error: &kube::Error) -> Trouble {
        let name = &self.name;
        let kube::Error::Api(status) = error else {
            return Trouble::Other(format!("{name} does not answer: {}", chain(error)));
        };
        match StatusCode::from_u16(status.code) {
            Ok(StatusCode::FORBIDDEN) => Trouble::Forbidden(format!("{name}: {}", status.message)),
            Ok(StatusCode::UNAUTHORIZED) => Trouble::Forbidden(format!("{name} does not accept the credentials")),
            Ok(StatusCode::NOT_FOUND) => Trouble::NotServed(format!("{name}: {}", status.message)),
            _ => Trouble::Other(format!("{name}: {}", status.message)),
        }
    }

    /// An object; `None` where it is known that there is none.
    pub(crate) async fn get(&self, resource: &Resource, place: Place<'_>) -> Result<Option<Value>, Trouble> {
        match self.ask(&resource.path(Some(place.namespace), Some(place.name)), "application/json").await {
            Ok(object) => Ok(Some(object)),
            // The same code says that there is no such object, and that there is no such kind.
            Err(Trouble::NotServed(_)) if self.resources().await?.is_served(resource) => Ok(None),
            // The broker lists what it serves and gets none of it, so that its own credentials may do no more.
            Err(Trouble::Forbidden(why)) => match self.listed(resource, place).await {
                Err(Trouble::Forbidden(_)) => Err(Trouble::Forbidden(why)),
                read => read,
            },
            Err(trouble) => Err(trouble),
        }
    }

    /// The same by a list of one name.
    async fn listed(&self, resource: &Resource, place: Place<'_>) -> Result<Option<Value>, Trouble> {
        let selector = escaped(&format!("metadata.name={}", place.name));
        let path = format!("{}?fieldSelector={selector}", resource.path(Some(place.namespace), None));
        let mut list: Value = self.ask(&path, "application/json").await?;
        let mut found = list["items"].as_array_mut().map(std::mem::take).unwrap_or_default();
        Ok(found.pop().map(|mut object| {
            // Items of lists do not say what they are.
            object["apiVersion"] = resource.kind.api_version().into();
            object["kind"] = resource.kind.kind.clone().into();
            object
        }))
    }

    /// All objects of a kind, in a namespace or in all.
    pub(crate) async fn list(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        selector: Option<&str>,
    ) -> Result<Vec<Value>, Trouble> {
        let mut found = Vec::new();
        let mut next = String::new();
        loop {
            let mut path = format!("{}?limit={PAGE}", resource.path(namespace, None));
            if let Some(selector) = selector {
                path.push_str("&labelSelector=");
                path.push_str(&escaped(selector));
            }
            if !next.is_empty() {
                path.push_str("&continue=");
                path.push_str(&escaped(&next));
            }
            let mut page: Value = self.ask(&path, "application/json").await?;
            if let Some(Value::Array(items)) = page.get_mut("items").map(Value::take) {
                found.extend(items);
            }
            match page["metadata"]["continue"].as_str() {
                Some(more) if !more.is_empty() => more.clone_into(&mut next),
                _ => return Ok(found),
            }
        }
    }
}

/// Every byte that may mean something in a query is escaped (RFC 3986).
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// An error and what caused it, in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let more = inner.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_escaped() {
        assert_eq!(escaped("a.b/c in (x,y)"), "a.b%2Fc%20in%20%28x%2Cy%29");
    }
}
