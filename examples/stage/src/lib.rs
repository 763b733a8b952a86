//! What the examples share: clusters, programs, and what the person sees.
//!
//! A demo is a function on a [`Stage`], run by [`show`]. It starts clusters ([`Place`]), has the broker installed in them
//! as the project's README says ([`Installation`]), and goes through its story step by step on the [`Screen`].
//!
//! The clusters of a demo are API servers without nodes. [`controllers`] runs Kubernetes' own controllers for them, and
//! `pod-runner` stands in for scheduler and kubelet: it runs pods as processes of this machine. [`pod`] reads what a pod
//! wants, [`arguments`] makes it fit here, [`pod_status`] says what came of it, [`runner`] does it. Nothing is isolated,
//! and no image is ever pulled; on a real node all of this runs in `make test-node`.
//!
//! [`program`] is for programs that speak to one cluster, such as the examples' providers.

pub mod arguments;
mod container;
pub mod controllers;
pub mod installation;
pub mod kind;
pub mod place;
pub mod pod;
pub mod pod_runner;
pub mod pod_status;
pub mod program;
pub mod runner;
pub mod screen;
pub mod show;
pub mod stage;
pub mod thing;

use std::time::Duration;

pub use installation::Installation;
pub use kind::Kind;
pub use place::Place;
pub use screen::Screen;
pub use show::show;
pub use stage::Stage;
pub use thing::Thing;

/// How long a fact may take on a machine that has other things to do.
pub const DEADLINE: Duration = Duration::from_mins(1);
