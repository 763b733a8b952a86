//! `Cluster`: one API server, asked for what is there now. What cannot be known is an error, never "absent".

use std::{fmt, time::Duration};

use broker_api::ClusterName;
use http::{Method, Request, StatusCode, header};
use k8s_openapi::jiff::Timestamp;
use kube::client::Body;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json, value::RawValue};
use tokio::{
    sync::OnceCell,
    task::JoinHandle,
    time::{Instant, error::Elapsed, timeout},
};

use crate::{
    clock, object,
    reply::{self, LONGEST, Refused, chain},
    resource::{Resource, Resources},
};

/// How long one request may take. Whoever asks fifty clusters waits for the slowest.
const DEADLINE: Duration = Duration::from_secs(5);

/// How long a list may take, page by page, and how many objects it may have: who is never done is not listened to for ever.
const PATIENCE: Duration = Duration::from_mins(1);
const MOST: usize = 200_000;

/// How many bytes a list may have of which little is kept, and one that is kept as a whole.
const HEAVIEST: usize = 512 << 20;
const KEPT: usize = 64 << 20;

/// How many objects a page of a list has; fewer where those are too long for one reply.
const PAGE: usize = 500;

const JSON: &str = "application/json";
const METADATA: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

/// A page of a list, of which the objects are not read yet.
#[derive(Deserialize)]
struct Page {
    metadata: Option<ListMeta>,
    items: Option<Vec<Box<RawValue>>>,
}

/// What a list says of itself.
#[derive(Default, Deserialize)]
struct ListMeta {
    /// By what the next page is asked for, if there is one.
    r#continue: Option<String>,
}

/// A request that is on its way.
type Asked<T> = JoinHandle<Result<Result<(T, usize), Refused>, Elapsed>>;

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

/// Which objects of a kind are listed; all of them unless something is said.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wanted<'a> {
    /// Only those in this namespace.
    pub(crate) namespace: Option<&'a str>,
    /// Only those with these labels.
    pub(crate) selector: Option<&'a str>,
    /// Nothing of them but their metadata.
    pub(crate) metadata_only: bool,
}

/// Where an object is, within a cluster.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    /// Namespace; of no account for kinds that have none.
    pub(crate) namespace: &'a str,
    /// Name.
    pub(crate) name: &'a str,
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&object::path(self.namespace, self.name))
    }
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
    pub(crate) async fn ask<T>(&self, path: &str, accept: &'static str) -> Result<T, Trouble>
    where
        T: DeserializeOwned + Send + 'static,
    {
        self.send(get(path, accept)?).await
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
        let version: Value = self.ask("/version", JSON).await?;
        let request = Request::builder().method(Method::GET).uri("/version").body(Body::empty());
        let request = request.map_err(|error| Trouble::Other(error.to_string()))?;
        let client = self.client()?;
        // The connection is there by now, so that the answer takes no longer than it must.
        let before = Timestamp::now();
        let answer = timeout(DEADLINE, client.send(request)).await;
        let after = Timestamp::now();
        let answer = answer.map_err(|_| self.late())?;
        let answer = answer.map_err(|error| self.trouble(Refused::Silent(chain(&error))))?;
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

    async fn send<T>(&self, request: Request<Vec<u8>>) -> Result<T, Trouble>
    where
        T: DeserializeOwned + Send + 'static,
    {
        let answer = self.exchange(request).await?;
        answer.map(|(body, _)| body).map_err(|refused| self.trouble(refused))
    }

    /// The same, for whoever has something else to try where it is refused. With the answer comes its length in bytes.
    async fn exchange<T>(&self, request: Request<Vec<u8>>) -> Result<Result<(T, usize), Refused>, Trouble>
    where
        T: DeserializeOwned + Send + 'static,
    {
        self.answer(self.begin(request)?).await
    }

    /// Sends a request. The answer is waited for by [`Cluster::answer`].
    fn begin<T>(&self, request: Request<Vec<u8>>) -> Result<Asked<T>, Trouble>
    where
        T: DeserializeOwned + Send + 'static,
    {
        let client = self.client()?.clone();
        // A task of its own: what many clusters answer is read on all processors.
        Ok(tokio::spawn(async move { timeout(DEADLINE, reply::ask(&client, request)).await }))
    }

    async fn answer<T>(&self, asked: Asked<T>) -> Result<Result<(T, usize), Refused>, Trouble> {
        asked.await.map_err(|error| self.broken(&error))?.map_err(|_| self.late())
    }

    fn broken(&self, error: &dyn fmt::Display) -> Trouble {
        Trouble::Other(format!("{}: {error}", self.name))
    }

    fn trouble(&self, refused: Refused) -> Trouble {
        let name = &self.name;
        match refused {
            Refused::Silent(why) => Trouble::Other(format!("{name} does not answer: {why}")),
            Refused::TooLong => Trouble::Other(format!("{name}: its answer is longer than {}", size(LONGEST))),
            Refused::Status(StatusCode::FORBIDDEN, why) => Trouble::Forbidden(format!("{name}: {why}")),
            Refused::Status(StatusCode::UNAUTHORIZED, _) => {
                Trouble::Forbidden(format!("{name} does not accept the credentials"))
            }
            Refused::Status(StatusCode::NOT_FOUND, why) => Trouble::NotServed(format!("{name}: {why}")),
            Refused::Status(_, why) => Trouble::Other(format!("{name}: {why}")),
        }
    }

    /// An object; `None` where it is known that there is none.
    pub(crate) async fn get(&self, resource: &Resource, place: Place<'_>) -> Result<Option<Value>, Trouble> {
        match self.ask(&resource.path(Some(place.namespace), Some(place.name)), JSON).await {
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
        let mut list: Value = self.ask(&path, JSON).await?;
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
        let wanted = Wanted { namespace, selector, ..Wanted::default() };
        self.pages(resource, wanted, KEPT, |object| found.push(object)).await?;
        Ok(found)
    }

    /// Hands on all objects of a kind, page by page: whoever keeps less than all of each holds no more than that.
    pub(crate) async fn each(
        &self,
        resource: &Resource,
        wanted: Wanted<'_>,
        take: impl FnMut(Value),
    ) -> Result<(), Trouble> {
        self.pages(resource, wanted, HEAVIEST, take).await
    }

    /// `heaviest`: how many bytes all pages may have.
    async fn pages(
        &self,
        resource: &Resource,
        wanted: Wanted<'_>,
        heaviest: usize,
        mut take: impl FnMut(Value),
    ) -> Result<(), Trouble> {
        let Wanted { namespace, selector, metadata_only } = wanted;
        let end = Instant::now() + PATIENCE;
        let (mut limit, mut read, mut next) = (PAGE, Progress::default(), String::new());
        let ask = |limit: usize, next: &str| {
            let mut path = format!("{}?limit={limit}", resource.path(namespace, None));
            if let Some(selector) = selector {
                path.push_str("&labelSelector=");
                path.push_str(&escaped(selector));
            }
            if !next.is_empty() {
                path.push_str("&continue=");
                path.push_str(&escaped(next));
            }
            self.begin::<Page>(get(&path, if metadata_only { METADATA } else { JSON })?)
        };
        let mut asked = ask(limit, &next)?;
        loop {
            let (page, bytes) = match self.answer(asked).await? {
                Ok(answer) => answer,
                Err(Refused::TooLong) if limit > 1 => {
                    limit = fewer(limit);
                    asked = ask(limit, &next)?;
                    continue;
                }
                Err(refused) => return Err(self.trouble(refused)),
            };
            let Page { metadata, items } = page;
            let more = metadata.unwrap_or_default().r#continue.unwrap_or_default();
            let items = items.unwrap_or_default();
            (read.bytes, read.objects) = (read.bytes + bytes, read.objects + items.len());
            read.late = Instant::now() >= end;
            let goes_on = !more.is_empty();
            let beyond = read.beyond(heaviest).filter(|_| goes_on);
            // The API server prepares the next page while this one is read.
            let ahead = if goes_on && beyond.is_none() { Some(ask(limit, &more)?) } else { None };
            let objects =
                tokio::spawn(async move { items.iter().map(|item| serde_json::from_str(item.get())).collect() });
            let objects: Result<Vec<Value>, _> = objects.await.map_err(|error| self.broken(&error))?;
            objects.map_err(|error| self.broken(&error))?.into_iter().for_each(&mut take);
            if let Some(bound) = beyond {
                let plural = &resource.plural;
                return Err(Trouble::Other(format!("{}: its list of {plural} goes on beyond {bound}", self.name)));
            }
            let Some(ahead) = ahead else { return Ok(()) };
            (asked, next) = (ahead, more);
        }
    }
}

/// A request for a path.
fn get(path: &str, accept: &'static str) -> Result<Request<Vec<u8>>, Trouble> {
    let request = Request::builder().method(Method::GET).uri(path).header(header::ACCEPT, accept);
    request.body(Vec::new()).map_err(|error| Trouble::Other(error.to_string()))
}

/// How many objects are asked for where so many are too long for one reply.
fn fewer(limit: usize) -> usize {
    (limit / 8).max(1)
}

/// Bytes for people.
fn size(bytes: usize) -> String {
    format!("{} MiB", bytes >> 20)
}

/// How much of a list has been read.
#[derive(Debug, Clone, Copy, Default)]
struct Progress {
    objects: usize,
    bytes: usize,
    /// It has had its time.
    late: bool,
}

impl Progress {
    /// The bound that it is beyond. `heaviest`: how many bytes it may have.
    fn beyond(self, heaviest: usize) -> Option<String> {
        if self.objects > MOST {
            Some(format!("{MOST} objects"))
        } else if self.bytes > heaviest {
            Some(size(heaviest))
        } else if self.late {
            Some(format!("{} s", PATIENCE.as_secs()))
        } else {
            None
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_escaped() {
        assert_eq!(escaped("a.b/c in (x,y)"), "a.b%2Fc%20in%20%28x%2Cy%29");
    }

    #[test]
    fn a_list_that_is_too_much_says_which_bound_it_is_beyond() {
        let most = Progress { objects: MOST, bytes: KEPT, late: false };
        assert_eq!(most.beyond(KEPT), None);
        assert_eq!(Progress { objects: MOST + 1, ..most }.beyond(KEPT).as_deref(), Some("200000 objects"));
        assert_eq!(Progress { bytes: KEPT + 1, ..most }.beyond(KEPT).as_deref(), Some("64 MiB"));
        assert_eq!(Progress { bytes: KEPT + 1, ..most }.beyond(HEAVIEST), None);
        assert_eq!(Progress { late: true, ..most }.beyond(KEPT).as_deref(), Some("60 s"));
    }

    #[test]
    fn the_last_page_of_a_list_says_so_in_several_ways() {
        let read = |text: &str| {
            let Page { metadata, items } = serde_json::from_str(text).unwrap();
            (metadata.unwrap_or_default().r#continue, items.unwrap_or_default().len())
        };
        for last in ["{}", r#"{"metadata": null, "items": null}"#, r#"{"metadata": {"continue": null}}"#] {
            assert_eq!(read(last), (None, 0), "{last}");
        }
        assert_eq!(read(r#"{"items": [{}], "metadata": {"continue": ""}}"#), (Some(String::new()), 1));
        assert_eq!(read(r#"{"metadata": {"continue": "x"}, "items": [{}, 1]}"#), (Some("x".into()), 2));
    }

    #[test]
    fn fewer_objects_are_asked_for_until_it_is_one() {
        assert_eq!([500, 62, 7, 1].map(fewer), [62, 7, 1, 1]);
        let homer = Cluster::new(ClusterName::consumer("homer"), Err("not asked".into()));
        let said = homer.trouble(Refused::TooLong).to_string();
        assert_eq!(said, "consumer#homer: its answer is longer than 32 MiB");
    }
}
