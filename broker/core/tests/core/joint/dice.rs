//! `Dice`: what happens in a story, drawn from one number.

use serde_json::{Value, json};

use crate::joint::hub::PROVIDERS;

/// Draws from one number: smaller numbers are simpler.
#[derive(Debug, Clone)]
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, sides: usize) -> usize {
        let sides = sides as u64;
        let face = self.0 % sides;
        self.0 = (self.0 / sides) ^ self.0.rotate_left(23).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        usize::try_from(face).unwrap()
    }

    pub(crate) fn one_in(&mut self, sides: usize) -> bool {
        self.roll(sides) == sides - 1
    }

    pub(crate) fn provider(&mut self) -> &'static str {
        PROVIDERS[self.roll(PROVIDERS.len())]
    }

    pub(crate) fn pick<T: Clone>(&mut self, of: &[T]) -> Option<T> {
        (!of.is_empty()).then(|| of[self.roll(of.len())].clone())
    }
}

/// Something that happens.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    Rounds(usize),
    Pass(usize),
    Migrate(usize, usize),
    Crash(bool, usize, usize),
    DecideSlowly,
    MigrateSlowly(usize),
    CatchUp,
    Edit(i64),
    Accept(&'static str, i64, i64),
    AcceptNoMore(&'static str),
    Annotate(&'static str, bool),
    Serve(&'static str),
    Unserve(&'static str),
    DeleteCopy(&'static str, bool),
    Reach(usize, usize),
    Listed(usize, bool),
    Leave(&'static str, bool),
    Work(usize, &'static str),
    DeleteWork(usize),
    Configure(usize),
    Ask(&'static str, &'static str),
    Spec(usize, &'static str, Value),
    DeleteMigration(usize),
    Delete,
    Create(i64),
    Pause(bool),
    Ignore(bool),
    Strip(bool),
    Replay(usize),
    Wait(u64),
    Back(u64),
}

impl Dice {
    pub(crate) fn event(&mut self) -> Event {
        let bit = |dice: &mut Self| dice.one_in(2);
        match self.roll(60) {
            0..=9 => Event::Rounds(1 + self.roll(6)),
            10 | 11 => Event::Pass(if bit(self) { usize::MAX } else { self.roll(4) }),
            12 | 13 => Event::Migrate(self.roll(4), if bit(self) { usize::MAX } else { self.roll(4) }),
            14 | 15 => Event::Crash(bit(self), self.roll(4), self.roll(4)),
            16 => Event::DecideSlowly,
            17 => Event::MigrateSlowly(self.roll(4)),
            18 => Event::CatchUp,
            19..=23 => Event::Edit([5, 15, 25][self.roll(3)]),
            24 | 25 => {
                let (least, most) = [(0, 10), (10, 20), (20, 30), (0, 30)][self.roll(4)];
                Event::Accept(self.provider(), least, most)
            }
            26 => Event::AcceptNoMore(self.provider()),
            27 => Event::Annotate(self.provider(), bit(self)),
            28 => Event::Serve(self.provider()),
            29 => Event::Unserve(self.provider()),
            30 => Event::DeleteCopy(self.provider(), bit(self)),
            31 | 32 => Event::Reach(self.roll(5), self.roll(4)),
            33 | 34 => Event::Listed(self.roll(5), bit(self)),
            35 => Event::Leave(self.provider(), bit(self)),
            36..=39 => Event::Work(self.roll(4), ["done", "failed", "undone"][self.roll(3)]),
            40 => Event::DeleteWork(self.roll(4)),
            41 => Event::Configure(self.roll(6)),
            42 | 43 => Event::Ask(self.provider(), self.provider()),
            44..=46 => {
                let (field, value) = [
                    ("paused", json!(true)),
                    ("paused", json!(false)),
                    ("abort", json!(true)),
                    ("retry", json!(1)),
                    ("retry", json!(2)),
                    ("force", json!(true)),
                ][self.roll(6)]
                .clone();
                Event::Spec(self.roll(4), field, value)
            }
            47 => Event::DeleteMigration(self.roll(4)),
            48 if bit(self) => Event::Delete,
            48 | 49 => Event::Create([5, 15, 25][self.roll(3)]),
            50 => Event::Pause(bit(self)),
            51 => Event::Ignore(bit(self)),
            52 => Event::Strip(bit(self)),
            53 => Event::Replay(self.roll(6)),
            54..=57 => Event::Wait([1_000, 30_000, 61_000, 601_000, 3_600_000][self.roll(5)]),
            58 => Event::Back([1_000, 3_600_000][self.roll(2)]),
            _ => Event::Crash(true, usize::MAX, 0),
        }
    }
}
