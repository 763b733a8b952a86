//! Start-up check of the files and directories that the flags name.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use broker_api::{ClusterName, Role};

use super::{directory, listing::cluster_of};

/// A path named by a flag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// Role of the clusters found there.
    pub role: Role,
    /// The path, as it was given.
    pub path: PathBuf,
    /// A directory of kubeconfigs rather than one kubeconfig.
    pub directory: bool,
}

/// Checks every path that was given, and that no two of them give one cluster name; the answer on success is warnings.
/// Two files of one name inside a single directory are no error here: the directory's content comes and goes, so the
/// second is rejected while running, see [`super::Claims`]. What the kubeconfigs say is not looked at: one broken file
/// must not keep the process from starting for all others. Blocks.
pub fn check_files(given: &[Given]) -> Result<Vec<String>, Vec<String>> {
    let mut warnings = Vec::new();
    let mut errors = Vec::new();
    let mut names: BTreeMap<ClusterName, (usize, PathBuf)> = BTreeMap::new();
    for (flag, one) in given.iter().enumerate() {
        let paths = match paths_of(one) {
            Ok(paths) => paths,
            Err(error) => {
                errors.push(error);
                continue;
            }
        };
        if paths.is_empty() {
            let expected = "*.kubeconfig, *.kubeconfig.yaml, kubeconfig.yaml or kubeconfig";
            warnings.push(format!("{} has no {expected} yet: waiting for some", one.path.display()));
        }
        for path in paths {
            let Some(name) = cluster_of(one.role, &path) else {
                let shown = path.display();
                errors.push(format!("{shown} gives no cluster name: rename it to <cluster>.kubeconfig"));
                continue;
            };
            match names.get(&name) {
                Some((other, first)) if *other != flag => errors.push(format!(
                    "{} and {} both give the cluster {name}: rename one of them",
                    first.display(),
                    path.display()
                )),
                Some(_) => {}
                None => {
                    names.insert(name, (flag, path));
                }
            }
        }
    }
    if errors.is_empty() { Ok(warnings) } else { Err(errors) }
}

fn paths_of(one: &Given) -> Result<Vec<PathBuf>, String> {
    let unreadable = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    if one.directory {
        return directory::kubeconfigs(&one.path).map_err(|error| unreadable(&one.path, error));
    }
    let metadata = std::fs::metadata(&one.path).map_err(|error| unreadable(&one.path, error))?;
    if metadata.is_dir() {
        let flag = format!("--{}-kubeconfig-dir", one.role);
        return Err(format!("{} is a directory: name it with {flag}", one.path.display()));
    }
    std::fs::File::open(&one.path).map_err(|error| unreadable(&one.path, error))?;
    Ok(vec![one.path.clone()])
}
