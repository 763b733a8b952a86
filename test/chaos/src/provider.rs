//! What runs at providers: each copy gets a status and a Secret that say of which round of its spec they are.

use e2e::{Controller, Kind, Object, Place, controller::hand_out};
use futures::future::BoxFuture;
use serde_json::json;

use crate::stage::WIDGET;

/// The label by which a provider tells copies from what its own people make.
const COPY: &str = "broker.platform-mesh.io/managed-by";

/// Serves all copies of a provider until it is dropped.
pub(crate) fn serve(place: &Place) -> Controller {
    Controller::serving(place, &WIDGET, "", follow)
}

fn follow<'a>(place: &'a Place, kind: &'a Kind, copy: &'a Object) -> BoxFuture<'a, kube::Result<()>> {
    Box::pin(async move {
        let round = copy.at("/spec/round");
        let is_done = copy.text("/status/status") == "Available" && copy.at("/status/round") == round;
        if copy.is_deleting() || copy.label(COPY).is_none() || is_done {
            return Ok(());
        }
        let content = json!({"provider": place.name(), "round": round.to_string()});
        hand_out(place, kind, copy, &content, json!({"status": "Available", "round": round})).await
    })
}
