//! What Go's standard library reads and writes: numbers, durations, moments, quoted texts, URLs.
//!
//! Expressions of graphs were written for it, so its forms are the contract, where Rust's own would differ.

pub(super) mod duration;
pub(super) mod number;
pub(super) mod quote;
pub(super) mod timestamp;
pub(super) mod url;
