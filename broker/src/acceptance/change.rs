//! `AcceptChange`: what the task that takes in AcceptAPIs is told.

use broker_api::ClusterName;
use runtime_fleet::object::ObjectKey;

/// A change of an AcceptAPI, or the end of a provider's first list.
#[derive(Debug)]
pub enum AcceptChange {
    /// Look at this one again.
    Changed(ClusterName, ObjectKey),
    /// All of this provider's are in.
    Complete(ClusterName),
    /// The provider has left.
    Left(ClusterName),
    /// The platform's bounds for the provider are others.
    Bounded(ClusterName),
}
