//! The HTTP side of `keyvalue-provider`: what users of a store, and migrations, talk to.
//!
//! | request | |
//! |---|---|
//! | `GET <url>/entries` | all entries, a JSON object: the export |
//! | `PUT <url>/entries` | exactly these from now on: the import |
//! | `GET`, `PUT`, `DELETE <url>/entries/<key>` | one entry; the body is the value |
//! | `PUT <url>/hold` | refuse writes for so many seconds (the body; 0 ends it) |
//!
//! It keeps nothing in memory: what it has answered is stored, and a restart forgets nothing.

use axum::{
    Router,
    body::Bytes,
    extract::{Path, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, put},
};
use k8s_openapi::{
    api::core::v1::{ConfigMap, Secret},
    jiff::Timestamp,
};
use kube::{Api, Client, api::PostParams};

use crate::{
    access::Access,
    content::{self, Change, Entries, Refusal},
    provider::{data_name, secret_name},
};

/// How often a change is tried again that crossed another one.
const ATTEMPTS: usize = 20;

/// Why a request is not answered as hoped.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// There is no such store.
    #[error("there is no such store")]
    NoStore,
    /// There is no such entry.
    #[error("there is no such entry")]
    NoEntry,
    /// The token is not the store's.
    #[error("the token is not this store's: it is in its Secret")]
    Token,
    /// The content does not allow it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The body is not what is expected.
    #[error("the body is not {0}")]
    Body(&'static str),
    /// The ConfigMap would be larger than an API server takes.
    #[error("the store is full: it holds about 1 MiB")]
    Full,
    /// The API server did not answer as hoped.
    #[error("storage: {0}")]
    Api(#[from] kube::Error),
}

impl IntoResponse for RequestError {
    fn into_response(self) -> Response {
        let status = match &self {
            Self::NoStore | Self::NoEntry => StatusCode::NOT_FOUND,
            Self::Token => StatusCode::UNAUTHORIZED,
            Self::Refused(Refusal::Held(_)) => StatusCode::LOCKED,
            Self::Refused(_) | Self::Body(_) => StatusCode::BAD_REQUEST,
            Self::Full => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Api(_) => StatusCode::SERVICE_UNAVAILABLE,
        };
        (status, format!("{self}\n")).into_response()
    }
}

/// Where a store is in the provider's cluster: namespace and name of its KeyValue.
type Place = (String, String);

/// The routes, for all stores of one cluster.
pub fn router(client: Client) -> Router {
    Router::new()
        .route("/stores/{namespace}/{name}/entries", get(export).put(import))
        .route("/stores/{namespace}/{name}/entries/{key}", get(read).put(write).delete(delete))
        .route("/stores/{namespace}/{name}/hold", put(hold))
        .with_state(client)
}

async fn export(
    State(client): State<Client>,
    Path(place): Path<Place>,
    headers: HeaderMap,
) -> Result<String, RequestError> {
    let store = open(&client, &place, &headers).await?;
    serde_json::to_string(&content::entries(&store)).map_err(|_| RequestError::Body("JSON"))
}

async fn import(
    State(client): State<Client>,
    Path(place): Path<Place>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<StatusCode, RequestError> {
    let entries: Entries =
        serde_json::from_slice(&body).map_err(|_| RequestError::Body("a JSON object of key to text"))?;
    change(&client, &place, &headers, &Change::Replace(entries)).await
}

async fn read(
    State(client): State<Client>,
    Path((namespace, name, key)): Path<(String, String, String)>,
    headers: HeaderMap,
) -> Result<String, RequestError> {
    let store = open(&client, &(namespace, name), &headers).await?;
    content::entries(&store).remove(&key).ok_or(RequestError::NoEntry)
}

async fn write(
    State(client): State<Client>,
    Path((namespace, name, key)): Path<(String, String, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<StatusCode, RequestError> {
    let value = String::from_utf8(body.to_vec()).map_err(|_| RequestError::Body("text (UTF-8)"))?;
    change(&client, &(namespace, name), &headers, &Change::Put { key, value }).await
}

async fn delete(
    State(client): State<Client>,
    Path((namespace, name, key)): Path<(String, String, String)>,
    headers: HeaderMap,
) -> Result<StatusCode, RequestError> {
    change(&client, &(namespace, name), &headers, &Change::Delete { key }).await
}

async fn hold(
    State(client): State<Client>,
    Path(place): Path<Place>,
    headers: HeaderMap,
    body: String,
) -> Result<StatusCode, RequestError> {
    let seconds = body.trim().parse().map_err(|_| RequestError::Body("a number of seconds"))?;
    change(&client, &place, &headers, &Change::Hold { seconds }).await
}

/// The store, for somebody who has its token.
async fn open(client: &Client, (namespace, name): &Place, headers: &HeaderMap) -> Result<ConfigMap, RequestError> {
    let secrets = Api::<Secret>::namespaced(client.clone(), namespace);
    let secret = secrets.get_opt(&secret_name(name)).await?.ok_or(RequestError::NoStore)?;
    let access = Access::from_secret(&secret).ok_or(RequestError::NoStore)?;
    let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    if given != Some(&access.token) {
        return Err(RequestError::Token);
    }
    let stores = Api::<ConfigMap>::namespaced(client.clone(), namespace);
    stores.get_opt(&data_name(name)).await?.ok_or(RequestError::NoStore)
}

/// Reads, changes, and writes what was read: whoever was faster makes this one look again.
async fn change(
    client: &Client,
    place: &Place,
    headers: &HeaderMap,
    change: &Change,
) -> Result<StatusCode, RequestError> {
    let stores = Api::<ConfigMap>::namespaced(client.clone(), &place.0);
    let mut attempt = 1;
    loop {
        let store = open(client, place, headers).await?;
        let wanted = content::changed(store, change.clone(), Timestamp::now())?;
        match stores.replace(&data_name(&place.1), &PostParams::default(), &wanted).await {
            Ok(_) => return Ok(StatusCode::NO_CONTENT),
            Err(kube::Error::Api(status)) if status.is_conflict() && attempt < ATTEMPTS => attempt += 1,
            // Whatever else would make it invalid was checked.
            Err(kube::Error::Api(status)) if matches!(status.code, 413 | 422) => return Err(RequestError::Full),
            Err(error) => return Err(error.into()),
        }
    }
}
