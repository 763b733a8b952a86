//! What suites that run on the model would miss: workloads and accounts, the rules of CRDs, objects that are nested deeper than
//! the model reads, and what API servers tell while a CRD changes. Here all API servers are real ones.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod crds;
mod nested;
mod related;

use e2e::{
    Kind, Shared, World,
    kind::{CERTIFICATE, WIDGET},
};
use futures::FutureExt as _;
use serde_json::{Value, json};

/// A consumer.
const HOMER: &str = "homer";
/// Another consumer.
const BART: &str = "bart";
/// The provider.
const ARIADNE: &str = "ariadne";

/// A kind whose schema changes.
const SHADE: Kind = Kind::test("Shade", "shades");

/// The CRD of [`SHADE`], with a default for its field `shade`.
fn shade(default: Option<&str>) -> Value {
    let text = json!({"type": "string"});
    let mut shade = text.clone();
    if let Some(default) = default {
        shade["default"] = json!(default);
    }
    let spec = json!({"type": "object", "properties": {"color": text, "shade": shade}});
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    SHADE.crd_with(&json!({"spec": spec, "status": any}), true)
}

static WORLD: Shared = Shared::new(|| start().boxed_local());

async fn start() -> World {
    let world = World::real(&[HOMER, BART], &[ARIADNE], &[CERTIFICATE, WIDGET]).await;
    let crd = shade(None).to_string();
    tokio::join!(world.consumer(HOMER).apply(&crd), world.provider(ARIADNE).apply(&crd));
    world.start_broker(&[CERTIFICATE, WIDGET, SHADE], &[]).await;
    world
}
