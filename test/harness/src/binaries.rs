//! Where the programs are that a lab runs.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

/// Path of `etcd`, `kube-apiserver`, `kube-controller-manager` or `kubectl`: in `$KUBEBUILDER_ASSETS` if it is there,
/// else where `test/controlplane/build.sh` puts it.
pub(crate) fn control_plane(name: &str) -> anyhow::Result<PathBuf> {
    let assets = env::var_os("KUBEBUILDER_ASSETS").map(PathBuf::from);
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("controlplane").join("bin");
    assets
        .into_iter()
        .chain([built])
        .map(|directory| directory.join(name))
        .find(|path| path.is_file())
        .with_context(|| {
            format!("{name} is missing: run test/controlplane/build.sh, or set KUBEBUILDER_ASSETS to a directory that has it")
        })
}

/// Path of the `kubectl` that goes with the API servers.
///
/// # Errors
/// When it was not built; says how.
pub fn kubectl_binary() -> anyhow::Result<PathBuf> {
    control_plane("kubectl")
}

/// Path of `kube-scheduler` or `kubelet`, as `kubectl`; they are built by `test/controlplane/build.sh node`.
///
/// # Errors
/// When it was not built.
pub fn node_binary(name: &str) -> anyhow::Result<PathBuf> {
    control_plane(name).context("build them with `test/controlplane/build.sh node`")
}

/// Path of the broker that cargo built with the same profile as this program, or `$RESOURCE_BROKER_BIN`.
///
/// # Errors
/// When it is not there; names the cargo command that builds it.
pub fn broker_binary() -> anyhow::Result<PathBuf> {
    binary("resource-broker")
}

/// Path of the workspace's binary `name`, built with the same profile as this program. A variable overrides it: the
/// name in capitals, `-` as `_`, with `_BIN` (`resource-broker` → `RESOURCE_BROKER_BIN`).
///
/// Cargo does not build other packages' binaries before it runs a package's tests: whoever runs them builds first.
///
/// # Errors
/// When it is not there; names the cargo command that builds it.
pub fn binary(name: &str) -> anyhow::Result<PathBuf> {
    let variable = format!("{}_BIN", name.to_uppercase().replace('-', "_"));
    if let Some(path) = env::var_os(&variable).map(PathBuf::from) {
        anyhow::ensure!(path.is_file(), "{variable} is {}, which is no file", path.display());
        return Ok(path);
    }
    let this = env::current_exe().context("cannot tell where this program is")?;
    let profile = profile_directory(&this).context("this program has no directory")?;
    let path = profile.join(name);
    anyhow::ensure!(
        path.is_file(),
        "{} is missing: build it with `cargo build{} --bin {name}`, or set {variable}",
        path.display(),
        if profile.ends_with("release") { " --release" } else { "" },
    );
    Ok(path)
}

/// `target/debug` for `target/debug/demo` as for `target/debug/deps/flow-1a2b` and `target/debug/examples/x`.
fn profile_directory(executable: &Path) -> Option<&Path> {
    let directory = executable.parent()?;
    if directory.ends_with("deps") || directory.ends_with("examples") { directory.parent() } else { Some(directory) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used)]

    use super::*;

    #[test]
    fn the_profile_directory_is_found_from_tests_and_binaries() {
        for executable in ["t/debug/demo", "t/debug/deps/flow-1a2b", "t/debug/examples/x"] {
            assert_eq!(profile_directory(Path::new(executable)), Some(Path::new("t/debug")));
        }
    }

    #[test]
    fn a_missing_binary_says_how_to_build_it() {
        let error = binary("no-such-program").expect_err("nobody builds it");
        assert!(error.to_string().contains("--bin no-such-program"), "{error}");
    }
}
