//! The files of `config/crd/`.

use std::collections::BTreeMap;

use broker_api::crds::FilesError;

/// All files by their path in `config/`.
pub fn files() -> Result<BTreeMap<String, String>, FilesError> {
    let files = broker_api::crds::files()?;
    Ok(files.into_iter().map(|(name, text)| (format!("crd/{name}"), text)).collect())
}
