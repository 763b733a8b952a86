//! Breaks decisions and runtime in many ways, and shows that the worlds of the simulator (`test/sim/tests/worlds`) notice each.
//!
//!     mutants [--only 3,7,12] [--lanes N] [--seconds N] [--program PATH]
//!
//! What is broken is in `mutations.yaml` beside this crate. All of it goes into one copy of the sources, which is built once:
//! the variable MUTANT says which of it counts. `--program` is what was built before, to be tried again as it is; `--seconds`
//! is how long one is looked for in one kind of worlds. The exit code is 1 where one is not noticed.

#![forbid(unsafe_code)]

mod folder;
mod mutation;
mod report;
mod scheme;
mod tree;
mod trial;

use std::{
    env,
    path::PathBuf,
    process::ExitCode,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail, ensure};

use crate::{
    mutation::Mutation,
    report::Report,
    trial::{Found, Trial, Worlds},
};

#[derive(Debug)]
struct Options {
    /// Numbers of those that are tried; all where there are none.
    only: Vec<u32>,
    lanes: usize,
    /// So long one is looked for in one kind of worlds.
    patience: Duration,
    /// It is built already.
    program: Option<PathBuf>,
}

fn options() -> anyhow::Result<Options> {
    let lanes = thread::available_parallelism().map_or(1, usize::from);
    let mut options = Options { only: Vec::new(), lanes, patience: Duration::from_mins(5), program: None };
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().with_context(|| format!("{argument} takes a value"))?;
        match argument.as_str() {
            "--only" => {
                let numbers = value.split(',').filter(|number| !number.is_empty()).map(str::parse);
                options.only = numbers.collect::<Result<_, _>>().context("--only takes numbers")?;
            }
            "--program" => options.program = Some(value.into()),
            "--lanes" => options.lanes = value.parse().context("--lanes takes a number")?,
            "--seconds" => {
                options.patience = Duration::from_secs(value.parse().context("--seconds takes a number")?);
            }
            _ => bail!("what is {argument}?"),
        }
    }
    Ok(options)
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::from(2)
        }
    }
}

fn run() -> anyhow::Result<bool> {
    let options = options()?;
    let mutations = mutation::list()?;
    let tree = folder::tree();
    let program = if let Some(program) = options.program {
        program
    } else {
        let workspace = folder::workspace();
        tree::write(&workspace, &tree, &mutations)?;
        println!("{} mutations are in {}; it is being built", mutations.len(), tree.display());
        tree::build(&workspace, &tree)?
    };
    let trial = Trial { program: &program, folder: &tree.join("test/sim"), patience: options.patience };
    for worlds in [Worlds::Broker, Worlds::Graphs] {
        let none = trial.unbroken(worlds)?;
        ensure!(none.is_none(), "nothing is broken, and still: {}", none.unwrap_or_default());
    }
    println!("nothing goes wrong where nothing is broken");
    let is_wanted =
        |one: &&Mutation| if options.only.is_empty() { one.is_tried() } else { options.only.contains(&one.number) };
    let wanted: Vec<&Mutation> = mutations.iter().filter(is_wanted).collect();
    Ok(try_all(&trial, &wanted, options.lanes).tell())
}

fn try_all<'a>(trial: &Trial<'_>, mutations: &[&'a Mutation], lanes: usize) -> Report<'a> {
    let (next, report) = (AtomicUsize::new(0), Mutex::new(Report::default()));
    thread::scope(|scope| {
        for _ in 0..lanes.max(1) {
            scope.spawn(|| {
                while let Some(mutation) = mutations.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let began = Instant::now();
                    let found = trial.of(mutation).unwrap_or_else(|error| Found::not_tried(&error));
                    report.lock().unwrap_or_else(PoisonError::into_inner).add(mutation, found, began.elapsed());
                }
            });
        }
    });
    report.into_inner().unwrap_or_else(PoisonError::into_inner)
}
