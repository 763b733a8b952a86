//! The way of an object: from a consumer to a provider and back, in a world that all these tests share.
//!
//! One lab and one broker for all of them; each test has its own namespace, domain and AcceptAPIs (`Scene`).
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod accept_status;
mod attacks;
mod bombs;
mod chain;
mod copies;
mod deletion;
mod filters;
mod marks;
mod names;
mod placement;
mod registry;
mod related;
mod related_attacks;
mod status;

use e2e::{
    Kind, Shared, World,
    kind::{CERTIFICATE, IDENTITY_CERTIFICATE, VM, WIDGET},
};
use futures::FutureExt as _;
use serde_json::json;

/// A consumer.
const HOMER: &str = "homer";
/// Another consumer; the contract gives the hash of its name.
const SECOND: &str = "consumer#cluster";
/// A provider; the first by name.
const ARIADNE: &str = "ariadne";
/// Another provider.
const THESEUS: &str = "theseus";

/// A kind whose fields have defaults at the providers.
const GADGET: Kind = Kind::test("Gadget", "gadgets");
/// A kind whose status has no conditions.
const PLAIN: Kind = Kind::test("Plain", "plains");
/// A kind that a second broker hands on.
const RELAY: Kind = Kind::test("Relay", "relays");
/// A kind of a broker whose consumer is its provider too.
const MIRROR: Kind = Kind::test("Mirror", "mirrors");

static WORLD: Shared = Shared::new(|| start().boxed_local());

async fn start() -> World {
    let kinds = [CERTIFICATE, VM, IDENTITY_CERTIFICATE, WIDGET, RELAY];
    let world = World::modelled(&[HOMER, SECOND], &[ARIADNE, THESEUS], &kinds).await;
    let field = |default: Option<&str>| match default {
        Some(default) => json!({"type": "string", "default": default}),
        None => json!({"type": "string"}),
    };
    let gadget = |tier: Option<&str>| {
        let marks = json!({"type": "object", "additionalProperties": field(None)});
        let owners = json!({"type": "array", "x-kubernetes-list-type": "set", "items": field(None)});
        let fields = json!({"color": field(None), "tier": field(tier), "marks": marks, "owners": owners});
        let spec = json!({"type": "object", "properties": fields});
        let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        GADGET.crd_with(&json!({"spec": spec, "status": any}), true).to_string()
    };
    let plain = {
        let status = json!({"type": "object", "properties": {"phase": field(None), "url": field(None)}});
        let spec = json!({"type": "object", "properties": {"color": field(None)}});
        PLAIN.crd_with(&json!({"spec": spec, "status": status}), true).to_string()
    };
    let (homer, ariadne) = (world.consumer(HOMER), world.provider(ARIADNE));
    tokio::join!(
        async { homer.apply(&format!("{}\n---\n{plain}", gadget(None))).await },
        async { ariadne.apply(&format!("{}\n---\n{plain}", gadget(Some("gold")))).await },
        async { world.hub.apply(&format!("{}\n---\n{}", RELAY.crd(), MIRROR.crd())).await },
        async { world.hub.apply(&e2e::kind::ACCEPT_API.crd().to_string()).await },
    );
    world.start_broker(&[CERTIFICATE, VM, IDENTITY_CERTIFICATE, WIDGET, GADGET, PLAIN, RELAY], &[]).await;
    world
}
