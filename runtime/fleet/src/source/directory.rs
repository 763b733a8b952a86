//! A directory of kubeconfig files: `*.kubeconfig`, `*.kubeconfig.yaml`, `kubeconfig.yaml` and `kubeconfig`.

use std::{
    ffi::OsStr,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use broker_api::Role;
use tokio::{sync::mpsc::Sender, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use super::{
    SourceEvent,
    listing::{Found, MOUNTED},
    parsed::Parsed,
    poll::{self, Scan},
};
use crate::crash::spawn;

struct Directory {
    path: PathBuf,
    allow_local: bool,
    parsed: Parsed,
}

impl Scan for Directory {
    fn folder(&self) -> &Path {
        &self.path
    }

    fn scan(&self) -> io::Result<Found> {
        let read = |path: PathBuf| poll::look(&path, self.allow_local, &self.parsed).map(|found| (path, found));
        let found: Found = kubeconfigs(&self.path)?.into_iter().filter_map(read).collect();
        self.parsed.retain(|path| found.contains_key(path));
        Ok(found)
    }
}

/// Reports the clusters of the kubeconfigs in the directory `path`, and their changes, until `cancel`. A directory that
/// cannot be read changes nothing.
///
/// `allow_local`: see [`crate::kubeconfig::Trust::File`].
pub fn watch(
    role: Role,
    path: PathBuf,
    allow_local: bool,
    events: Sender<SourceEvent>,
    cancel: CancellationToken,
) -> JoinHandle<()> {
    spawn(poll::run(role, Arc::new(Directory { path, allow_local, parsed: Parsed::default() }), events, cancel))
}

/// The kubeconfig files in a directory, sorted. Blocks.
pub(super) fn kubeconfigs(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        if is_kubeconfig(&entry.file_name()) {
            paths.push(entry.path());
        }
    }
    paths.sort();
    Ok(paths)
}

fn is_kubeconfig(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else {
        return false;
    };
    let suffixed = name.ends_with(".kubeconfig") || name.ends_with(".kubeconfig.yaml");
    !name.starts_with('.') && (suffixed || name == "kubeconfig.yaml" || name == MOUNTED)
}
