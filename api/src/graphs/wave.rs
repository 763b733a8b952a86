//! How it stands with the waves of a rollout, for whoever shows it.

/// How it stands with a wave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaveState {
    /// Nothing is told of that.
    Untold,
    /// It is done.
    Done,
    /// It is its turn.
    Now,
    /// Its turn is to come.
    ToCome,
}

impl WaveState {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Untold => "Not told",
            Self::Done => "Done",
            Self::Now => "Now",
            Self::ToCome => "To come",
        }
    }

    /// That of each wave by its name, in the order of the spec; the last is of all clusters that are in none, and its name is
    /// empty. `turn` is [`super::ResourceGraphRolloutStatus::wave`], and `has_target` says whether the status has a
    /// [`super::ResourceGraphRolloutStatus::target_revision`]: before the first revision it is no wave's turn, either.
    pub fn of_each(names: &[String], turn: Option<&str>, has_target: bool) -> Vec<Self> {
        let turn = turn.map(|turn| names.iter().position(|name| name == turn));
        let stands = |at: usize| match turn {
            None if !has_target => Self::ToCome,
            None => Self::Done,
            Some(None) => Self::Untold,
            Some(Some(now)) if at < now => Self::Done,
            Some(Some(now)) if at == now => Self::Now,
            Some(Some(_)) => Self::ToCome,
        };
        (0..names.len()).map(stands).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waves_are_done_up_to_the_one_whose_turn_it_is() {
        use WaveState::{Done, Now, ToCome, Untold};
        let names = ["canary", "rest", ""].map(str::to_owned);
        let of = |turn, has_target| WaveState::of_each(&names, turn, has_target);
        assert_eq!(of(Some("canary"), true), [Now, ToCome, ToCome]);
        assert_eq!(of(Some("rest"), true), [Done, Now, ToCome]);
        assert_eq!(of(Some(""), true), [Done, Done, Now], "clusters that are in no wave");
        assert_eq!(of(None, true), [Done; 3]);
        assert_eq!(of(None, false), [ToCome; 3]);
        assert_eq!(of(Some("of before"), true), [Untold; 3]);
    }
}
