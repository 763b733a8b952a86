//! `WatchSpec`: what to watch.

use kube::core::GroupVersionKind;

use crate::query::push_query;

/// What to watch in a cluster. Two specs that differ in any field are two watches.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WatchSpec {
    /// Which kind.
    pub gvk: GroupVersionKind,
    /// Only this namespace.
    pub namespace: Option<String>,
    /// Only the object of this name.
    pub name: Option<String>,
    /// Only objects with these labels.
    pub label_selector: Option<String>,
    /// Only metadata is asked for, and bodies are not held until they are read.
    pub metadata_only: bool,
    /// No object at all: only whether and how the kind is served, and its schema. Nothing is ever known of its objects.
    pub kind_only: bool,
    /// What the kind's objects may look like is asked for, too.
    pub schema: bool,
}

impl WatchSpec {
    /// All objects of a kind, everywhere.
    pub fn all(gvk: GroupVersionKind) -> Self {
        Self {
            gvk,
            namespace: None,
            name: None,
            label_selector: None,
            metadata_only: false,
            kind_only: false,
            schema: true,
        }
    }

    /// Only the kind itself: its objects are not looked at.
    pub fn kind(gvk: GroupVersionKind) -> Self {
        Self { kind_only: true, ..Self::all(gvk) }
    }

    /// Only those with these labels.
    #[must_use]
    pub fn labelled(mut self, selector: impl Into<String>) -> Self {
        self.label_selector = Some(selector.into());
        self
    }

    /// Without bodies, until somebody reads them.
    #[must_use]
    pub fn without_bodies(mut self) -> Self {
        self.metadata_only = true;
        self
    }

    /// Whatever its objects may look like. Unless another watch asks for that, it is not read.
    #[must_use]
    pub fn without_schema(mut self) -> Self {
        self.schema = false;
        self
    }

    /// Only the one of this name.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// What every request of this watch asks for.
    pub(super) fn selectors(&self, path: &mut String) {
        push_query(path, "labelSelector", self.label_selector.as_deref().unwrap_or_default());
        self.by_name(path);
    }

    /// That part of it which rights may depend on.
    pub(super) fn by_name(&self, path: &mut String) {
        if let Some(name) = &self.name {
            push_query(path, "fieldSelector", &format!("metadata.name={name}"));
        }
    }

    /// Only those in this namespace.
    #[must_use]
    pub fn within(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }
}
