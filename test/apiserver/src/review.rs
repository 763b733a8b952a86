//! Reviews of access: what somebody asks about somebody's rights.

use std::sync::Arc;

use serde_json::{Value, json};
use sim::{ApiServer, Target};

use crate::{
    roles::{Wish, items},
    users::User,
};

/// Which reviews there are.
const KINDS: [&str; 2] = ["selfsubjectaccessreviews", "subjectaccessreviews"];

/// Whether a path is that of a review.
pub(crate) fn is_review(target: &Target) -> bool {
    target.group == "authorization.k8s.io" && KINDS.contains(&&*target.plural)
}

/// A review, answered. `None`: it asks nothing.
pub(crate) fn answer(server: &ApiServer, user: &Arc<User>, target: &Target, body: &[u8]) -> Option<Value> {
    let mut review: Value = serde_json::from_slice(body).ok()?;
    let spec = &review["spec"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let of = if target.plural == KINDS[0] {
        Arc::clone(user)
    } else {
        let groups = items(&spec["groups"]).map(text).collect();
        Arc::new(User { name: text(&spec["user"]), groups })
    };
    let asked = &spec["resourceAttributes"];
    let allowed = if asked.is_object() {
        let target = Target {
            group: text(&asked["group"]),
            version: text(&asked["version"]),
            namespace: text(&asked["namespace"]),
            plural: text(&asked["resource"]),
            name: text(&asked["name"]),
            subresource: text(&asked["subresource"]),
        };
        of.may(server, Wish { verb: &text(&asked["verb"]), target: &target })
    } else {
        // Paths that lead to no objects are open to whoever is known.
        spec["nonResourceAttributes"].as_object()?;
        true
    };
    review["status"] = json!({"allowed": allowed});
    Some(review)
}
