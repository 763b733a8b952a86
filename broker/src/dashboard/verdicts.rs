//! `Verdicts`: what was found of tokens, for a while.

use std::time::Duration;

use runtime_fleet::hashed::HashMap;
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use super::refusal::Refusal;

/// How long one counts: rights that were taken away, or given, take effect after so long.
const GOOD_FOR: Duration = Duration::from_secs(30);

/// How many are held.
const MOST: usize = 1000;

/// What was found of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Its owner may see the page.
    Granted,
    /// This user may not.
    Denied(Box<str>),
    /// It is nobody's.
    Nobody,
}

impl Verdict {
    /// What comes of it.
    pub(super) fn result(self) -> Result<(), Refusal> {
        match self {
            Self::Granted => Ok(()),
            Self::Denied(user) => Err(Refusal::Forbidden(user)),
            Self::Nobody => {
                Err(Refusal::Unknown("the coordination cluster does not know this token, or it has expired"))
            }
        }
    }
}

/// What stands for a token: nobody who sees the memory of this process finds one there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// Of a token.
    pub(super) fn of(token: &str) -> Self {
        Self(Sha256::digest(token.as_bytes()).into())
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Verdicts(HashMap<Fingerprint, (Verdict, Instant)>);

impl Verdicts {
    /// What was found of a token, as far as it still counts at `now`.
    pub(super) fn get(&self, token: Fingerprint, now: Instant) -> Option<Verdict> {
        let (verdict, found) = self.0.get(&token)?;
        (now.saturating_duration_since(*found) < GOOD_FOR).then(|| verdict.clone())
    }

    /// Keeps what was found. Where there is no room, what does not count any more goes first, then the oldest refusal: who
    /// sends one word after the other displaces nobody who may see the page.
    pub(super) fn put(&mut self, token: Fingerprint, verdict: Verdict, now: Instant) {
        if self.0.len() >= MOST && !self.0.contains_key(&token) {
            self.0.retain(|_, (_, found)| now.saturating_duration_since(*found) < GOOD_FOR);
        }
        if self.0.len() >= MOST && !self.0.contains_key(&token) {
            let first = self.0.iter().min_by_key(|(_, (verdict, found))| (*verdict == Verdict::Granted, *found));
            if let Some(first) = first.map(|(token, _)| *token) {
                self.0.remove(&first);
            }
        }
        self.0.insert(token, (verdict, now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_counts_for_half_a_minute() {
        let mut verdicts = Verdicts::default();
        let (one, other) = (Fingerprint::of("one"), Fingerprint::of("other"));
        let now = Instant::now();
        verdicts.put(one, Verdict::Granted, now);
        assert_eq!(verdicts.get(one, now + GOOD_FOR / 2), Some(Verdict::Granted));
        assert_eq!((verdicts.get(one, now + GOOD_FOR), verdicts.get(other, now)), (None, None));
    }

    #[tokio::test(start_paused = true)]
    async fn there_are_no_more_than_so_many_and_refusals_go_first() {
        let mut verdicts = Verdicts::default();
        let person = Fingerprint::of("person");
        let now = Instant::now();
        verdicts.put(person, Verdict::Granted, now);
        for number in 0..3 * MOST {
            verdicts.put(Fingerprint::of(&number.to_string()), Verdict::Nobody, now + GOOD_FOR / 3);
            assert!(verdicts.0.len() <= MOST);
        }
        assert_eq!(verdicts.get(person, now + GOOD_FOR / 3), Some(Verdict::Granted));
        verdicts.put(Fingerprint::of("late"), Verdict::Nobody, now + 2 * GOOD_FOR);
        assert_eq!(verdicts.0.len(), 1, "the others do not count any more");
    }

    #[test]
    fn tokens_are_not_held() {
        assert_eq!(Fingerprint::of("sesame"), Fingerprint::of("sesame"));
        assert_ne!(Fingerprint::of("sesame"), Fingerprint::of("sesam"));
        assert!(!format!("{:?}", Fingerprint::of("sesame")).contains("sesame"));
    }
}
