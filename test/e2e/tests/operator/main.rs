//! The operator on a real API server with the garbage collector, as a user with the permissions of
//! `config/operator/role.yaml`. Pods and Deployments do not run here: the tests write their statuses.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod graphs;
mod held;
mod life;
mod monitors;
mod restart;
mod stage;
mod told;

use stage::Stage;

/// One after the other: each begins without a Broker, and the last takes away the only cluster.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_told_what_is_others_and_what_is_held() {
    let mut stage = Stage::start().await;
    told::what_deployment_and_pods_say_reaches_the_conditions(&stage).await;
    held::what_is_somebody_else_s_is_never_touched(&stage).await;
    monitors::service_monitors_are_made_once_there_is_the_kind(&mut stage).await;
    held::what_cannot_be_deployed_leaves_what_runs_as_it_is(&stage).await;
}
