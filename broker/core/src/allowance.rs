//! `Allowance`: what judging one object may cost one provider, over all its AcceptAPIs.
//!
//! Counted, never timed: whoever judges the same object by the same AcceptAPIs, in the same order, comes to the same
//! end on every machine.

/// Bytes of compiled patterns × bytes of text. The worst patterns take a nanosecond for some four of them: 16 ms in all.
const MATCHING: u64 = 1 << 26;

/// Steps of expressions, as [`runtime_cel::expression::Limits::steps`] counts them: twice what one may take.
const STEPS: u64 = 40_000;

/// What is left for a provider's say on one object.
#[derive(Debug, Clone)]
pub struct Allowance {
    matching: u64,
    /// Steps that expressions may take.
    pub(crate) steps: u64,
}

impl Default for Allowance {
    fn default() -> Self {
        Self { matching: MATCHING, steps: STEPS }
    }
}

impl Allowance {
    /// Takes the cost of trying a pattern; false, and nothing is taken, when there is not as much left.
    pub(crate) fn take_matching(&mut self, cost: u64) -> bool {
        let left = self.matching.checked_sub(cost);
        self.matching = left.unwrap_or(self.matching);
        left.is_some()
    }
}
