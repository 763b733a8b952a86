//! The copy of the template: what a person has in hand.

use std::path::PathBuf;

use anyhow::Context as _;
use example_stage::{Place, Stage};

const TEMPLATE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/template");

/// A folder with all that a provider needs.
pub(crate) struct Copied {
    folder: PathBuf,
}

impl Copied {
    /// Makes it, among what is removed at the end.
    pub(crate) async fn make(stage: &Stage) -> anyhow::Result<Self> {
        let folder = stage.lab.directory().join("my-provider");
        let copied = tokio::process::Command::new("cp").arg("-r").arg(TEMPLATE).arg(&folder).status().await?;
        anyhow::ensure!(copied.success(), "cp -r {TEMPLATE} {}: {copied}", folder.display());
        Ok(Self { folder })
    }

    /// Path of one of its files, as a person would type it.
    pub(crate) fn path(&self, file: &str) -> String {
        self.folder.join(file).display().to_string()
    }

    /// Content of one of its files.
    pub(crate) fn read(&self, file: &str) -> anyhow::Result<String> {
        let path = self.path(file);
        std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))
    }

    /// `kubectl apply -f` of one of its files.
    pub(crate) async fn apply(&self, place: &Place, file: &str) -> anyhow::Result<()> {
        place.apply(&self.read(file)?).await
    }
}
