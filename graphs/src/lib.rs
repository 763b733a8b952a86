//! Serves ResourceGraphDefinitions: the shell around `graphs-core`. Two machines on `runtime-engine`: `definitions` makes of
//! each RGD revisions, a CRD and what serves its instances; `instances` keeps the children of each instance. Where there are
//! spokes three more: `rollouts` says which of them gets which revision, `spokes` brings its CRD there, and `clusters` tells
//! on a spoke's Secret which API server it is.
//!
//! Knows nothing of brokering.

pub mod app;
pub mod clusters;
pub mod compiled;
pub mod conventions;
pub mod definitions;
pub mod feature_gates;
pub mod graphs;
pub mod instances;
pub mod kinds;
pub mod metrics;
pub mod observer;
pub mod options;
pub mod rollouts;
pub mod server;
pub mod serving;
pub mod sources;
pub mod spokes;
pub mod watches;
