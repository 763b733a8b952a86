//! Events as the core group shows them, as which people read them. They are kept as those of `events.k8s.io`.

use serde_json::{Value, json};

/// Whose Events are kept.
pub(crate) const GROUP: &str = "events.k8s.io";

/// What the fields are called in `events.k8s.io`, and in the core group.
const NAMES: [(&str, &str); 7] = [
    ("regarding", "involvedObject"),
    ("note", "message"),
    ("reportingController", "reportingComponent"),
    ("deprecatedSource", "source"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedCount", "count"),
];

/// An Event that is kept, as the core group shows it.
pub(crate) fn shown(kept: &Value) -> Value {
    let mut event = kept.clone();
    if let Some(fields) = event.as_object_mut() {
        for (kept, shown) in NAMES {
            let value = fields.remove(kept);
            fields.extend(value.map(|value| (shown.to_owned(), value)));
        }
    }
    event["apiVersion"] = json!("v1");
    event["kind"] = json!("Event");
    event
}

/// Fields by which Events of the core group are selected, as those that are kept have them.
pub(crate) fn selected(fields: &str) -> String {
    fields.replace("involvedObject.", "regarding.")
}
