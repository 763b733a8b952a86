//! `Act`: what people, providers and the platform do, one thing at a time.

use std::time::Duration;

use sim::Outage;

use crate::{
    chance::Chance,
    provider::Mood,
    stage::{PROVIDERS, TENANTS},
};

/// What people ask for: names of Certificates.
const NAMES: [&str; 2] = ["website", "mail"];

/// A Certificate that a tenant may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Thing {
    /// One of [`TENANTS`].
    pub(crate) tenant: &'static str,
    pub(crate) name: &'static str,
}

impl Thing {
    pub(crate) const FIRST: Self = Self { tenant: TENANTS[0], name: NAMES[0] };
    pub(crate) const SECOND: Self = Self { tenant: TENANTS[0], name: NAMES[1] };
    pub(crate) const OTHERS: Self = Self { tenant: TENANTS[1], name: NAMES[0] };

    /// All of these tenants.
    pub(crate) fn all(tenants: &[&'static str]) -> Vec<Self> {
        tenants.iter().flat_map(|tenant| NAMES.map(|name| Self { tenant, name })).collect()
    }
}

/// What a person writes that only the broker may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Forgery {
    /// That another provider serves it.
    Elsewhere(&'static str),
    /// That it moves to another provider.
    Moving(&'static str),
    /// No signature.
    Unsigned,
    /// What was once signed.
    Replay,
    /// No finalizer.
    Unheld,
}

/// What somebody takes off a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// The signed origin.
    Origin,
    /// The name of what it is a copy of, which is signed elsewhere, too.
    Name,
    /// The labels.
    Labels,
    /// All of them.
    All,
}

/// What somebody does as soon as others have written something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Haste {
    /// Edits the copy.
    Edits,
    /// Deletes it.
    Drops,
    /// Holds the object with a finalizer, or lets go of it.
    Holds,
}

/// What a provider's AcceptAPI says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Policy {
    /// It takes what comes.
    Open,
    /// It takes nothing new.
    Cordoned,
    /// What it has is to go.
    Drained,
    /// It takes nothing, and what it has is not accepted any more.
    Closed,
    /// It is preferred.
    Preferred,
    /// It wants its share of what others have.
    Rebalancing,
    /// It takes what comes, and what it has goes elsewhere when nobody can reach it for a while.
    Impatient,
    /// There is none.
    None,
}

/// What a person says to the Migrations that there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// To go no further.
    Pause,
    Resume,
    /// To give up.
    Abort,
    /// To try what has failed again.
    Retry,
    /// That they are not wanted any more.
    Delete,
}

/// What somebody does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    Nothing,
    /// A person asks for it, again if need be as soon as the last of that name is gone.
    Ask(Thing),
    /// A person edits its spec.
    Edit(Thing, u8),
    /// A person deletes it.
    GiveBack(Thing),
    Forge(Thing, Forgery),
    /// A person says that it may go although nobody knows what becomes of its copy.
    Force(Thing),
    Pause(Thing),
    Resume(Thing),
    /// Somebody at the provider takes marks off its copies.
    Strip(Thing, Mark),
    /// Somebody at the provider deletes its copies.
    Drop(Thing),
    /// The same, and makes objects of his own of the same names.
    Squat(Thing),
    /// Somebody at the provider has something of his own where its copies are.
    Keep(Thing),
    /// All of these go.
    Yield(Thing),
    /// Somebody at the provider deletes the namespaces of its copies.
    Raze(Thing),
    /// Somebody holds it with a finalizer of his own, and lets go of it.
    Hold(Thing),
    Release(Thing),
    /// From now on somebody reacts to what others write there, a few times.
    Hasten(Thing, Haste),
    /// A provider copies the marks of another tenant's copy to an object of its own.
    Steal(&'static str),
    Policy(&'static str, Policy),
    Mood(&'static str, Mood),
    /// The platform takes a cluster out of the configuration.
    Leave(&'static str),
    Return(&'static str),
    /// An API server cannot be reached.
    Outage(&'static str, Outage),
    Heal(&'static str),
    /// An API server forgets its history.
    Compact(&'static str),
    /// A cluster gets another kubeconfig, with a token of its own.
    Rotate(&'static str, u8),
    /// A cluster serves no Certificates any more: those that it has go with their CRD.
    Uninstall(&'static str),
    Install(&'static str),
    /// A provider serves no AcceptAPIs any more: those that it has go with their CRD.
    Withdraw(&'static str),
    Readmit(&'static str),
    /// Providers' Certificates get a field more.
    Extend,
    /// The broker that has written most of late is stopped for so many seconds.
    Freeze(u64),
    /// A person writes a Migration that brings it to this provider.
    Transfer(Thing, &'static str),
    /// A person has a say in all Migrations.
    Order(Order),
    /// Moves have stages from now on.
    Configure,
    Deconfigure,
    /// The hub does not serve the kind that says so, or does again: what there is of it stays.
    Hide,
    Show,
}

impl Act {
    fn thing(&self) -> Option<Thing> {
        match *self {
            Self::Ask(thing)
            | Self::Edit(thing, _)
            | Self::GiveBack(thing)
            | Self::Forge(thing, _)
            | Self::Force(thing)
            | Self::Pause(thing)
            | Self::Resume(thing)
            | Self::Strip(thing, _)
            | Self::Drop(thing)
            | Self::Squat(thing)
            | Self::Keep(thing)
            | Self::Yield(thing)
            | Self::Raze(thing)
            | Self::Hasten(thing, _)
            | Self::Transfer(thing, _)
            | Self::Hold(thing)
            | Self::Release(thing) => Some(thing),
            _ => None,
        }
    }

    fn server(&self) -> Option<&'static str> {
        match *self {
            Self::Steal(server)
            | Self::Transfer(_, server)
            | Self::Policy(server, _)
            | Self::Mood(server, _)
            | Self::Leave(server)
            | Self::Return(server)
            | Self::Outage(server, _)
            | Self::Heal(server)
            | Self::Compact(server)
            | Self::Rotate(server, _)
            | Self::Uninstall(server)
            | Self::Install(server)
            | Self::Withdraw(server)
            | Self::Readmit(server) => Some(server),
            _ => None,
        }
    }

    pub(crate) fn concerns_second_tenant(&self) -> bool {
        self.thing().is_some_and(|thing| thing.tenant == TENANTS[1]) || self.server() == Some(TENANTS[1])
    }

    pub(crate) fn concerns_third_provider(&self) -> bool {
        self.server() == Some(PROVIDERS[2])
    }
}

/// What happens in a story.
pub(crate) fn draw(chance: &mut Chance) -> Vec<(Act, Duration)> {
    let tenants = &TENANTS[..chance.one_of(&[1, 2])];
    let providers = &PROVIDERS[..chance.one_of(&[2, 2, 3])];
    let things = Thing::all(tenants);
    let mut acts = vec![Act::Ask(Thing::FIRST)];
    let many = 2 + chance.below(7);
    for _ in 0..many {
        let thing = chance.one_of(&things);
        let provider = chance.one_of(providers);
        let act = match chance.below(16) {
            0 | 1 => Act::Ask(thing),
            2 | 3 => Act::Edit(thing, u8::try_from(1 + chance.below(5)).unwrap()),
            4 => Act::GiveBack(thing),
            5 => Act::Forge(thing, forgery(chance, provider)),
            6 => chance.one_of(&[Act::Pause(thing), Act::Resume(thing)]),
            7 => Act::Strip(thing, chance.one_of(&[Mark::Origin, Mark::Labels, Mark::All])),
            8 => chance.one_of(&[Act::Drop(thing), Act::Steal(provider)]),
            9..=11 => Act::Policy(provider, policy(chance)),
            12 => Act::Mood(provider, mood(chance)),
            13 => chance.one_of(&[Act::Leave(provider), Act::Return(provider)]),
            14 => {
                let server = chance.one_of(&[provider, thing.tenant]);
                let outage = chance.one_of(&[Outage::Refused, Outage::Silent]);
                chance.one_of(&[Act::Outage(server, outage), Act::Heal(server), Act::Compact(server)])
            }
            _ => chance.one_of(&[Act::Configure, Act::Configure, Act::Deconfigure]),
        };
        acts.push(act);
    }
    acts.into_iter().map(|act| (act, Duration::from_secs(chance.one_of(&[0, 1, 5, 20, 20, 70, 150])))).collect()
}

/// In some stories somebody else lays hands on it, right after something has happened, and takes them off again; or a tenant
/// takes the rights away for so long that what was seen there counts no more; or where copies are is deleted; or somebody
/// reacts to whatever is written.
pub(crate) fn meddle(acts: &mut Vec<(Act, Duration)>, chance: &mut Chance) {
    let at = usize::try_from(chance.below(9 * acts.len() as u64)).unwrap();
    let (kind, at) = (at % 9, at / 9);
    let thing = acts[..=at].iter().rev().find_map(|(act, _)| act.thing()).unwrap_or(Thing::FIRST);
    let (begins, meanwhile, ends) = match kind {
        0 => (Act::Squat(thing), Act::Edit(thing, 6), Act::Yield(thing)),
        1 => (Act::Hold(thing), Act::Edit(thing, 6), Act::Release(thing)),
        4 => (Act::Outage(thing.tenant, Outage::Forbidden), Act::Strip(thing, Mark::Labels), Act::Heal(thing.tenant)),
        5 => (Act::Raze(thing), Act::Edit(thing, 6), Act::Nothing),
        6 => (Act::Hasten(thing, Haste::Edits), Act::Edit(thing, 6), Act::Nothing),
        7 => (Act::Hasten(thing, Haste::Drops), Act::Edit(thing, 6), Act::Drop(thing)),
        8 => (Act::Hasten(thing, Haste::Holds), Act::Edit(thing, 6), Act::Release(thing)),
        // In the others nobody does: the stories that are told again by their seeds (`main.rs`) are of these.
        _ => return,
    };
    let mut soon = |most: &[u64]| Duration::from_secs(chance.one_of(most));
    let pause = std::mem::replace(&mut acts[at].1, soon(&[0, 0, 1, 3]));
    let until = if kind == 4 { soon(&[70, 100]) } else { soon(&[0, 1, 3]) };
    acts.insert(at + 1, (begins, until));
    acts.insert(at + 2, (meanwhile, pause.max(soon(&[5, 20]))));
    let left = acts.len() - (at + 3);
    let at = at + 3 + usize::try_from(chance.below(left as u64 + 1)).unwrap();
    acts.insert(at, (ends, Duration::from_secs(5)));
}

fn forgery(chance: &mut Chance, provider: &'static str) -> Forgery {
    chance.one_of(&[
        Forgery::Elsewhere(provider),
        Forgery::Moving(provider),
        Forgery::Unsigned,
        Forgery::Replay,
        Forgery::Unheld,
    ])
}

fn policy(chance: &mut Chance) -> Policy {
    chance.one_of(&[
        Policy::Open,
        Policy::Cordoned,
        Policy::Drained,
        Policy::Drained,
        Policy::Closed,
        Policy::Preferred,
        Policy::Rebalancing,
        Policy::None,
    ])
}

fn mood(chance: &mut Chance) -> Mood {
    chance.one_of(&[Mood::Prompt, Mood::Slow, Mood::Idle, Mood::Failing, Mood::Tokens, Mood::Foreign])
}
