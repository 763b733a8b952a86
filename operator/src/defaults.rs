//! `Defaults`: what Brokers need not say, because the operator was told.

use crate::image::Image;

/// What Brokers need not say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Defaults {
    /// Image of brokers whose Broker names none.
    pub broker: Image,
    /// Image of graphs controllers whose Broker names none.
    pub graphs: Image,
    /// The operator's own namespace. The Lease of all graphs controllers is there: they serve the same cluster.
    pub namespace: String,
}
