//! The files of `config/crd/` and of `config/crd-graphs/`.

use std::collections::BTreeMap;

use broker_api::crds::FilesError;

/// All files by their path in `config/`.
pub fn files() -> Result<BTreeMap<String, String>, FilesError> {
    let folders = [("crd", broker_api::crds::files()?), ("crd-graphs", broker_api::graphs::crds::files()?)];
    let files = folders
        .into_iter()
        .flat_map(|(folder, files)| files.into_iter().map(move |(name, text)| (format!("{folder}/{name}"), text)));
    Ok(files.collect())
}
