//! I11, looked at with every write.

use broker_api::{ClusterName, keys};
use broker_core::{decision::Write, snapshot::OriginKey};
use runtime_effect::write::Op;

use super::World;

impl World {
    /// I11: while an object moves, its copy goes only when the one that takes over is ready, if it was ready itself.
    pub(super) fn check_succession(&self, key: &OriginKey, write: &Write) {
        let (Op::Delete { .. }, Some(origin)) = (&write.op, self.origin(key)) else { return };
        let metadata = &origin["metadata"];
        let annotations = &metadata["annotations"];
        let text = |name: &str| annotations[name].as_str();
        let (Some(from), Some(to), Some(signature)) =
            (text(keys::PROVIDER_CLUSTER), text(keys::NEW_PROVIDER_CLUSTER), text(keys::ASSIGNMENT))
        else {
            return;
        };
        if self.moves.migrations.iter().any(|(owner, view)| owner == key && view.force) {
            return;
        }
        let subject = key.subject(metadata["uid"].as_str().unwrap());
        let proven = self.ring.verify_assignment(&subject, from, Some(to), signature).is_some();
        if proven && write.cluster == ClusterName::provider(from) && metadata.get("deletionTimestamp").is_none() {
            let ready = |provider: &str| {
                let copy = self.copy(provider, key);
                copy.is_some_and(|copy| copy["status"]["conditions"][0]["status"] == "True")
            };
            assert!(!ready(from) || ready(to), "{key}: the copy at {from} is deleted before that at {to} is ready");
        }
    }
}
