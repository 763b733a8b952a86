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
