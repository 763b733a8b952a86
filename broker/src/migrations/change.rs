//! `ConfigurationChange`: what the task that compiles MigrationConfigurations is told.

use runtime_fleet::object::ObjectKey;

/// A change of a MigrationConfiguration, or of what is known of them all.
#[derive(Debug)]
pub enum ConfigurationChange {
    /// Look at this one again.
    Changed(ObjectKey),
    /// All are in that there were after the watch had lost sight of them so many times. Before that is taken in nothing says
    /// that there is none.
    Complete(u64),
    /// Their kind is not served (any more).
    Missing,
}
