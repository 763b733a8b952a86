//! `Chance`: what a plan draws. The same for the same seed and purpose.

/// Draws numbers: SplitMix64.
#[derive(Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn of(seed: u64, purpose: &str) -> Self {
        // What it is for is mixed in, so that no two purposes draw the same.
        let mixed = purpose.bytes().fold(seed, |mixed, byte| (mixed ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        let mut chance = Self(mixed);
        chance.number();
        chance
    }

    fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Less than `limit`.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.number() % limit
    }

    pub(crate) fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[usize::try_from(self.below(all.len() as u64)).unwrap()]
    }
}
