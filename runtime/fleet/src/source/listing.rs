//! What changed between two looks at some kubeconfig files. Pure: files and time come as arguments.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use broker_api::{ClusterName, Role};
use tokio::time::Instant;

use super::{Beside, Provenance, SourceEvent};
use crate::kubeconfig::{Fingerprint, Kubeconfig};

/// How long a file may be missing before its cluster is removed: editors and Secret mounts replace files by a removal
/// and a creation, and removing a cluster is expensive.
pub(super) const GRACE: Duration = Duration::from_secs(2);

/// Name of a file that is named by its folder: the key of the Secrets that `kubectl create secret` and the Go broker's
/// examples make of a kubeconfig.
pub(super) const MOUNTED: &str = "kubeconfig";

/// The files of one look.
pub(super) type Found = BTreeMap<PathBuf, FoundFile>;

/// One kubeconfig file.
pub(super) struct FoundFile {
    /// `Err` holds why it cannot be used.
    pub(super) kubeconfig: Result<Arc<Kubeconfig>, String>,
    pub(super) beside: Beside,
}

/// What was last reported of each file.
pub(super) struct Listing {
    role: Role,
    files: BTreeMap<PathBuf, Reported>,
}

#[derive(Default)]
struct Reported {
    fingerprint: Option<Fingerprint>,
    rejection: Option<String>,
    missing_since: Option<Instant>,
    beside: Arc<Beside>,
    /// Since when nothing stands beside it any more.
    bare_since: Option<Instant>,
}

impl Reported {
    /// Takes in what stands beside the file; what is gone is believed after a grace. Returns whether that is news.
    fn stands_beside(&mut self, beside: Beside, now: Instant) -> bool {
        let bare = beside == Beside::Nothing && *self.beside != Beside::Nothing;
        if bare && now.duration_since(*self.bare_since.get_or_insert(now)) < GRACE {
            return false;
        }
        self.bare_since = None;
        let news = *self.beside != beside;
        if news {
            self.beside = Arc::new(beside);
        }
        news
    }
}

impl Listing {
    pub(super) fn new(role: Role) -> Self {
        Self { role, files: BTreeMap::new() }
    }

    /// Events in the order of the paths, so that of two files that give one name the lower path is reported first.
    pub(super) fn observe(&mut self, found: Found, now: Instant) -> Vec<SourceEvent> {
        let mut events = self.missing(&found, now);
        for (path, FoundFile { kubeconfig, beside }) in found {
            let Some(name) = cluster_of(self.role, &path) else {
                continue;
            };
            let reported = self.files.entry(path.clone()).or_default();
            reported.missing_since = None;
            let from = Provenance::File(path);
            match kubeconfig {
                Ok(kubeconfig) => {
                    let news = reported.stands_beside(beside, now);
                    // After a rejection an unchanged kubeconfig is told again: it says that all is well.
                    let was_rejected = reported.rejection.take().is_some();
                    let fingerprint = Some(kubeconfig.fingerprint());
                    if news || was_rejected || reported.fingerprint != fingerprint {
                        reported.fingerprint = fingerprint;
                        let beside = Arc::clone(&reported.beside);
                        events.push(SourceEvent::Upsert { name, kubeconfig, from, beside });
                    }
                }
                Err(reason) => {
                    if reported.rejection.as_ref() != Some(&reason) {
                        reported.rejection = Some(reason.clone());
                        events.push(SourceEvent::Rejected { name, from, reason });
                    }
                }
            }
        }
        events
    }

    /// When a missing file's grace ends, if one is missing.
    pub(super) fn due(&self) -> Option<Instant> {
        let missing = self.files.values().flat_map(|file| [file.missing_since, file.bare_since]);
        missing.flatten().min().map(|since| since + GRACE)
    }

    fn missing(&mut self, found: &Found, now: Instant) -> Vec<SourceEvent> {
        let role = self.role;
        let mut events = Vec::new();
        self.files.retain(|path, reported| {
            if found.contains_key(path) {
                return true;
            }
            let since = *reported.missing_since.get_or_insert(now);
            if now.duration_since(since) < GRACE {
                return true;
            }
            if let Some(name) = cluster_of(role, path) {
                events.push(SourceEvent::Removed { name, from: Provenance::File(path.clone()) });
            }
            false
        });
        events
    }
}

/// The cluster that a kubeconfig file stands for: its file name without `.kubeconfig.yaml`, `.kubeconfig.yml` or
/// `.kubeconfig`, else without its extension: `homer.kubeconfig`, `homer.kubeconfig.yaml` and `homer.yaml` are `homer`,
/// `kubeconfig.yaml` is `kubeconfig` in whatever folder it is. None for hidden files and names that are not plain text.
///
/// A file named exactly `kubeconfig` is what a mounted Secret's key makes of it, and the same in each mount: the folder
/// names the cluster, so `/kubeconfigs/homer/kubeconfig` is `homer`.
///
/// The Go broker named clusters by the file's whole path and its contexts; a name that moves with the folder would move
/// every copy, so the contract takes the stem.
pub fn cluster_of(role: Role, path: &Path) -> Option<ClusterName> {
    name_of(path).map(|name| ClusterName::new(role, name))
}

/// [`cluster_of`] without the role.
pub(super) fn name_of(path: &Path) -> Option<&str> {
    let name = plain(path)?;
    if name == MOUNTED {
        return Some(path.parent().and_then(plain).unwrap_or(MOUNTED));
    }
    [".kubeconfig.yaml", ".kubeconfig.yml", ".kubeconfig"]
        .iter()
        .find_map(|suffix| name.strip_suffix(suffix))
        .or_else(|| path.file_stem()?.to_str())
}

/// The last part of a path, unless it is hidden or no plain text.
fn plain(path: &Path) -> Option<&str> {
    let name = path.file_name()?.to_str()?;
    (!name.starts_with('.') && !name.chars().any(char::is_control)).then_some(name)
}
