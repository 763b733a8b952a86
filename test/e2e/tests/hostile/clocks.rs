//! Clocks that jump place nothing anew and redirect nothing.
//!
//! A real process cannot be given another wall clock without a library that stands in for the system's. What reads it is
//! tested with an injected one (`runtime/engine/src/clock.rs`), and what decides by it with jumps of an hour between one process
//! and the next (`broker/core/tests/core/decide/clocks.rs`).
