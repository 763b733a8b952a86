//! What befalls the platform itself in a story: its hub is lost, credentials expire or are changed, a kind vanishes or changes.

use std::time::Duration;

use sim::Outage;

use crate::{
    act::{Act, Policy, Thing},
    chance::Chance,
    plan::{ACCEPTANCES, HEEDED, KINDS},
    stage::{HUB, PROVIDERS, TENANTS},
};

/// How one begins, and how it ends, if it does before everything is put in order.
fn mishap(chance: &mut Chance, seed: u64) -> (Act, Act) {
    let provider = chance.one_of(&PROVIDERS[..2]);
    let anybody = chance.one_of(&[HUB, HUB, TENANTS[0], provider]);
    match chance.below(kinds(seed)) {
        0 | 1 => (Act::Outage(HUB, chance.one_of(&[Outage::Refused, Outage::Silent])), Act::Heal(HUB)),
        2 => (Act::Outage(anybody, Outage::Unauthorized), Act::Heal(anybody)),
        3 => (Act::Compact(HUB), Act::Nothing),
        4 => {
            let (name, token) = (chance.one_of(&[TENANTS[0], provider]), u8::try_from(chance.below(200)).unwrap());
            (Act::Rotate(name, token), Act::Nothing)
        }
        5 => {
            let who = if seed >= KINDS { chance.one_of(&[TENANTS[0], provider]) } else { provider };
            (Act::Uninstall(who), Act::Install(who))
        }
        6 => (Act::Extend, Act::Nothing),
        7 => (Act::Hide, Act::Show),
        8 => {
            let outage = chance.one_of(&[Outage::Refused, Outage::Silent, Outage::Unauthorized]);
            (Act::Outage(provider, outage), Act::Heal(provider))
        }
        9 => (Act::Withdraw(provider), Act::Readmit(provider)),
        10 => (Act::Leave(TENANTS[0]), Act::Return(TENANTS[0])),
        _ => (Act::Force(Thing::FIRST), Act::GiveBack(Thing::FIRST)),
    }
}

/// How many sorts of them there are.
fn kinds(seed: u64) -> u64 {
    match seed {
        ..ACCEPTANCES => 9,
        ACCEPTANCES..HEEDED => 10,
        HEEDED.. => 12,
    }
}

/// Puts some between what is done in the story of a seed.
pub(crate) fn befall(acts: &mut Vec<(Act, Duration)>, chance: &mut Chance, seed: u64) {
    for _ in 0..chance.below(4) {
        let (begins, ends) = mishap(chance, seed);
        let mut place = |from: usize| from + usize::try_from(chance.below((acts.len() + 1 - from) as u64)).unwrap();
        let at = place(1);
        let until = place(at);
        let mut pause = |most: &[u64]| Duration::from_secs(chance.one_of(most));
        if ends != Act::Nothing {
            acts.insert(until, (ends, pause(&[0, 1, 5])));
        }
        acts.insert(at, (begins, pause(&[0, 0, 1, 5, 20, 70])));
        if let Act::Outage(provider, _) = begins
            && PROVIDERS.contains(&provider)
            && chance.below(2) == 0
        {
            let before = usize::try_from(chance.below(at as u64)).unwrap() + 1;
            let seconds = chance.one_of(&[0, 5, 20]);
            acts.insert(before, (Act::Policy(provider, Policy::Impatient), Duration::from_secs(seconds)));
        }
    }
}
