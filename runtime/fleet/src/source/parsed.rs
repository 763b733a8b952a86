//! `Parsed`: kubeconfig files as they were read last. One whose text is the same is not parsed again, every few seconds.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use sha2::{Digest as _, Sha256};

use crate::{hashed::HashMap, kubeconfig::Kubeconfig, lock::lock};

/// A file's text, as a digest, and what it says.
struct Read {
    text: [u8; 32],
    kubeconfig: Arc<Kubeconfig>,
}

/// The files of one source.
#[derive(Default)]
pub(super) struct Parsed(Mutex<HashMap<PathBuf, Read>>);

impl Parsed {
    /// What a file with this text says; `parse` finds it out where that is news. One that names other files is parsed each
    /// time, for those may have changed.
    pub(super) fn take(
        &self,
        path: &Path,
        text: Vec<u8>,
        parse: impl FnOnce(Vec<u8>) -> Result<Kubeconfig, String>,
    ) -> Result<Arc<Kubeconfig>, String> {
        let digest: [u8; 32] = Sha256::digest(&text).into();
        if let Some(read) = lock(&self.0).get(path).filter(|read| read.text == digest) {
            return Ok(Arc::clone(&read.kubeconfig));
        }
        let kubeconfig = Arc::new(parse(text)?);
        if kubeconfig.files().next().is_none() {
            let read = Read { text: digest, kubeconfig: Arc::clone(&kubeconfig) };
            lock(&self.0).insert(path.to_owned(), read);
        }
        Ok(kubeconfig)
    }

    /// Files that are not there any more are forgotten.
    pub(super) fn retain(&self, is_there: impl Fn(&Path) -> bool) {
        lock(&self.0).retain(|path, _| is_there(path));
    }
}
