//! `Choices`: what a story decides by.

/// A list of choices; when it is used up, the first of all that there is.
pub(super) struct Choices(pub(super) std::vec::IntoIter<u16>);

impl Choices {
    /// One of so many.
    pub(super) fn below(&mut self, many: usize) -> usize {
        usize::from(self.0.next().unwrap_or_default()) % many.max(1)
    }

    pub(super) fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}
