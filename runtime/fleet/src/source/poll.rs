//! Looks at kubeconfig files again when the file system says so, and every few seconds in case it does not: network
//! file systems and symlinks into other folders send no events.

use std::{
    fs::File,
    io::{ErrorKind, Read},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use broker_api::Role;
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::{
    sync::{Notify, mpsc::Sender},
    time::{Instant, sleep, sleep_until},
};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::{
    Beside, SourceEvent,
    listing::{Found, FoundFile, Listing, name_of},
    parsed::Parsed,
};
use crate::{
    blocking::blocking,
    kubeconfig::{Kubeconfig, MAX_BYTES, Trust},
};

/// Time between two looks without an event.
const INTERVAL: Duration = Duration::from_secs(3);

/// Quiet time after an event: a file is seldom written in one piece.
const SETTLE: Duration = Duration::from_millis(100);

/// Some files to look at.
pub(super) trait Scan: Send + Sync + 'static {
    /// The folder whose changes matter.
    fn folder(&self) -> &Path;

    /// The files that are there now. An error says that this is not known; nothing is concluded from it. Blocks.
    fn scan(&self) -> std::io::Result<Found>;
}

/// Reports on `files` until `cancel`, or until nobody listens.
pub(super) async fn run(role: Role, files: Arc<dyn Scan>, events: Sender<SourceEvent>, cancel: CancellationToken) {
    cancel.run_until_cancelled(follow(role, files, events)).await;
}

async fn follow(role: Role, files: Arc<dyn Scan>, events: Sender<SourceEvent>) {
    let changed = Arc::new(Notify::new());
    let mut watcher = watch(files.folder(), &changed);
    let mut listing = Listing::new(role);
    let mut synced = false;
    let mut unreadable = false;
    loop {
        let look = Arc::clone(&files);
        let Ok(found) = blocking(move || look.scan()).await else {
            return;
        };
        match found {
            Ok(found) => {
                if std::mem::take(&mut unreadable) {
                    // The watch was on the folder that is gone.
                    drop(watcher);
                    watcher = watch(files.folder(), &changed);
                }
                for event in listing.observe(found, Instant::now()) {
                    if events.send(event).await.is_err() {
                        return;
                    }
                }
            }
            Err(error) if unreadable => {
                debug!(folder = %files.folder().display(), %error, "still unreadable");
            }
            Err(error) => {
                unreadable = true;
                warn!(folder = %files.folder().display(), %error, "cannot look for kubeconfigs: its clusters stay as they are");
            }
        }
        // Also after a failed look: whoever waits for the first list must not wait for a folder that may never come.
        if !std::mem::replace(&mut synced, true) && events.send(SourceEvent::Synced).await.is_err() {
            return;
        }
        let next = Instant::now() + INTERVAL;
        let next = listing.due().map_or(next, |due| due.min(next));
        tokio::select! {
            () = sleep_until(next) => {}
            () = changed.notified() => sleep(SETTLE).await,
        }
    }
}

/// None if the system has no more watches to give: then the interval alone has to do.
pub(super) fn watch(folder: &Path, changed: &Arc<Notify>) -> Option<RecommendedWatcher> {
    let notify = Arc::clone(changed);
    let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // Our own reading is an access.
        if !event.is_ok_and(|event| matches!(event.kind, EventKind::Access(_))) {
            notify.notify_one();
        }
    });
    watcher
        .and_then(|mut watcher| watcher.watch(folder, RecursiveMode::NonRecursive).map(|()| watcher))
        .inspect_err(|error| {
            warn!(folder = %folder.display(), %error, "no file events: changes are found by looking every few seconds");
        })
        .ok()
}

/// One kubeconfig file and what stands beside it. None: there is no such file. Blocks.
pub(super) fn look(path: &Path, allow_local: bool, parsed: &Parsed) -> Option<FoundFile> {
    let kubeconfig = read(path, allow_local, parsed)?;
    Some(FoundFile { kubeconfig, beside: beside(path) })
}

fn beside(path: &Path) -> Beside {
    let Some(cluster) = name_of(path) else { return Beside::Nothing };
    let name = format!("{cluster}.policy.yaml");
    let content = match read_capped(&path.with_file_name(&name)) {
        Ok(content) if content.len() > MAX_BYTES => Err("is too long".to_owned()),
        Ok(content) => String::from_utf8(content).map_err(|_| "is not UTF-8 text".to_owned()),
        Err(error) if error.kind() == ErrorKind::NotFound => return Beside::Nothing,
        Err(error) => Err(format!("cannot be read: {error}")),
    };
    Beside::File { name, content }
}

/// Reads and checks one file, with the certificate files that it may name. None: there is no such file. Blocks.
pub(super) fn read(path: &Path, allow_local: bool, parsed: &Parsed) -> Option<Result<Arc<Kubeconfig>, String>> {
    let content = match read_capped(path) {
        Ok(content) => content,
        Err(error) if error.kind() == ErrorKind::NotFound => return None,
        Err(error) => return Some(Err(format!("cannot be read: {error}"))),
    };
    Some(parsed.take(path, content, |content| parse(path, content, allow_local)))
}

fn parse(path: &Path, content: Vec<u8>, allow_local: bool) -> Result<Kubeconfig, String> {
    let text = String::from_utf8(content).map_err(|_| "is not UTF-8 text".to_owned())?;
    if text.trim().is_empty() {
        return Err("is empty".to_owned());
    }
    let folder = std::path::absolute(path).ok().and_then(|path| path.parent().map(Path::to_owned)).unwrap_or_default();
    let trust = Trust::File { folder, allow_local };
    let kubeconfig = Kubeconfig::parse(&text, &trust).map_err(|error| error.to_string())?;
    let files: Vec<PathBuf> = kubeconfig.files().map(PathBuf::from).collect();
    files.iter().try_fold(kubeconfig, |kubeconfig, file| {
        let content =
            read_capped(file).map_err(|error| format!("names {}, which cannot be read: {error}", file.display()))?;
        Ok(kubeconfig.with_file_content(&content))
    })
}

/// At most one byte more than a kubeconfig may have. Only regular files: opening a pipe would wait for its writer.
fn read_capped(path: &Path) -> std::io::Result<Vec<u8>> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(std::io::Error::new(ErrorKind::InvalidInput, "not a regular file"));
    }
    let mut content = Vec::new();
    File::open(path)?.take(MAX_BYTES as u64 + 1).read_to_end(&mut content)?;
    Ok(content)
}
