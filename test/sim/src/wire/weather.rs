//! `Weather`: how much goes wrong on the way to API servers.

use std::time::Duration;

/// How many of a thousand requests meet with what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Weather {
    /// It never arrives, and whoever sent it is told that the connection is lost.
    pub lost: u64,
    /// It arrives; the answer does not. Every other time nobody is told, either.
    pub unanswered: u64,
    /// It is refused, for the server is busy or broken.
    pub refused: u64,
    /// A write is refused: somebody else was faster.
    pub conflicts: u64,
    /// It takes up to three seconds, half of them before it arrives.
    pub late: u64,
    /// A watch's answer ends after a few events; every other time in the middle of a line.
    pub cut: u64,
    /// A write arrives only after minutes, whatever becomes of whoever sent it.
    pub astray: u64,
    /// An event of a watch is held up for some seconds, and with it those that follow.
    pub stale: u64,
    /// Which of them is chance of each watch's own; else it is those of the same number of all watches.
    pub apart: bool,
    /// Others have their turn before a request arrives, and lists come two objects at a time, of which some are of what is forgotten by
    /// then.
    pub fine: bool,
    /// Each write takes so long until it is done. One that is given up before is not.
    pub slow: Duration,
}

impl Weather {
    /// Nothing goes wrong.
    pub const CALM: Self = Self {
        lost: 0,
        unanswered: 0,
        refused: 0,
        conflicts: 0,
        late: 0,
        cut: 0,
        astray: 0,
        stale: 0,
        apart: false,
        fine: false,
        slow: Duration::ZERO,
    };

    /// How much goes wrong in which way, of a thousand, each by its name; what does not is left out.
    pub fn faults(mut self) -> impl Iterator<Item = (&'static str, u64)> {
        self.shares().map(|(name, share)| (name, *share)).into_iter().filter(|(_, share)| *share > 0)
    }

    /// Nothing goes wrong any more in these ways.
    pub fn calm_down(&mut self, is_out: impl Fn(&str) -> bool) {
        for (_, share) in self.shares().into_iter().filter(|(name, _)| is_out(name)) {
            *share = 0;
        }
    }

    fn shares(&mut self) -> [(&'static str, &mut u64); 8] {
        let Self { lost, unanswered, refused, conflicts, late, cut, astray, stale, apart: _, fine: _, slow: _ } = self;
        [
            ("lost", lost),
            ("unanswered", unanswered),
            ("refused", refused),
            ("conflicts", conflicts),
            ("late", late),
            ("cut", cut),
            ("astray", astray),
            ("stale", stale),
        ]
    }
}
