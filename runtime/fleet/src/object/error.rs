//! `ObjectError`: why bytes are not an object.

/// Why bytes from an API server are not an object.
#[derive(Debug, thiserror::Error)]
pub enum ObjectError {
    /// The body was not kept.
    #[error("the object's body was not kept")]
    Forgotten,
    /// Not JSON, or not of an object's shape.
    #[error("not an object: {0}")]
    Json(#[from] serde_json::Error),
    /// Not text.
    #[error("not an object: {0}")]
    Text(#[from] std::str::Utf8Error),
    /// Its metadata alone is too much.
    #[error("its metadata holds too many values or nests too deep")]
    Metadata,
    /// `metadata.resourceVersion` is not a number. Kubernetes guarantees that it is (KEP-5504).
    #[error("resourceVersion {0:?} is not a number")]
    Version(String),
}
