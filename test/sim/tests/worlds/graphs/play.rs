//! `Play`: a scenario, told with a seed while something goes wrong.

use super::{
    alone, fleet,
    plan::Plan,
    scenario::Scenario,
    seeded,
    tale::{Told, tell},
};
use crate::shrink::{Cut, Failure, without};

/// See the module.
#[derive(Clone)]
pub(crate) struct Play {
    pub(crate) scenario: Scenario,
    pub(crate) seed: u64,
    pub(crate) plan: Plan,
}

/// A scenario in which nothing goes wrong.
pub(crate) fn calm(scenario: &Scenario, seed: u64) -> Told {
    tell(scenario, seed, &Plan::calm()).without_entries()
}

impl Play {
    /// What is left out of the plan is left out of the scenario, too. Who begins while its hub is lost knows of nothing, and
    /// does nothing until it is found: nobody crashes where that may be.
    pub(crate) fn new(scenario: Scenario, seed: u64, mut plan: Plan) -> Self {
        if scenario.loses_hub() {
            plan.crashes.clear();
        }
        let scenario = if plan.without.is_empty() { scenario } else { scenario.leaving_out(&plan.without) };
        Self { scenario, seed, plan }
    }

    pub(crate) fn tell(&self) -> Told {
        tell(&self.scenario, self.seed, &self.plan)
    }

    /// What is wrong with it. It ends as where nothing goes wrong, with whatever seed that is told: with `twin`'s, or else with
    /// its own.
    pub(crate) fn check(&self, twin: &Told) -> Option<String> {
        let told = self.tell();
        let why = told.check(twin).err()?;
        let why = if twin.seed == self.seed { why } else { told.check(&calm(&self.scenario, self.seed)).err()? };
        let crash = self.plan.crash_alone().map_or(String::new(), |after| format!(", crash {after}"));
        Some(format!("{}{crash}, seed {}: {why}", self.scenario.name, self.seed))
    }
}

impl Cut for Play {
    fn parts(&self) -> Vec<String> {
        self.plan.parts().into_iter().chain(self.scenario.parts()).collect()
    }

    fn without(&self, part: &str) -> Self {
        Self::new(self.scenario.clone(), self.seed, self.plan.leaving_out([part]))
    }

    fn try_out(&self) -> Option<Failure> {
        let told = self.tell();
        let why = told.check(&calm(&self.scenario, self.seed)).err()?;
        Some(Failure { text: told.text(), why })
    }

    fn command(&self) -> String {
        let alone = self.plan.crash_alone().filter(|_| self.seed == 1);
        let crash = alone.map_or(format!(" SEED={}", self.seed), |after| format!(" CRASH={after}"));
        format!("make simulate SCENARIO='{}'{crash}{}", self.scenario.name, without(&self.plan.without))
    }
}

/// All named scenarios.
pub(crate) fn named() -> impl Iterator<Item = Scenario> {
    alone::all().into_iter().chain(fleet::all())
}

/// The scenario of this name: a named one, or one that a seed makes up.
pub(crate) fn scenario(name: &str) -> Option<Scenario> {
    let made_up = || {
        let number = name.strip_prefix(seeded::NAME)?.trim().split(',').next()?;
        Some(seeded::scenario(number.parse().ok()?))
    };
    named().find(|scenario| scenario.name == name).or_else(made_up)
}
