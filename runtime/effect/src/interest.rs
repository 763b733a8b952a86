//! `Interest`: an object that somebody listens to.

use broker_api::ClusterName;

use crate::kind::Kind;

/// An object whose changes concern whoever decided.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Interest {
    /// Where it is.
    pub cluster: ClusterName,
    /// Its kind.
    pub kind: Kind,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}
