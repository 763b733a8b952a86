//! Where things are.

use std::{
    env,
    path::{Path, PathBuf},
};

/// The crate's own folder.
fn own() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The list.
pub(crate) fn mutations() -> PathBuf {
    own().join("mutations.yaml")
}

/// The workspace's own folder.
pub(crate) fn workspace() -> PathBuf {
    own().ancestors().nth(2).unwrap_or_else(own).to_owned()
}

/// Where all is built.
pub(crate) fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace().join("target"), PathBuf::from)
}

/// The copy that is broken.
pub(crate) fn tree() -> PathBuf {
    target().join("mutants/tree")
}
