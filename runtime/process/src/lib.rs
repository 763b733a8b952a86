//! What every program of ours does whatever it is for: reads values of flags, writes logs, answers probes, takes part in an
//! election. Knows no kinds.

pub mod amount;
pub mod bind;
pub mod election;
pub mod logs;
pub mod serve;
