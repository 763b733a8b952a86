//! `Uids`: what no two objects have in common; the same for the same seed.

/// Hands out uids, and what else is to look random.
#[derive(Debug, Clone)]
pub(crate) struct Uids(u64);

impl Uids {
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    /// Any number: SplitMix64.
    pub(crate) fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// In the form of a UUID, version 4.
    pub(crate) fn uid(&mut self) -> String {
        let (high, low) = (self.number(), self.number());
        let variant = 0x8000 | ((low >> 48) & 0x3fff);
        format!(
            "{:08x}-{:04x}-4{:03x}-{variant:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xfff,
            low & 0xffff_ffff_ffff
        )
    }

    /// What is appended to `generateName`.
    pub(crate) fn suffix(&mut self) -> String {
        const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
        let mut random = self.number();
        let letter = |_| {
            let count = LETTERS.len() as u64;
            let at = usize::try_from(random % count).unwrap_or_default();
            random /= count;
            char::from(LETTERS[at])
        };
        (0..5).map(letter).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_uids_and_no_uid_comes_twice() {
        let many = |seed| {
            let mut uids = Uids::seeded(seed);
            (0..1000).map(|_| uids.uid()).collect::<Vec<_>>()
        };
        assert_eq!(many(7), many(7));
        assert_ne!(many(7), many(8));
        let all: std::collections::BTreeSet<_> = many(7).into_iter().collect();
        assert_eq!(all.len(), 1000);
        assert!(all.iter().all(|uid| uid.len() == 36 && uid.as_bytes()[14] == b'4'));
    }
}
