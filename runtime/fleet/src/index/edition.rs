//! What an index holds is shown as an edition of its kind's CRD has it.

use tokio::time::Instant;

use super::Index;

impl Index {
    /// What the kind's objects look like has changed: what is at the version that is held may be shown in another way, until it
    /// is listed again.
    pub(crate) fn mark_redefined(&self) {
        let mut state = self.write();
        (state.redefined, state.edition_since) = (true, Some(Instant::now()));
    }

    /// What was read of its objects before this need not be what they look like now, although their version is the same.
    pub fn edition_since(&self) -> Option<Instant> {
        self.read().edition_since
    }
}
