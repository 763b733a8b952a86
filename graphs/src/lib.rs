//! Serves ResourceGraphDefinitions: the shell around `graphs-core`. Two machines on `runtime-engine`: `definitions` makes of
//! each RGD revisions, a CRD and what serves its instances; `instances` keeps the children of each instance.
//!
//! Knows nothing of brokering.

pub mod app;
pub mod compiled;
pub mod conventions;
pub mod definitions;
pub mod graphs;
pub mod instances;
pub mod kinds;
pub mod metrics;
pub mod observer;
pub mod options;
pub mod server;
pub mod serving;
pub mod watches;
