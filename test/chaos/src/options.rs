//! The flags.

use std::{
    hash::{BuildHasher as _, Hasher as _, RandomState},
    path::PathBuf,
    time::Duration,
};

use clap::Parser;

/// Lets real API servers, programs and connections fail while people work, and judges the end.
#[derive(Debug, Clone, Parser)]
#[command(name = "chaos", version, max_term_width = 110)]
pub(crate) struct Options {
    /// How many minutes things fail
    #[arg(long, env = "MINUTES", value_name = "NUMBER", default_value = "20", value_parser = minutes)]
    pub(crate) minutes: Duration,

    /// What is drawn; one that is drawn itself unless it is given
    #[arg(long, env = "SEED", value_name = "NUMBER", value_parser = seed)]
    pub(crate) seed: Option<u64>,

    /// How many seconds everything may take to be right once nothing fails any more
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = seconds)]
    pub(crate) patience: Duration,

    /// For how many seconds nothing may be written at the end
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    pub(crate) still: Duration,

    /// Where logs go if anything is not right
    #[arg(long, value_name = "DIRECTORY", default_value = "target/chaos")]
    pub(crate) logs: PathBuf,
}

fn minutes(text: &str) -> Result<Duration, String> {
    let minutes: f64 = text.parse().map_err(|_| "a number of minutes".to_owned())?;
    Duration::try_from_secs_f64(minutes * 60.0).map_err(|error| error.to_string())
}

fn seconds(text: &str) -> Result<Duration, String> {
    text.parse().map(Duration::from_secs).map_err(|_| "a number of seconds".to_owned())
}

fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "a number".to_owned())
}

impl Options {
    /// The seed of this run.
    pub(crate) fn seed(&self) -> u64 {
        // Short enough to be typed.
        self.seed.unwrap_or_else(|| RandomState::new().build_hasher().finish() % 1_000_000)
    }
}
