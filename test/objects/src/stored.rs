//! `Stored`: an object, and whose its fields are.

use std::sync::Arc;

use runtime_effect::view::View;
use serde_json::Value;

use crate::fields::Fields;

/// See the module.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored {
    /// The object, as it is told.
    pub value: Arc<Value>,
    /// What our field manager applies, and has not lost to others since.
    pub(crate) applied: Option<Fields>,
    /// What others have written.
    pub(crate) others: Fields,
}

impl Stored {
    /// As decisions see it.
    pub fn view(&self) -> View {
        let metadata = &self.value["metadata"];
        View {
            uid: metadata["uid"].as_str().unwrap().into(),
            resource_version: metadata["resourceVersion"].as_str().unwrap().parse().unwrap(),
            deleting: metadata.get("deletionTimestamp").is_some(),
            applied_by_us: self.applied.is_some(),
            value: Arc::clone(&self.value),
            unread: None,
            conditions_known: true,
        }
    }
}
