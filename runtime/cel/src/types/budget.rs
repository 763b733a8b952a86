//! `Budget`: how much of types one question may look at.

/// Parts of types that one question may look at. A kind's whole schema has some thousands.
const PARTS: u32 = 500_000;

/// How deep within each other.
const DEPTH: u32 = 200;

/// Types are too large, or too deep, to be compared: the question ends without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Overrun;

/// How much one question may still look at.
#[derive(Debug)]
pub(super) struct Budget(u32);

impl Budget {
    /// For so many parts.
    pub(super) fn of(parts: u32) -> Self {
        Self(parts)
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self(PARTS)
    }
}

impl Budget {
    /// Before a part of a type is looked at, this deep within it.
    pub(super) fn look(&mut self, depth: u32) -> Result<(), Overrun> {
        if depth > DEPTH {
            return Err(Overrun);
        }
        self.0 = self.0.checked_sub(1).ok_or(Overrun)?;
        Ok(())
    }
}
