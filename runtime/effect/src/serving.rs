//! `Serving`: whether and how a cluster serves a kind.

use std::sync::Arc;

use runtime_cel::schema::Schema;

/// A kind as one cluster serves it.
#[derive(Debug, Clone)]
pub struct KindView {
    /// Plural resource name.
    pub plural: String,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// Whether `status` is a subresource.
    pub has_status: bool,
    /// What it can hold; [`Schema::any`] where that is not known.
    pub schema: Arc<Schema>,
}

/// Whether a cluster serves the origin's kind.
#[derive(Debug, Clone)]
pub enum Serving {
    /// Not asked yet.
    Unknown,
    /// It does not.
    Missing,
    /// It does.
    Served(KindView),
}
