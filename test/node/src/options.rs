//! What `run.sh` says.

use std::{env, path::PathBuf};

use clap::Parser;

/// Runs the whole on real nodes. Started by test/node/run.sh.
#[derive(Debug, Parser)]
pub(crate) struct Options {
    /// Where kubeconfigs, logs and data live. Must not exist; removed at the end.
    #[arg(long)]
    pub(crate) directory: PathBuf,
    /// Folder with the images, as archives.
    #[arg(long)]
    pub(crate) images: PathBuf,
    /// Folder with the CNI plugins.
    #[arg(long)]
    pub(crate) plugins: PathBuf,
}

impl Options {
    /// Reads them.
    ///
    /// # Errors
    /// When this is not the machine of its own that `enter.sh` makes: a kubelet changes the one that it runs on.
    pub(crate) fn read() -> anyhow::Result<Self> {
        let options = Self::parse();
        let entered = std::os::unix::process::parent_id() == 1 && PathBuf::from(crate::node::STATE).is_dir();
        anyhow::ensure!(entered, "start test/node/run.sh: {} alone would take over this machine", name());
        Ok(options)
    }
}

fn name() -> String {
    env::args().next().unwrap_or_default()
}
