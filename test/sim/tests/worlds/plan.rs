//! `Plan`: who is in a world, what they do, and what goes wrong. All of it follows from a seed.

use std::{collections::BTreeSet, fmt, time::Duration};

use sim::Weather;

use crate::{
    act::{Act, Thing, draw, meddle},
    chance::Chance,
    mishap::befall,
    people::take_part,
    shrink::{Cut, Failure, without},
    story::tell,
};

/// So many different stories the seeds below [`OWN`] tell; what goes wrong in each is another matter.
const STORIES: u64 = 500;

/// Seeds from here on tell stories of their own, in which more may happen. Those below stay what they were when something was
/// found by them.
pub(crate) const OWN: u64 = 10_000_000;

/// So many of these that follow each other tell one story, each in weather of its own, and share what that is held against.
const ALIKE: u64 = 10;

/// From this seed on the kind of a consumer may vanish.
pub(crate) const KINDS: u64 = 11_000_000;

/// From this seed on a provider's AcceptAPIs may vanish with their kind.
pub(crate) const ACCEPTANCES: u64 = 12_000_000;

/// From this seed on a consumer may leave, people force deletions, weather is [fine](Weather::fine), and policies have to be
/// heeded before everything is put in order.
pub(crate) const HEEDED: u64 = 13_000_000;

/// From this seed on people have a say in Migrations, and write some. `make simulate` begins here.
pub(crate) const PEOPLE: u64 = 14_000_000;

/// What is done in a world, and what goes wrong.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) tenants: usize,
    pub(crate) providers: usize,
    /// What is done, and how long until the next.
    pub(crate) acts: Vec<(Act, Duration)>,
    pub(crate) weather: Weather,
    /// For each process after how many of its writes it crashes, and then the one that takes its place.
    pub(crate) crashes: Vec<Vec<u64>>,
    /// Brokers elect one of them, also where there is one only.
    pub(crate) elects: bool,
    /// So many seconds the clocks of every other process are wrong.
    pub(crate) skew: i64,
    /// Each process writes to one API server only one thing at a time.
    pub(crate) narrow: bool,
    /// What policies say has to be done before everything is put in order.
    pub(crate) heeds: bool,
    /// What was taken out of it, to see whether it matters.
    without: BTreeSet<String>,
}

impl Plan {
    /// One person asks for one thing, gets it, and gives it back.
    pub(crate) fn simple(seed: u64) -> Self {
        Self::of(seed, vec![(Act::Ask(Thing::FIRST), Duration::from_secs(5))])
    }

    /// These acts, in a world in which nothing goes wrong.
    pub(crate) fn of(seed: u64, acts: Vec<(Act, Duration)>) -> Self {
        Self {
            seed,
            tenants: if acts.iter().any(|(act, _)| act.concerns_second_tenant()) { 2 } else { 1 },
            providers: if acts.iter().any(|(act, _)| act.concerns_third_provider()) { 3 } else { 2 },
            acts,
            weather: Weather::CALM,
            crashes: vec![Vec::new()],
            elects: false,
            skew: 0,
            narrow: false,
            heeds: false,
            without: BTreeSet::new(),
        }
    }

    /// What a seed says.
    pub(crate) fn drawn(seed: u64) -> Self {
        let story = if seed < OWN { seed % STORIES } else { seed / ALIKE };
        let mut acts = draw(&mut Chance::of(story, "acts"));
        meddle(&mut acts, &mut Chance::of(story, "others"));
        if seed >= OWN {
            befall(&mut acts, &mut Chance::of(story, "mishaps"), seed);
        }
        if seed >= PEOPLE {
            take_part(&mut acts, &mut Chance::of(story, "people"));
        }
        let mut plan = Self::of(seed, acts);
        let mut chance = Chance::of(seed, "faults");
        let mut share = || chance.one_of(&[0, 0, 10, 50, 200]);
        let weather = Weather {
            lost: share(),
            unanswered: share(),
            refused: share(),
            conflicts: share(),
            late: share(),
            cut: share() * 4,
            astray: share() / 4,
            stale: share() * 2,
            apart: seed >= OWN,
            fine: seed >= HEEDED,
            slow: Duration::ZERO,
        };
        let processes = chance.one_of(&[1, 1, 1, 1, 1, 2, 2, 3]);
        let crashes = (0..processes).map(|_| (0..chance.below(4)).map(|_| 1 + chance.below(15)).collect()).collect();
        for _ in 0..if processes > 1 { chance.below(3) } else { 0 } {
            let at = usize::try_from(1 + chance.below(plan.acts.len() as u64)).unwrap();
            plan.acts.insert(at, (Act::Freeze(10 + chance.below(60)), Duration::from_secs(chance.below(40))));
        }
        let skew = chance.one_of(&[0, 0, 0, 0, 3600, -3600]);
        let narrow = chance.below(4) == 0;
        let heeds = seed >= HEEDED;
        Self { weather, crashes, elects: processes > 1, skew, narrow, heeds, ..plan }
    }

    /// The same story, and nothing goes wrong.
    pub(crate) fn calm(&self) -> Self {
        let mut calm = Self {
            weather: Weather::CALM,
            crashes: vec![Vec::new()],
            elects: false,
            skew: 0,
            narrow: false,
            ..self.clone()
        };
        calm.acts.retain(|(act, _)| !matches!(act, Act::Freeze(_)));
        calm
    }

    /// Whether nothing goes wrong.
    pub(crate) fn is_calm(&self) -> bool {
        let freezes = self.acts.iter().any(|(act, _)| matches!(act, Act::Freeze(_)));
        self.weather == Weather::CALM && self.crashes.iter().all(Vec::is_empty) && !freezes
    }

    /// With this weather.
    pub(crate) fn in_weather(self, weather: Weather) -> Self {
        Self { weather, ..self }
    }

    /// What policies say has to be done before everything is put in order.
    pub(crate) fn heeding(self) -> Self {
        Self { heeds: true, ..self }
    }

    /// With an election, of one process too.
    pub(crate) fn electing(self) -> Self {
        Self { elects: true, ..self }
    }

    /// The only process crashes after so many of its writes.
    pub(crate) fn crashing(self, after: u64) -> Self {
        Self { crashes: vec![vec![after]], ..self }
    }

    /// What the end of the calm story follows from.
    pub(crate) fn story(&self) -> String {
        format!("{:?}", self.calm().acts)
    }

    /// Without some of its [`parts`](Cut::parts).
    pub(crate) fn leaving_out<'a>(&self, parts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut plan = self.clone();
        plan.without.extend(parts.into_iter().map(str::to_owned));
        let is_out = |part: &str| plan.without.contains(part);
        // Where an act was there is none any more; the others keep their numbers, and time goes on as it did.
        for (at, (act, _)) in plan.acts.iter_mut().enumerate() {
            if is_out(&format!("act{at}")) {
                *act = Act::Nothing;
            }
        }
        plan.weather.calm_down(is_out);
        if is_out("skew") {
            plan.skew = 0;
        }
        plan.narrow &= !is_out("narrow");
        for (at, crashes) in plan.crashes.iter_mut().enumerate() {
            if is_out(&format!("crashes{at}")) {
                crashes.clear();
            }
        }
        // From the last on, so that the others keep their numbers.
        let processes = (1..plan.crashes.len()).find(|at| is_out(&format!("process{at}")));
        plan.crashes.truncate(processes.unwrap_or(usize::MAX));
        plan
    }
}

impl Cut for Plan {
    fn parts(&self) -> Vec<String> {
        let acts = self.acts.iter().enumerate().filter(|(_, (act, _))| *act != Act::Nothing);
        let acts = acts.map(|(at, _)| format!("act{at}"));
        let faults = self.weather.faults().map(|(name, _)| name.to_owned());
        let processes = (1..self.crashes.len()).rev().take(1).map(|at| format!("process{at}"));
        let crashes = self.crashes.iter().enumerate().filter(|(_, crashes)| !crashes.is_empty());
        let crashes = crashes.map(|(at, _)| format!("crashes{at}"));
        let skew = (self.skew != 0).then(|| "skew".to_owned());
        let narrow = self.narrow.then(|| "narrow".to_owned());
        let all = processes.chain(faults).chain(skew).chain(narrow).chain(crashes).chain(acts);
        all.filter(|part| !self.without.contains(part)).collect()
    }

    fn without(&self, part: &str) -> Self {
        self.leaving_out([part])
    }

    fn try_out(&self) -> Option<Failure> {
        let calm = tell(&self.calm());
        if let Err(why) = calm.check(&calm) {
            return Some(Failure { text: calm.text(), why });
        }
        let told = tell(self);
        let why = told.check(&calm).err()?;
        Some(Failure { text: told.text(), why })
    }

    fn command(&self) -> String {
        format!("make simulate SEED={}{}", self.seed, without(&self.without))
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, tenants, providers, acts, crashes, .. } = self;
        writeln!(f, "seed {seed}: {tenants} tenants, {providers} providers, {} processes", crashes.len())?;
        for (at, (act, pause)) in acts.iter().enumerate().filter(|(_, (act, _))| *act != Act::Nothing) {
            writeln!(f, "  act{at}: {act:?}, then {} s", pause.as_secs())?;
        }
        for (name, share) in self.weather.faults() {
            writeln!(f, "  {name}: {share} of 1000")?;
        }
        if self.skew != 0 {
            writeln!(
                f,
                "  skew: clocks of every other process are wrong by {} s, those of others jump by as much",
                self.skew
            )?;
        }
        if self.narrow {
            writeln!(f, "  narrow: each writes one thing at a time to an API server")?;
        }
        for (at, crashes) in crashes.iter().enumerate().filter(|(_, crashes)| !crashes.is_empty()) {
            writeln!(f, "  crashes{at}: after {crashes:?} writes")?;
        }
        Ok(())
    }
}
