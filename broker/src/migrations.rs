//! The shell of Migrations: from the watches to one observed Migration, from its outcome to writes. What is to be done is
//! decided in [`broker_core::migration`].
//!
//! Each is worked on by itself, as origins are, in a queue of its own. The two meet in what they tell of each other:
//! [`crate::broker::Broker::migrations_of`] for origins, [`broker_core::migration::standing::movement`] for Migrations.

pub mod change;
pub mod configurations;
pub mod configured;
pub mod configuring;
mod listen;
pub mod look;
pub mod machine;
pub mod observe;
pub mod observer;
pub mod registry;
pub mod stages;
mod status_machine;
pub mod statuses;

pub use listen::listen;
pub use machine::MigrationMachine;
pub use status_machine::ConfigurationMachine;
