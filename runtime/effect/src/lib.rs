//! What every machine's decisions are made of: what was seen, the moment, patches and notes. Pure: no Kubernetes client, no
//! tokio, no clock.
//!
//! Knows nothing of what is decided.

pub mod condition;
pub mod interest;
pub mod kind;
pub mod memory;
pub mod merge;
pub mod note;
pub mod now;
pub mod object_key;
pub mod reach;
pub mod report;
pub mod seen;
pub mod selector;
pub mod serving;
pub mod size;
pub mod step;
pub mod version;
pub mod view;
pub mod write;
