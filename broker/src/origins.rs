//! The machine of origins: from the watches to one observed origin, from its decision to writes. What is to be done is decided
//! in [`broker_core::decide`].

mod holders;
pub mod identities;
mod listen;
pub mod machine;
pub mod observe;
pub mod quotas;
pub mod records;
pub mod strays;
pub mod tell;
pub mod turns;
pub mod unsettled;
pub mod work;

pub use listen::listen;
pub use machine::Origins;
