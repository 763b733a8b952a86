//! One RGD, every cluster: a hub, and spokes that come, go and fail.

mod everywhere;
mod fleet;

pub(crate) use fleet::Fleet;
