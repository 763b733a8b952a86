//! The permissions of `config/rbac` and `config/operator`: enough for all that broker and operator do, and no verb more.
//!
//! Both run with the tokens of real ServiceAccounts on API servers with RBAC. The audit logs say what they asked for,
//! and the list from which the files are made says what they may: see [`judge`].
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod cast;
mod judge;
mod migrations;
mod objects;
mod owner;
mod script;

use cast::Cast;
use judge::{Case, judge};
use manifests::permissions::broker::{COMPUTE, CONSUMER, COORDINATION, PROVIDER, PROVIDER_NAMESPACES};

/// The user that an API server makes of the ServiceAccount of `config/rbac`.
const BROKER: &str = "system:serviceaccount:resource-broker-system:resource-broker";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_broker_may_do_what_it_does_and_does_all_that_it_may() {
    let cast = Box::pin(Cast::start()).await;
    let mut brokers = cast.start_brokers().await;
    objects::scenario(&cast).await;
    migrations::scenario(&cast).await;
    cast.hand_over(&mut brokers).await;
    objects::after_hand_over(&cast).await;
    for broker in &brokers {
        assert!(!broker.log().contains("panicked"), "{}", broker.last_lines(40));
    }

    let theseus = PROVIDER.iter().chain(PROVIDER_NAMESPACES).copied().collect::<Vec<_>>();
    let optional = PROVIDER_NAMESPACES.iter().map(|grant| grant.role.name).collect();
    let cases = [
        Case::new(&cast.world.hub, cast.from["coordination"], COORDINATION),
        Case::new(&cast.compute, cast.from["compute"], COMPUTE),
        Case::new(&cast.homer, cast.from["homer"], CONSUMER),
        Case::new(&cast.ariadne, cast.from["ariadne"], PROVIDER),
        Case { roles: optional, ..Case::new(&cast.theseus, cast.from["theseus"], &theseus) },
    ];
    // Ariadne's owner did not apply provider-namespaces.yaml: the broker asks whether it may look after namespaces.
    let excused = |place: &e2e::Place, event: &harness::AuditEvent| {
        place.name() == "ariadne" && event.resource == "namespaces" && ["get", "list"].contains(&event.verb.as_str())
    };
    judge(BROKER, &cases, excused).await;
}
