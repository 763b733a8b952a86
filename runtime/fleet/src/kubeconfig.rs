//! A kubeconfig text from a file or a Secret → a [`kube::Config`] that is safe to use.
//!
//! Owns every rule on what a kubeconfig may ask of this process: [`Kubeconfig::parse`] is pure, so a refused text has
//! touched no file and started no process. What a host name resolves to is not known here; whoever connects asks
//! [`forbidden_address`] again for each address.
//!
//! Only what the current context uses is looked at and kept; other contexts, clusters and users of the text are dropped.

mod credentials;
mod endpoint;
mod error;
mod fingerprint;
mod in_cluster;
mod named;
mod pem;
#[cfg(test)]
mod tests;
mod trust;

use std::{fmt, path::PathBuf, time::Duration};

use sha2::{Digest as _, Sha256};

use kube::config::{AuthInfo, Cluster, Context, NamedAuthInfo, NamedCluster, NamedContext};

use crate::blocking::blocking_where;

use self::named::Named;
pub use endpoint::{Endpoint, Way, forbidden_address};
pub use error::{KubeconfigError, MAX_BYTES};
pub use fingerprint::Fingerprint;
pub use trust::Trust;

/// Time for a TCP and TLS handshake with an API server.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The flag by which the person who starts this process sets [`Trust::File`]'s `allow_local`; messages name it.
pub const OPT_IN_FLAG: &str = "--allow-local-credentials";

/// A kubeconfig that passed every check, reduced to its current context. Printing it shows no credential.
#[derive(Clone)]
pub struct Kubeconfig {
    server: String,
    cluster: Cluster,
    user: AuthInfo,
    namespace: Option<String>,
    fingerprint: Fingerprint,
}

impl fmt::Debug for Kubeconfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kubeconfig").field("server", &self.server).finish_non_exhaustive()
    }
}

impl Kubeconfig {
    /// Checks a text. Reads no file, starts no process, resolves no name.
    pub fn parse(text: &str, trust: &Trust) -> Result<Self, KubeconfigError> {
        if text.len() > MAX_BYTES {
            return Err(KubeconfigError::TooLarge { bytes: text.len() });
        }
        let document = serde_saphyr::from_str::<kube::config::Kubeconfig>(text).map_err(|error| {
            let place = error.location();
            KubeconfigError::Yaml {
                line: place.map_or(0, |place| place.line()),
                column: place.map_or(0, |place| place.column()),
            }
        })?;
        let (context, cluster, user) = current(document)?;
        let mut cluster = Named { path: format!("clusters[{}].cluster", shown(&context.cluster)), value: cluster };
        let name = context.user.as_deref().unwrap_or_default();
        let mut user = Named { path: format!("users[{}].user", shown(name)), value: user };

        credentials::check(&mut cluster, &mut user, trust)?;
        let server = endpoint::check(&cluster, trust)?;
        let fingerprint = fingerprint::of(&cluster.value, &user.value);
        Ok(Self { server, cluster: cluster.value, user: user.value, namespace: context.namespace, fingerprint })
    }

    /// Namespace of the context, or of the Pod.
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// URL of the API server.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Whom it leads to, whatever the credentials.
    pub fn endpoint(&self) -> Endpoint {
        let authority = [&self.cluster.certificate_authority_data, &self.cluster.certificate_authority];
        let mut digest = Sha256::new();
        for text in authority {
            let text = text.as_deref().unwrap_or_default().trim();
            digest.update((text.len() as u64).to_be_bytes());
            digest.update(text.as_bytes());
        }
        Endpoint { server: endpoint::canonical(&self.server), authority: digest.finalize().into() }
    }

    /// How it leads there.
    pub fn way(&self) -> Way {
        Way { endpoint: self.endpoint(), proxy: self.cluster.proxy_url.clone() }
    }

    /// Equal for two kubeconfigs that lead to the same server with the same credentials, whatever else their texts say:
    /// a rewrite that changes nothing needs no new connection.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// Certificate and key files that it names and that are read only when connecting (with the opt-in; else none).
    /// Token files are left out: kube reads those again by itself.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        [&self.cluster.certificate_authority, &self.user.client_certificate, &self.user.client_key]
            .into_iter()
            .flatten()
            .map(String::as_str)
    }

    /// The same with `content` of [`Kubeconfig::files`] mixed into the fingerprint, so that a rotated certificate file
    /// is a change.
    #[must_use]
    pub fn with_file_content(mut self, content: &[u8]) -> Self {
        self.fingerprint = self.fingerprint.and(content);
        self
    }

    /// A configuration for a client: handshake within [`CONNECT_TIMEOUT`], no read timeout (watches last; each call has
    /// its own deadline), none of kube's own retries. With the opt-in this may read the CA file. Building a client from
    /// it may read certificate files and run an `exec` plugin, which blocks.
    pub async fn config(&self) -> Result<kube::Config, KubeconfigError> {
        let document = self.document();
        let built = blocking_where(!self.is_whole(), move || kube::Config::try_from(document)).await;
        let mut config =
            built.map_err(|_| KubeconfigError::Stopped)?.map_err(|error| KubeconfigError::built(&error))?;
        config.connect_timeout = Some(CONNECT_TIMEOUT);
        config.read_timeout = None;
        config.default_retry = false;
        // Watched by kube, so that a rotated CA file is picked up without a new connection.
        if self.cluster.certificate_authority_data.is_none() {
            config.root_cert_file = self.cluster.certificate_authority.as_ref().map(PathBuf::from);
        }
        // kube falls back to $HTTPS_PROXY, but then matches $NO_PROXY against the proxy instead of the server. One
        // variable would reroute every cluster at once; a cluster behind a proxy says so with proxy-url.
        if self.cluster.proxy_url.is_none() {
            config.proxy_url = None;
        }
        Ok(config)
    }

    /// Whether it holds all that a client is made of: no file is read for it, and no program runs. A thread for each of a
    /// thousand clusters would take more memory than the clusters.
    pub(crate) fn is_whole(&self) -> bool {
        let (c, u) = (&self.cluster, &self.user);
        let files = [&c.certificate_authority, &u.client_certificate, &u.client_key, &u.token_file];
        let runs = u.exec.is_some() || u.auth_provider.is_some();
        // Without an authority those of the system count, and they are files.
        c.certificate_authority_data.is_some() && files.iter().all(|file| file.is_none()) && !runs
    }

    /// A document with this one context, under fixed names.
    fn document(&self) -> kube::config::Kubeconfig {
        let name = || "current".to_owned();
        kube::config::Kubeconfig {
            clusters: vec![NamedCluster { name: name(), cluster: Some(self.cluster.clone()), ..Default::default() }],
            auth_infos: vec![NamedAuthInfo { name: name(), auth_info: Some(self.user.clone()), ..Default::default() }],
            contexts: vec![NamedContext {
                name: name(),
                context: Some(Context {
                    cluster: name(),
                    user: Some(name()),
                    namespace: self.namespace.clone(),
                    ..Default::default()
                }),
                ..Default::default()
            }],
            current_context: Some(name()),
            ..Default::default()
        }
    }
}

/// Context, cluster and user that `current-context` leads to. A context without a user is anonymous, as with kubectl.
fn current(document: kube::config::Kubeconfig) -> Result<(Context, Cluster, AuthInfo), KubeconfigError> {
    let name = document.current_context.filter(|name| !name.is_empty()).ok_or(KubeconfigError::NoCurrentContext)?;
    let context = document
        .contexts
        .into_iter()
        .find(|context| context.name == name)
        .and_then(|context| context.context)
        .ok_or_else(|| unknown("current-context".to_owned(), &name, "contexts"))?;
    let path = format!("contexts[{}].context", shown(&name));
    let cluster = document
        .clusters
        .into_iter()
        .find(|cluster| cluster.name == context.cluster)
        .and_then(|cluster| cluster.cluster)
        .ok_or_else(|| unknown(format!("{path}.cluster"), &context.cluster, "clusters"))?;
    let user = match context.user.as_deref() {
        None | Some("") => AuthInfo::default(),
        Some(user) => document
            .auth_infos
            .into_iter()
            .find(|named| named.name == user)
            .and_then(|named| named.auth_info)
            .ok_or_else(|| unknown(format!("{path}.user"), user, "users"))?,
    };
    Ok((context, cluster, user))
}

fn unknown(field: String, name: &str, list: &'static str) -> KubeconfigError {
    KubeconfigError::Unknown { field, name: shown(name), list }
}

/// A name from the text as messages show it: short, and without control characters.
fn shown(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(64).collect()
}

#[cfg(test)]
impl Kubeconfig {
    /// One that a stub is called by.
    pub(crate) fn stub() -> std::sync::Arc<Self> {
        let text = "current-context: m\ncontexts: [{name: m, context: {cluster: c, user: u}}]\n\
                    clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\nusers: [{name: u, user: {token: t}}]\n";
        std::sync::Arc::new(Self::parse(text, &Trust::Secret).unwrap())
    }
}
