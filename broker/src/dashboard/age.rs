//! `Age`: how long something has been so, as people say it. It does not change from one second to the next.

use std::{fmt, time::Duration};

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Age(pub(super) Duration);

impl Age {
    /// Of so many milliseconds.
    pub(super) fn of_millis(millis: u64) -> Self {
        Self(Duration::from_millis(millis))
    }
}

impl fmt::Display for Age {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let minutes = self.0.as_secs() / 60;
        match minutes {
            0 => f.write_str("less than a minute"),
            1..120 => write!(f, "{minutes} min"),
            120..2880 => write!(f, "{} h", minutes / 60),
            _ => write!(f, "{} days", minutes / 1440),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_people_say_it() {
        let told = |seconds| Age(Duration::from_secs(seconds)).to_string();
        assert_eq!((told(59), told(60), told(7199)), ("less than a minute".into(), "1 min".into(), "119 min".into()));
        assert_eq!((told(7200), told(172_799), told(172_800)), ("2 h".into(), "47 h".into(), "2 days".into()));
        assert_eq!(Age::of_millis(61_000).to_string(), "1 min");
    }
}
