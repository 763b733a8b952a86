//! One kubeconfig file named on the command line.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use broker_api::Role;
use tokio::{sync::mpsc::Sender, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use super::{
    SourceEvent,
    listing::Found,
    parsed::Parsed,
    poll::{self, Scan},
};
use crate::crash::spawn;

struct OneFile {
    path: PathBuf,
    folder: PathBuf,
    allow_local: bool,
    parsed: Parsed,
}

impl Scan for OneFile {
    fn folder(&self) -> &Path {
        &self.folder
    }

    fn scan(&self) -> io::Result<Found> {
        Ok(poll::look(&self.path, self.allow_local, &self.parsed)
            .map_or_else(BTreeMap::new, |found| BTreeMap::from([(self.path.clone(), found)])))
    }
}

/// Reports the cluster of the kubeconfig at `path`, and its changes, until `cancel`. A file that is missing for two
/// seconds takes its cluster away; one that cannot be used does not.
///
/// `allow_local`: see [`crate::kubeconfig::Trust::File`].
pub fn watch(
    role: Role,
    path: PathBuf,
    allow_local: bool,
    events: Sender<SourceEvent>,
    cancel: CancellationToken,
) -> JoinHandle<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    let file = Arc::new(OneFile { path, folder, allow_local, parsed: Parsed::default() });
    spawn(poll::run(role, file, events, cancel))
}
