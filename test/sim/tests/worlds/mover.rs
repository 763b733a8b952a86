//! Who does what the stages of a Migration ask for: it says `done` in each ConfigMap of one.

use std::time::Duration;

use broker_api::keys;
use serde_json::json;
use sim::ApiServer;
use tokio::time::sleep;

use crate::person::Person;

/// It takes its time.
const TAKES: Duration = Duration::from_secs(3);

/// Works until it is dropped.
pub(crate) async fn run(hub: ApiServer) {
    let mover = Person { name: "mover", server: &hub };
    let mut changes = hub.changes_of("configmaps");
    loop {
        for ((namespace, name), map) in hub.objects("configmaps") {
            let of_stage = map["metadata"]["labels"][keys::MIGRATION_ID].is_string();
            if of_stage && map["data"]["done"].is_null() {
                sleep(TAKES).await;
                let path = format!("/api/v1/namespaces/{namespace}/configmaps/{name}");
                // It may have gone meanwhile.
                mover.ask("PATCH", &path, &json!({"data": {"done": "true"}})).await;
            }
        }
        if changes.changed().await.is_err() {
            return;
        }
    }
}
