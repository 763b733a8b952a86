//! The folder `config/`: what is generated there, and in `docs/kinds/` beside it, is written, or compared with what it should
//! be.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
};

use crate::{crds, kinds, rbac};

/// First line of every generated file; files that begin otherwise are not touched.
const GENERATED: [&str; 3] = [broker_api::crds::HEADER, rbac::HEADER, kinds::HEADER];

/// Why a folder cannot be written or compared.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// A file or folder cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Read {
        /// Its path.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// A file cannot be written or removed.
    #[error("cannot write {}: {error}", path.display())]
    Write {
        /// Its path.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// The CRDs cannot be made.
    #[error(transparent)]
    Crds(#[from] broker_api::crds::FilesError),
}

/// All generated files by their path, seen from `config/`.
pub fn wanted() -> Result<BTreeMap<String, String>, FolderError> {
    let mut files = crds::files()?;
    files.extend(rbac::files());
    files.extend(kinds::files()?);
    Ok(files)
}

/// Paths of the files in `folder` that differ from what is [`wanted`], or that were generated once and are no longer.
pub fn differences(folder: &Path) -> Result<Vec<String>, FolderError> {
    let wanted = wanted()?;
    let mut differences = Vec::new();
    for (path, text) in &wanted {
        if read(&folder.join(path))?.as_ref() != Some(text) {
            differences.push(path.clone());
        }
    }
    differences.extend(stale(folder, &wanted)?);
    Ok(differences)
}

/// Writes what differs, removes what is no longer generated, and returns the paths.
pub fn write(folder: &Path) -> Result<Vec<String>, FolderError> {
    let wanted = wanted()?;
    let differences = differences(folder)?;
    for name in &differences {
        let path = folder.join(name);
        let done = match wanted.get(name) {
            Some(text) => path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, text)),
            None => fs::remove_file(&path),
        };
        done.map_err(|error| FolderError::Write { path, error })?;
    }
    Ok(differences)
}

/// Files beside wanted ones that begin like generated ones, and are not wanted.
fn stale(folder: &Path, wanted: &BTreeMap<String, String>) -> Result<Vec<String>, FolderError> {
    let parts: BTreeSet<&str> = wanted.keys().filter_map(|path| Some(path.rsplit_once('/')?.0)).collect();
    let mut stale = Vec::new();
    for part in parts {
        let path = folder.join(part);
        let entries = match fs::read_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            other => other.map_err(|error| FolderError::Read { path: path.clone(), error })?,
        };
        for entry in entries {
            let entry = entry.map_err(|error| FolderError::Read { path: path.clone(), error })?;
            let name = format!("{part}/{}", entry.file_name().to_string_lossy());
            let is_text = Path::new(&name).extension().is_some_and(|it| it == "yaml" || it == "md");
            let ours = is_text && read(&entry.path())?.is_some_and(|text| is_generated(&text));
            if ours && !wanted.contains_key(&name) {
                stale.push(name);
            }
        }
    }
    stale.sort();
    Ok(stale)
}

fn is_generated(text: &str) -> bool {
    GENERATED.iter().any(|header| text.starts_with(header))
}

fn read(path: &Path) -> Result<Option<String>, FolderError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(FolderError::Read { path: path.to_owned(), error }),
    }
}
