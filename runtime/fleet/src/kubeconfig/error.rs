//! `KubeconfigError`: why a kubeconfig cannot be used.

/// Longest kubeconfig text that is looked at, in bytes. A Secret holds at most 1 MiB; a kubeconfig with its
/// certificates is about 6 KiB.
pub const MAX_BYTES: usize = 256 * 1024;

/// Why a kubeconfig cannot be used. Messages name the field and the remedy, and never hold a credential.
#[derive(Debug, thiserror::Error)]
pub enum KubeconfigError {
    /// Longer than [`MAX_BYTES`].
    #[error("the kubeconfig has {bytes} bytes, more than {MAX_BYTES}: remove the contexts that are not needed")]
    TooLarge {
        /// Its length.
        bytes: usize,
    },
    /// Not YAML, or not the shape of a kubeconfig. The parser's own message is left out: it quotes the text, and the
    /// text holds credentials.
    #[error("line {line}, column {column}: not a kubeconfig: check the YAML there")]
    Yaml {
        /// 1-based; 0 when unknown.
        line: u64,
        /// 1-based; 0 when unknown.
        column: u64,
    },
    /// No `current-context`.
    #[error("current-context is not set: set it, for example with kubectl config use-context")]
    NoCurrentContext,
    /// A name that the text uses is not defined in it.
    #[error("{field} names {name:?}, which is not in {list}: add it or correct the name")]
    Unknown {
        /// Path of the field that names it.
        field: String,
        /// The name.
        name: String,
        /// Where it should have been: `contexts`, `clusters` or `users`.
        list: &'static str,
    },
    /// Asks for something that such trust does not allow.
    #[error("{field} is refused: it {what}; {remedy}")]
    Refused {
        /// Path of the field.
        field: String,
        /// What it would do.
        what: &'static str,
        /// What to do instead.
        remedy: &'static str,
    },
    /// `server` or `proxy-url` cannot be used.
    #[error("{field} is refused: {reason}")]
    Endpoint {
        /// Path of the field.
        field: String,
        /// Why, and the remedy.
        reason: String,
    },
    /// A certificate, key or token is not in the form it must have.
    #[error("{field} is not usable: {reason}")]
    Data {
        /// Path of the field.
        field: String,
        /// Why, and the remedy.
        reason: &'static str,
    },
    /// kube could not make a configuration from it, for example because a file it names (with the opt-in) is missing. Why.
    #[error("the kubeconfig cannot be used: {0}")]
    Build(String),
    /// The blocking task that reads files was cancelled: the process is ending.
    #[error("stopped while reading the kubeconfig's files")]
    Stopped,
}

impl KubeconfigError {
    /// What kube says, but for the parser of PEM texts, who quotes what he does not understand.
    pub(super) fn built(error: &kube::config::KubeconfigError) -> Self {
        Self::Build(match error {
            kube::config::KubeconfigError::ParseCertificates(_) => {
                "its certificate authority is not a PEM text of certificates".to_owned()
            }
            other => other.to_string(),
        })
    }
}
