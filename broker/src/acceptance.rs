//! The machine of AcceptAPIs: their statuses say whether they are used, how many objects they hold, and what is wrong.

pub mod accept_apis;
pub mod acceptances;
pub mod change;
pub mod changes;
pub mod machine;
pub mod registry;
mod status;
pub mod statuses;

pub use machine::AcceptMachine;
