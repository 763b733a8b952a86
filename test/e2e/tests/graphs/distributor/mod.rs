//! One RGD, every cluster: a hub, and spokes that come, go and fail.

mod clocks;
mod command_line;
mod completed;
mod conflicts;
mod everywhere;
mod fields;
mod fleet;
mod leaving;
mod nested;
mod others;
mod outages;
mod reasons;
mod waves;

pub(crate) use fleet::Fleet;
