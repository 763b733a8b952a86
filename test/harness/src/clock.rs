//! `WallClock`: the wall clock of a program, which can be set while it runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;

use crate::process::Program;

/// Compiled into each lab that wants it: a C compiler is needed for the programs under test, too.
const SOURCE: &str = include_str!("clock.c");

/// The wall clock of the programs that are started [`WallClock::of`] it.
#[derive(Debug)]
pub struct WallClock {
    library: PathBuf,
    offset: PathBuf,
}

impl WallClock {
    /// One that is right, with its files in `directory`.
    ///
    /// # Errors
    /// When there is no C compiler `cc`.
    pub fn make(directory: &Path) -> anyhow::Result<Self> {
        let [source, library, offset] = ["clock.c", "clock.so", "clock"].map(|name| directory.join(name));
        fs::write(&source, SOURCE)?;
        let compiler = Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(&source).output();
        let output = compiler.context("cannot run the C compiler cc")?;
        anyhow::ensure!(output.status.success(), "cc: {}", String::from_utf8_lossy(&output.stderr));
        let clock = Self { library, offset };
        clock.set(0)?;
        Ok(clock)
    }

    /// The program, by this clock.
    #[must_use]
    pub fn of(&self, program: Program) -> Program {
        self.env().into_iter().fold(program, |program, (name, value)| program.env(name, value))
    }

    /// The variables by which a program goes by this clock.
    #[must_use]
    pub fn env(&self) -> [(&'static str, &Path); 2] {
        [("LD_PRELOAD", &self.library), ("HARNESS_CLOCK", &self.offset)]
    }

    /// From now on it is so many seconds ahead.
    pub fn set(&self, ahead: i64) -> anyhow::Result<()> {
        // In place: programs hold it open.
        fs::write(&self.offset, ahead.to_ne_bytes()).with_context(|| format!("cannot write {}", self.offset.display()))
    }
}
