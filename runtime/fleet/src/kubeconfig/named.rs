//! `Named`: a part of a kubeconfig, with where it is in the text.

/// A part of the document with its path, for messages.
pub(super) struct Named<T> {
    pub(super) path: String,
    pub(super) value: T,
}

impl<T> Named<T> {
    pub(super) fn field(&self, name: &str) -> String {
        format!("{}.{name}", self.path)
    }
}
