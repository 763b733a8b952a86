//! `Plan`: what goes wrong in a world of graphs. All of it follows from a seed.

use std::collections::BTreeSet;

use sim::{Outage, Weather};

use crate::{
    chance::Chance,
    plan::{HEEDED, OWN},
};

/// See the module.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) weather: Weather,
    /// After how many of its writes each process crashes; those of the first of them.
    pub(crate) crashes: Vec<u64>,
    /// So many seconds the clocks of every other process are wrong.
    pub(crate) skew: i64,
    /// Each process writes to one API server only one thing at a time.
    pub(crate) narrow: bool,
    /// How it is noticed of a cluster that it is lost.
    pub(crate) outage: Outage,
    /// What befalls some scenes.
    blows: Vec<Blow>,
    /// What was taken out of it, to see whether it matters.
    pub(crate) without: BTreeSet<String>,
}

/// Something sudden in a scene: that of this number, where they are counted round and round.
#[derive(Debug, Clone, Copy)]
struct Blow {
    scene: usize,
    what: What,
}

/// What happens suddenly.
#[derive(Debug, Clone, Copy)]
pub(crate) enum What {
    /// The process that has written most is stopped for so many seconds.
    Freeze(u64),
    /// All API servers forget what has happened.
    Compact,
}

impl Plan {
    pub(crate) fn calm() -> Self {
        Self {
            weather: Weather::CALM,
            crashes: Vec::new(),
            skew: 0,
            narrow: false,
            outage: Outage::Refused,
            blows: Vec::new(),
            without: BTreeSet::new(),
        }
    }

    pub(crate) fn crash(after: u64) -> Self {
        Self { crashes: vec![after], ..Self::calm() }
    }

    /// As bad as a seed says, and nothing sudden.
    pub(crate) fn windy(seed: u64) -> Self {
        Self::stormy(seed).leaving_out(["astray", "skew", "silence", "blow0", "blow1", "blow2"])
    }

    /// As bad as a seed says.
    pub(crate) fn stormy(seed: u64) -> Self {
        let of = |salt: u64| seed.wrapping_add(salt).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let share = |salt| [0, 10, 50, 200][usize::try_from(of(salt) % 4).unwrap()];
        let weather = Weather {
            lost: share(1),
            unanswered: share(2),
            refused: share(3),
            conflicts: share(4),
            late: share(5),
            cut: share(6) * 4,
            stale: share(7) * 2,
            apart: seed >= OWN,
            fine: seed >= HEEDED,
            ..Weather::CALM
        };
        let crashes = (0..of(8) % 4).map(|crash| 1 + of(9 + crash) % 20).collect();
        let mut plan = Self { weather, crashes, ..Self::calm() };
        let mut chance = Chance::of(seed, "storm");
        plan.weather.astray = chance.one_of(&[0, 0, 2, 12, 50]);
        plan.skew = chance.one_of(&[0, 0, 0, 0, 3600, -3600]);
        plan.outage = chance.one_of(&[Outage::Refused, Outage::Silent]);
        for _ in 0..chance.below(4) {
            let what = if chance.below(2) == 0 { What::Freeze(10 + chance.below(60)) } else { What::Compact };
            plan.blows.push(Blow { scene: usize::try_from(chance.below(16)).unwrap(), what });
        }
        plan.narrow = chance.below(4) == 0;
        plan
    }

    /// After how many writes a process crashes, where nothing else goes wrong.
    pub(crate) fn crash_alone(&self) -> Option<u64> {
        match &*self.crashes {
            [after] if self.weather == Weather::CALM && self.skew == 0 && self.blows.is_empty() => Some(*after),
            _ => None,
        }
    }

    /// What befalls a scene, of so many.
    pub(crate) fn befalls(&self, scene: usize, of: usize) -> impl Iterator<Item = What> {
        let blows = self.blows.iter().enumerate().filter(|(at, _)| !self.without.contains(&format!("blow{at}")));
        blows.filter(move |(_, blow)| blow.scene % of == scene).map(|(_, blow)| blow.what)
    }

    /// What can be taken out of it, each by its name.
    pub(crate) fn parts(&self) -> Vec<String> {
        let faults = self.weather.faults().map(|(name, _)| name.to_owned());
        let skew = (self.skew != 0).then(|| "skew".to_owned());
        let silence = (self.outage == Outage::Silent).then(|| "silence".to_owned());
        let narrow = self.narrow.then(|| "narrow".to_owned());
        let crashes = (!self.crashes.is_empty()).then(|| "crashes".to_owned());
        let blows = (0..self.blows.len()).map(|at| format!("blow{at}"));
        let all = faults.chain(skew).chain(narrow).chain(silence).chain(crashes).chain(blows);
        all.filter(|part| !self.without.contains(part)).collect()
    }

    /// Without some of its [`parts`](Self::parts).
    pub(crate) fn leaving_out<'a>(&self, parts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut plan = self.clone();
        plan.without.extend(parts.into_iter().map(str::to_owned));
        let is_out = |part: &str| plan.without.contains(part);
        plan.weather.calm_down(is_out);
        plan.narrow &= !is_out("narrow");
        if is_out("skew") {
            plan.skew = 0;
        }
        if is_out("silence") {
            plan.outage = Outage::Refused;
        }
        if is_out("crashes") {
            plan.crashes.clear();
        }
        plan
    }
}
