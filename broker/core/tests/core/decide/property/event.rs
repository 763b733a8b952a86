//! What may happen, drawn by lot.

use super::{NAMES, PROVIDERS};

/// Something that happens. Numbers choose among names and providers.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    Create {
        name: usize,
        size: i64,
    },
    Edit {
        name: usize,
        size: i64,
    },
    Delete {
        name: usize,
    },
    ForceRemove {
        name: usize,
    },
    ForceDelete {
        name: usize,
    },
    /// Takes annotations, finalizer or both from the origin.
    Strip {
        name: usize,
        annotations: bool,
        finalizer: bool,
    },
    /// Steers by hand.
    Forge {
        name: usize,
        provider: usize,
    },
    /// Puts back annotations that were once valid.
    Replay {
        name: usize,
        which: usize,
    },
    Pause {
        name: usize,
        paused: bool,
    },
    WipeStatus {
        name: usize,
    },
    ProviderStatus {
        name: usize,
        provider: usize,
        phase: bool,
    },
    EditCopy {
        name: usize,
        provider: usize,
    },
    StripCopy {
        name: usize,
        provider: usize,
        labels: bool,
    },
    DeleteCopy {
        name: usize,
        provider: usize,
        slowly: bool,
    },
    /// Somebody else's object takes the copy's name.
    Squat {
        name: usize,
        provider: usize,
    },
    Reach {
        cluster: usize,
        reachable: bool,
    },
    Listed {
        cluster: usize,
        listed: bool,
    },
    /// The broker's cache of a cluster stands still, or catches up.
    Freeze {
        cluster: usize,
        frozen: bool,
    },
    Accept {
        provider: usize,
        least: i64,
        priority: i64,
        cordoned: bool,
    },
    AcceptNoMore {
        provider: usize,
    },
    /// A person wants an AcceptAPI's objects to leave, or the AcceptAPI to get its share.
    Annotate {
        provider: usize,
        drain: bool,
        rebalance: bool,
    },
    /// A provider leaves the configuration, or is back.
    Leave {
        provider: usize,
        back: bool,
    },
    /// There is a MigrationConfiguration, there is none, or nobody knows.
    Configure {
        how: usize,
    },
    MigrationsKnown {
        known: bool,
    },
    /// The machine goes on with a Migration, or it fails, or is removed.
    Migration {
        which: usize,
        how: usize,
    },
    /// A person wants an object elsewhere.
    Ask {
        name: usize,
        from: usize,
        to: usize,
    },
    Serve {
        name: usize,
        provider: usize,
    },
    Wait {
        millis: u64,
    },
    Pass {
        name: usize,
    },
    /// The broker dies after so many writes of a pass, and starts anew.
    Crash {
        name: usize,
        writes: usize,
    },
}

/// Draws what happens from one number: generating that is cheap, and smaller numbers are simpler events.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        let sides = sides as u64;
        let rolled = self.0 % sides;
        self.0 /= sides;
        usize::try_from(rolled).unwrap()
    }

    fn yes(&mut self) -> bool {
        self.roll(2) == 1
    }

    fn number(&mut self, below: usize) -> i64 {
        i64::try_from(self.roll(below)).unwrap()
    }

    pub(crate) fn event(&mut self) -> Event {
        let kind = self.roll(64);
        let name = self.roll(NAMES.len());
        // A provider, or the consumer.
        let cluster = self.roll(PROVIDERS.len() + 1);
        let provider = cluster % PROVIDERS.len();
        match kind {
            0..10 => Event::Pass { name },
            10..13 => Event::Create { name, size: self.number(5) },
            13..16 => Event::Edit { name, size: self.number(5) },
            16..19 => Event::Crash { name, writes: self.roll(3) },
            19 => Event::Delete { name },
            20 => Event::ForceRemove { name },
            21 => Event::ForceDelete { name },
            22..24 => Event::Strip { name, annotations: self.yes(), finalizer: self.yes() },
            24 => Event::Forge { name, provider },
            25..27 => Event::Replay { name, which: self.roll(8) },
            27 => Event::Pause { name, paused: self.yes() },
            28 => Event::WipeStatus { name },
            29..31 => Event::ProviderStatus { name, provider, phase: self.yes() },
            31 => Event::EditCopy { name, provider },
            32..34 => Event::StripCopy { name, provider, labels: self.yes() },
            34 => Event::DeleteCopy { name, provider, slowly: self.yes() },
            35 => Event::Squat { name, provider },
            36..38 => Event::Reach { cluster, reachable: self.yes() },
            38 => Event::Listed { cluster, listed: self.yes() },
            39..41 => Event::Freeze { cluster, frozen: self.yes() },
            41..44 => Event::Accept { provider, least: self.number(4), priority: self.number(3), cordoned: self.yes() },
            44 => Event::AcceptNoMore { provider },
            45..50 => Event::Serve { name, provider },
            50..52 => Event::Annotate { provider, drain: self.yes(), rebalance: self.yes() },
            52..54 => Event::Leave { provider, back: self.yes() },
            54 => Event::Configure { how: self.roll(3) },
            55 => Event::MigrationsKnown { known: self.yes() },
            56..61 => Event::Migration { which: self.roll(4), how: self.roll(6) },
            61 => Event::Ask { name, from: provider, to: self.roll(PROVIDERS.len()) },
            _ => Event::Wait { millis: 1000 * self.roll(400) as u64 },
        }
    }
}
