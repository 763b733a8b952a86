//! The permissions of `config/rbac` and `config/operator`: enough for all that broker and operator do, and no verb more.
//!
//! Both run with the tokens of real ServiceAccounts on API servers with RBAC. The audit logs say what they asked for,
//! and the list from which the files are made says what they may: see [`judge`].
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod cast;
mod dashboard;
mod graphs;
mod judge;
mod kubeconfig;
mod migrations;
mod objects;
mod operator;
mod owner;
mod pair;

use cast::{Cast, Hub};
use e2e::Place;
use harness::AuditEvent;
use judge::{Case, Judgement, judge};
use manifests::permissions::{
    SYSTEM_NAMESPACE,
    broker::{COMPUTE, CONSUMER, COORDINATION, DASHBOARD, PROVIDER, PROVIDER_NAMESPACES},
};

/// The user that an API server makes of the ServiceAccount of `config/rbac`.
const BROKER: &str = "system:serviceaccount:resource-broker-system:resource-broker";

/// Ariadne's owner did not apply provider-namespaces.yaml: the broker asks whether it may look after namespaces. That of the
/// coordination cluster applies dashboard.yaml only after the page has asked for it.
fn is_excused(place: &Place, event: &AuditEvent) -> bool {
    let namespaces = place.name() == cast::ARIADNE
        && event.resource == "namespaces"
        && ["get", "list"].contains(&event.verb.as_str())
        && event.name != "kube-system";
    namespaces || place.name() == cast::COORDINATION && dashboard::is_shown(event)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_broker_may_do_what_it_does_and_does_all_that_it_may() {
    let cast = Box::pin(Cast::start(Hub::Alone)).await;
    let theseus: Vec<_> = PROVIDER.iter().chain(PROVIDER_NAMESPACES).copied().collect();
    let optional = PROVIDER_NAMESPACES.iter().map(|grant| grant.role.name).collect();
    let with_page: Vec<_> = COORDINATION.iter().chain(DASHBOARD).copied().collect();
    let cases = [
        Case::new(&cast.world.hub, cast.from(&cast.world.hub), &with_page),
        Case::new(&cast.compute, cast.from(&cast.compute), COMPUTE),
        Case::new(&cast.homer, cast.from(&cast.homer), CONSUMER),
        Case::new(&cast.ariadne, cast.from(&cast.ariadne), PROVIDER),
        Case { roles: optional, ..Case::new(&cast.theseus, cast.from(&cast.theseus), &theseus) },
    ];
    let scenario = async {
        let args = cast.broker_args().await;
        let mut brokers = cast.start_pair(args.clone()).await;
        objects::scenario(&cast).await;
        migrations::scenario(&cast).await;
        brokers.hand_over().await;
        objects::after_hand_over(&cast, SYSTEM_NAMESPACE).await;
        dashboard::scenario(&cast, args).await;
        brokers.unharmed();
    };
    Box::pin(Judgement::of(scenario, judge(BROKER, &cases, is_excused))).await.nothing_unused();
}
