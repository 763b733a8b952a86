//! What `broker-core` promises: its leaves one by one, `decide` and `migrate` each in a small world, and both joined. One
//! program, because each one more is linked, and kept, with all that it depends on.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::needless_pass_by_value, missing_docs)]

mod assignment;
mod configuration;
mod decide;
mod decision;
mod filter;
mod joint;
mod memory;
mod migrate;
mod naming;
mod placement;
mod policy;
mod readiness;
mod status;
mod template;

/// A quarter of what the properties compute is small allocations.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
