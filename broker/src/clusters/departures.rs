//! Which clusters have left the configuration, and when. Whoever is only not read yet, or cannot be used, has not.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use broker_api::ClusterName;
use runtime_fleet::hashed::{HashMap, HashSet};
use tokio::time::Instant;

#[derive(Debug, Default)]
struct Inner {
    /// When a cluster was taken out.
    left: HashMap<ClusterName, Instant>,
    /// Clusters that are in the configuration, whether they can be engaged or not.
    configured: HashSet<ClusterName>,
    /// When all files and directories had been read for the first time.
    files_read: Option<Instant>,
    /// When all cluster Secrets had been read, since when they are known.
    secrets_read: Option<Instant>,
}

/// The clusters that have left.
#[derive(Debug, Default)]
pub(crate) struct Departures(Mutex<Inner>);

impl Departures {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A cluster is in the configuration, though it may be that what is said of it cannot be used. Said before it is engaged:
    /// in between it has not left.
    pub(crate) fn configured(&self, cluster: &ClusterName) {
        let mut inner = self.lock();
        inner.left.remove(cluster);
        inner.configured.insert(cluster.clone());
    }

    /// A cluster was taken out of the configuration.
    pub(crate) fn left(&self, cluster: &ClusterName) {
        let mut inner = self.lock();
        inner.configured.remove(cluster);
        inner.left.insert(cluster.clone(), Instant::now());
    }

    /// All files and directories have been read.
    pub(crate) fn files_read(&self) {
        self.lock().files_read.get_or_insert_with(Instant::now);
    }

    /// All cluster Secrets have been read.
    pub(crate) fn secrets_read(&self) {
        self.lock().secrets_read.get_or_insert_with(Instant::now);
    }

    /// What cluster Secrets there are is not known any more: there may be some that were never seen.
    pub(crate) fn secrets_lost(&self) {
        self.lock().secrets_read = None;
    }

    /// Whether all that was configured at the start has been read.
    pub(crate) fn are_known(&self) -> bool {
        let inner = self.lock();
        inner.files_read.is_some() && inner.secrets_read.is_some()
    }

    /// For how long a cluster that is not engaged has been out of the configuration; `None`: it may be in it.
    pub(crate) fn absent(&self, cluster: &ClusterName) -> Option<Duration> {
        let inner = self.lock();
        if inner.configured.contains(cluster) {
            return None;
        }
        // It left before all was read: nobody knows when, so its time is counted from then.
        let all_read = inner.files_read?.max(inner.secrets_read?);
        Some(inner.left.get(cluster).copied().unwrap_or(all_read).elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_has_left_before_all_sources_are_read() {
        let departures = Departures::default();
        let cluster = ClusterName::provider("p");
        departures.files_read();
        assert_eq!(departures.absent(&cluster), None);
        departures.secrets_read();
        assert!(departures.absent(&cluster).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_was_never_seen_has_been_away_for_as_long_as_all_are_known() {
        let departures = Departures::default();
        let (cluster, other) = (ClusterName::provider("p"), ClusterName::provider("q"));
        departures.files_read();
        departures.secrets_read();
        departures.configured(&other);
        departures.left(&other);
        let day = Duration::from_hours(24);
        tokio::time::advance(day).await;
        departures.secrets_lost();
        assert_eq!((departures.absent(&cluster), departures.are_known()), (None, false), "another may have added it");
        departures.secrets_read();
        assert_eq!(departures.absent(&cluster), Some(Duration::ZERO));
        assert_eq!(departures.absent(&other), Some(day));
    }

    #[test]
    fn what_is_configured_has_not_left() {
        let departures = Departures::default();
        let cluster = ClusterName::provider("p");
        departures.files_read();
        departures.secrets_read();
        departures.configured(&cluster);
        assert_eq!(departures.absent(&cluster), None);
        departures.left(&cluster);
        assert!(departures.absent(&cluster).is_some());
        // It comes back, and is not engaged yet: for as long as this process runs nobody has been without it.
        departures.configured(&cluster);
        assert_eq!(departures.absent(&cluster), None);
    }
}
