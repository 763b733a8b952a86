//! Migrations: from what was seen of one Migration to what to do about it. Pure, as `decide` is for origins.
//!
//! Owns the Migration's status, finalizer and end, and the objects of its stages in the compute cluster. Copies, the
//! consumer's object and all that belongs to it are the business of [`crate::decide`].

pub mod book;
pub mod configuration;
pub mod known;
pub mod machine;
pub mod maker;
pub mod moved_origin;
pub mod observed;
pub mod standing;
pub mod template;
