//! What every program of ours does whatever it is for: begins and ends, reads values of flags and the kubeconfigs that they
//! name, writes logs, answers probes, counts, takes part in an election. Knows no kinds.

pub mod amount;
pub mod bind;
pub mod clusters;
pub mod election;
pub mod life;
pub mod logs;
pub mod metrics;
pub mod serve;
pub mod switch;
pub mod totals;
