//! `Rounds`: one fault after the other is put in, found, mended, and found no more.

use crate::{diagnosis::Symptom, installation::Installation};

/// The rounds, and what was told in each.
pub(crate) struct Rounds<'a> {
    /// Where.
    pub(crate) at: &'a Installation,
    told: Vec<String>,
}

impl<'a> Rounds<'a> {
    /// In an installation in which nothing is wrong.
    pub(crate) fn new(at: &'a Installation) -> Self {
        Self { at, told: Vec::new() }
    }

    /// One fault, by what it is found.
    pub(crate) async fn fault(
        &mut self,
        what: &str,
        symptoms: &[Symptom<'_>],
        put_in: impl AsyncFnOnce(),
        mend: impl AsyncFnOnce(),
    ) {
        Box::pin(put_in()).await;
        self.at.until_found(what, symptoms).await;
        let said = self.at.command(&["doctor"]).await;
        let mut told = format!("# {what}\n");
        for symptom in symptoms {
            let paragraph = symptom.told(&said.out);
            told += &paragraph.unwrap_or_else(|| panic!("{what}: {symptom:?} is not told:\n{}", said.shown()));
        }
        self.told.push(told);
        Box::pin(mend()).await;
        self.at.until_sound(&format!("mended: {what}")).await;
    }

    /// How many faults there were.
    pub(crate) fn count(&self) -> usize {
        self.told.len()
    }

    /// What was told of all of them.
    pub(crate) fn told(&self) -> String {
        self.told.join("\n")
    }
}
