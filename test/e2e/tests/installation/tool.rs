//! The programs that people install with.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The checkout.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The lab's kubectl.
pub(crate) fn kubectl() -> PathBuf {
    harness::kubectl_binary().unwrap()
}

/// The helm of `test/helm/build.sh`, or `$HELM`.
pub(crate) fn helm() -> PathBuf {
    if let Some(helm) = env::var_os("HELM") {
        return helm.into();
    }
    let helm = root().join("test/helm/bin/helm");
    assert!(helm.is_file(), "helm is missing: run test/helm/build.sh, or set HELM to a helm");
    helm
}

/// What a program prints, in the checkout. Panics with what it complained about when it fails.
pub(crate) fn output(program: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> String {
    attempt(program, arguments, environment).unwrap_or_else(|complaint| panic!("{complaint}"))
}

/// What a program prints, or what it complained about.
pub(crate) fn attempt(program: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Result<String, String> {
    let command = || format!("{} {}", program.display(), arguments.join(" "));
    let done = Command::new(program)
        .args(arguments)
        .envs(environment.iter().copied())
        .current_dir(root())
        .output()
        .unwrap_or_else(|error| panic!("cannot start {}: {error}", command()));
    let printed = String::from_utf8(done.stdout).unwrap();
    if done.status.success() {
        Ok(printed)
    } else {
        Err(format!("{}: {}\n{printed}{}", command(), done.status, String::from_utf8_lossy(&done.stderr)))
    }
}
