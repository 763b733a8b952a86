//! `Trust`: how far a kubeconfig is trusted.

use std::path::PathBuf;

/// Where a kubeconfig text came from, hence how far it is trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust {
    /// A Secret of the coordination cluster: written by whoever may write Secrets there, not by the person who started
    /// this process. It may name an API server and carry credentials, nothing else.
    Secret,
    /// A file named on the command line or found in a directory named there.
    File {
        /// Folder of the file; relative paths in the kubeconfig start here, as with kubectl.
        folder: PathBuf,
        /// The person who started this process opted in to `exec`, `auth-provider`, token and certificate files,
        /// impersonation, `insecure-skip-tls-verify`, and plain http on loopback.
        allow_local: bool,
    },
}

impl Trust {
    pub(super) fn allows_local(&self) -> bool {
        matches!(self, Self::File { allow_local: true, .. })
    }

    pub(super) fn remedy(&self) -> &'static str {
        match self {
            Self::Secret => {
                "a kubeconfig from a Secret must hold its credentials inline (token, client-certificate-data, \
                 client-key-data, certificate-authority-data)"
            }
            Self::File { .. } => {
                "put the credentials inline, or start with --allow-local-credentials if you trust this file"
            }
        }
    }
}
