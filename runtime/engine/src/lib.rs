//! What machines run on. A machine keeps something as it should be: it listens to watches, observes what they hold, decides
//! on one key at a time, and takes its decision in. All else is here: whose turn it is, what is remembered of each, threads
//! to decide on, bodies that are to be read first, writes and what becomes of them, Events.
//!
//! Knows nothing of what is decided: see [`machine::Machine`].

mod alone;
pub mod bodies;
pub mod clock;
pub mod decisions;
pub mod demand;
pub mod engine;
mod hidden;
pub mod interests;
mod kept;
pub mod machine;
pub mod meters;
pub mod namespace;
mod reads;
pub mod recorder;
pub mod records;
mod refusal;
mod sender;
mod settling;
pub mod sources;
#[cfg(test)]
mod stub;
mod stubs;
pub mod view;
pub mod worker;
