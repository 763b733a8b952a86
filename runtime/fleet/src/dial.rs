//! `Dial`: how an API server is reached.

use std::{future::Future, pin::Pin, time::Duration};

use http::{Request, Response};
use http_body_util::{BodyExt as _, combinators::UnsyncBoxBody};
use hyper::body::Bytes;
use hyper_rustls::{FixedServerNameResolver, HttpsConnectorBuilder};
use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy::connect::HttpConnector;
use k8s_openapi::jiff::Timestamp;
use kube::client::{Body, ConfigExt as _, RustlsTlsError};
use rustls::{client::Resumption, pki_types::ServerName};
use tower::{BoxError, Service, ServiceBuilder, ServiceExt as _, util::BoxCloneSyncService};

use crate::{
    blocking::blocking_where,
    connections::Connections,
    kubeconfig::{Kubeconfig, forbidden_address},
};

/// Sends requests to an API server: that adds its address and the credentials.
pub type Sends = BoxCloneSyncService<Request<Body>, Response<Content>, BoxError>;

/// What an answer holds, read bit by bit.
pub type Content = UnsyncBoxBody<Bytes, BoxError>;

/// A way to an API server.
pub struct Dialed {
    /// Sends requests.
    pub service: Sends,
    /// Its host and port, for metrics.
    pub host: String,
    /// When its credentials end, where that is known and nothing renews them.
    pub valid_until: Option<Timestamp>,
}

/// What dialling comes to: a way to send requests, or why there is none.
pub type Dialing<'a> = Pin<Box<dyn Future<Output = Result<Dialed, String>> + Send + 'a>>;

/// Makes the service that requests to an API server go through. [`Sockets`] does it over the network; a test or a simulator
/// hands in its own.
pub trait Dial: Send + Sync + 'static {
    /// A way to the API server of a kubeconfig. Nothing need have been sent when it is there.
    fn dial<'a>(&'a self, kubeconfig: &'a Kubeconfig) -> Dialing<'a>;
}

/// Over the network.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sockets;

impl Dial for Sockets {
    fn dial<'a>(&'a self, kubeconfig: &'a Kubeconfig) -> Dialing<'a> {
        Box::pin(async move {
            let config = kubeconfig.config().await.map_err(|error| error.to_string())?;
            for uri in [Some(&config.cluster_url), config.proxy_url.as_ref()].into_iter().flatten() {
                check_resolved(uri).await?;
            }
            let host = config.cluster_url.authority().map(ToString::to_string).unwrap_or_default();
            // Reads certificate files and runs credential plugins, where those were allowed: that may take its time.
            let service = blocking_where(!kubeconfig.is_whole(), move || service(config)).await;
            let (service, valid_until) = service.map_err(|error| error.to_string())?.map_err(|error| told(&error))?;
            Ok(Dialed { service, host, valid_until })
        })
    }
}

/// Sends requests through any service.
pub fn sends<S, B>(service: S) -> Sends
where
    S: Service<Request<Body>, Response = Response<B>> + Clone + Send + Sync + 'static,
    S::Future: Send + 'static,
    S::Error: Into<BoxError> + 'static,
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    let content = |body: B| body.map_err(Into::into).boxed_unsync();
    let answer = move |answer: Response<B>| answer.map(content);
    Sends::new(service.map_err(Into::into).map_response(answer))
}

/// HTTP/2 where the server speaks it. Behind a proxy, and with the certificates of a plugin, which end, kube's own client:
/// that speaks HTTP/1.1.
fn service(config: kube::Config) -> kube::Result<(Sends, Option<Timestamp>)> {
    if config.proxy_url.is_some() || config.auth_info.exec.is_some() {
        let client = kube::Client::try_from(config)?;
        let valid_until = *client.valid_until();
        let send = move |request| {
            let client = client.clone();
            async move { client.send(request).await }
        };
        return Ok((sends(tower::service_fn(send)), valid_until));
    }
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    // No small write waits for the answer to the one before.
    tcp.set_nodelay(true);
    let mut settings = config.rustls_client_config()?;
    // A connection lasts: what would be kept to shorten the next handshake takes more than all else of an idle cluster.
    settings.resumption = Resumption::disabled();
    let mut tls = HttpsConnectorBuilder::new().with_tls_config(settings).https_or_http();
    if let Some(name) = &config.tls_server_name {
        let name = ServerName::try_from(name.clone());
        let name = name.map_err(|error| kube::Error::RustlsTls(RustlsTlsError::InvalidServerName(error)))?;
        tls = tls.with_server_name_resolver(FixedServerNameResolver::new(name));
    }
    let mut connector = TimeoutConnector::new(tls.enable_all_versions().wrap_connector(tcp));
    connector.set_connect_timeout(config.connect_timeout);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(Connections::new(connector));
    Ok((sends(service), None))
}

/// What a client's maker says, but for parsers of PEM texts: they quote what they do not understand, and it may be a key.
fn told(error: &kube::Error) -> String {
    match error {
        kube::Error::RustlsTls(RustlsTlsError::InvalidIdentityPem(_)) => {
            "the client's certificate or key is not a PEM text".to_owned()
        }
        kube::Error::RustlsTls(RustlsTlsError::AddRootCertificate(error)) if !error.is::<std::io::Error>() => {
            "the certificate authority is not a PEM text of certificates".to_owned()
        }
        other => other.to_string(),
    }
}

/// A host name that leads to a link-local or metadata address is refused, as the address itself is.
async fn check_resolved(uri: &http::Uri) -> Result<(), String> {
    let Some(host) = uri.host() else { return Err(format!("{uri}: no host")) };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let resolved = tokio::time::timeout(Duration::from_secs(5), tokio::net::lookup_host((host, 443))).await;
    let addresses = resolved
        .map_err(|_| format!("{host}: name resolution timed out"))?
        .map_err(|error| format!("{host}: {error}"))?;
    for address in addresses {
        if forbidden_address(address.ip()) {
            return Err(format!("{host} leads to {}, a link-local or metadata address: refused", address.ip()));
        }
    }
    Ok(())
}
