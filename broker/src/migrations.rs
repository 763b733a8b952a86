//! The shell of Migrations: from the watches to one observed Migration, from its outcome to writes. What is to be done is
//! decided in [`broker_core::migration`].
//!
//! Each is worked on by itself, as origins are, in a queue of its own. The two meet in what they tell of each other:
//! [`crate::broker::Broker::migrations_of`] for origins, [`movement`] for Migrations.

pub mod act;
pub mod configurations;
pub mod configured;
pub mod known;
pub mod look;
pub mod movement;
pub mod observe;
pub mod observer;
pub mod origin;
pub mod registry;
pub mod stages;
pub mod tell;
pub mod worker;

pub use configurations::Configurations;
pub use registry::{MigrationWork, Migrations};
pub use stages::Stages;
