//! One RGD, every cluster: a hub, and spokes that come, go and fail.

mod conflicts;
mod everywhere;
mod fleet;
mod leaving;
mod outages;
mod waves;

pub(crate) use fleet::Fleet;
