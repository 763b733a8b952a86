//! Chaos: the binaries of broker and graphs with real API servers, while connections, programs, API servers and credentials
//! fail, and people work. At the end nothing fails any more: every edit that an API server acknowledged has to be where it
//! belongs, nothing else may exist, and nothing is written any more.
//!
//!     chaos [--minutes 20] [--seed NUMBER]
//!
//! The seed tells what is drawn: which faults, how long, in which order, and what people do. When a machine gets to each of them it
//! does not tell, so that a run with the same seed is alike, not the same.

mod credential;
mod ending;
mod faults;
mod foreign;
mod graph;
mod ledger;
mod meddler;
mod options;
mod person;
mod provider;
mod proxy;
mod runner;
mod stage;
mod timeline;
mod verdict;

use std::{panic::AssertUnwindSafe, path::Path, process::ExitCode, sync::Arc, time::Duration};

use anyhow::{Context as _, anyhow};
use clap::Parser as _;
use futures::{
    FutureExt as _,
    future::{select_all, try_join_all},
};
use harness::Dice;
use tokio::{sync::watch, time::Instant};

use crate::{
    faults::Faults,
    foreign::Foreign,
    ledger::Ledger,
    options::Options,
    person::Person,
    runner::Runner,
    stage::{NAMESPACES, Stage, WIDGET},
    timeline::Timeline,
    verdict::Acknowledged,
};

/// Longest pauses of people between two edits, in milliseconds: in a consumer, and of the author of instances.
const PACES: (u64, u64) = (400, 1_500);
const PROGRESS: Duration = Duration::from_secs(30);

#[tokio::main]
async fn main() -> ExitCode {
    let options = Options::parse();
    let seed = options.seed();
    println!("chaos for {:?}, seed {seed} (SEED={seed}: alike)", options.minutes);
    let timeline = Arc::new(Timeline::begin());
    let played = Box::pin(play(&options, seed, &timeline)).await;
    println!("\n{}", timeline.summary());
    match played {
        Ok(()) => {
            let acknowledged = timeline.acknowledged();
            println!(
                "chaos: seed {seed}: {} faults, {acknowledged} acknowledged edits, all where they belong",
                timeline.faults()
            );
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("{error:#}");
            println!("chaos: seed {seed}: FAILED, see above");
            ExitCode::FAILURE
        }
    }
}

/// Sets the stage and plays on it; logs are kept where that fails.
async fn play(options: &Options, seed: u64, timeline: &Arc<Timeline>) -> anyhow::Result<()> {
    let mut dice = Dice::new(seed);
    let stage = Stage::build(&mut dice, timeline).await?;
    timeline.write_edits(&stage.lab.directory().join("edits.log"))?;
    let played = AssertUnwindSafe(act(options, &stage, &mut dice, timeline)).catch_unwind();
    let ended = select_all(stage.programs().map(|runner| Box::pin(Runner::ended(runner))));
    let played = tokio::select! {
        played = played => played.unwrap_or_else(|panic| Err(anyhow!("{}", words(&*panic)))),
        (error, ..) = ended => Err(error),
        _ = tokio::signal::ctrl_c() => Err(anyhow!("interrupted")),
    };
    let logs = options.logs.join(format!("seed-{seed}"));
    played.map_err(|error| error.context(kept(stage.lab.directory(), &logs)))
}

fn kept(lab: &Path, logs: &Path) -> String {
    match ending::keep_logs(lab, logs) {
        Ok(()) => format!("logs are in {}", logs.display()),
        Err(error) => format!("logs are lost: {error:#}"),
    }
}

/// What a panic says: helpers of end-to-end tests panic.
fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without words").to_owned()
}

async fn act(options: &Options, stage: &Stage, dice: &mut Dice, timeline: &Arc<Timeline>) -> anyhow::Result<()> {
    let foreign = Foreign::make(stage).await;
    let _controllers: Vec<_> = stage.providers().map(provider::serve).collect();
    let (stop, stopped) = watch::channel(false);
    let (dices, faults_dice) = ((0..4).map(|_| dice.fork()).collect(), dice);
    let people = work(stage, dices, timeline, &stopped);
    let chaos = async {
        let until = Instant::now() + options.minutes;
        let faults = Faults { stage, timeline, until };
        let failed = faults.run(faults_dice).await;
        timeline.tell("nothing fails any more; people finish what they do");
        stop.send_replace(true);
        failed
    };
    let played = async { tokio::try_join!(people, chaos) };
    let ((widgets, tales), ()) = tokio::select! {
        played = played => played?,
        never = tell_progress(timeline) => match never {},
    };
    let calm = Instant::now();
    stage.calm(timeline).await?;
    let widgets = stage.consumers().map(|place| place.name().to_owned()).zip(widgets).collect();
    let acknowledged = Acknowledged { widgets, tales, foreign };
    ending::until_right(stage, &acknowledged, options.patience).await?;
    timeline.tell(&format!("all is right {:.1} s after the last fault", calm.elapsed().as_secs_f64()));
    ending::until_still(stage, options.still, options.patience).await?;
    timeline.tell(&format!("nothing was written for {:?}", options.still));
    ending::until_right(stage, &acknowledged, Duration::ZERO).await.context("after a while")?;
    ending::tell_memory(stage, timeline).await;
    ending::outcries(stage)
}

/// Tells every now and then how much was acknowledged, for those who wait.
async fn tell_progress(timeline: &Timeline) -> std::convert::Infallible {
    loop {
        tokio::time::sleep(PROGRESS).await;
        timeline.tell(&format!("{} edits acknowledged, {} faults so far", timeline.acknowledged(), timeline.faults()));
    }
}

/// All people, until `stopped` says so: what was acknowledged in consumers, and of instances.
async fn work(
    stage: &Stage,
    dices: Vec<Dice>,
    timeline: &Arc<Timeline>,
    stopped: &watch::Receiver<bool>,
) -> anyhow::Result<(Vec<Ledger>, Ledger)> {
    let mut dices = dices.into_iter();
    let mut dice = || dices.next().context("each has dice");
    let meddler = meddler::work(stage, dice()?, timeline, stopped.clone());
    let (often, seldom) = PACES;
    let author = Person::new(stage.hub(), graph::TALE, &[graph::NAMESPACE], graph::spec, seldom, dice()?, timeline);
    let mut consumers = Vec::new();
    for place in stage.consumers() {
        let person = Person::new(place, WIDGET, &NAMESPACES, stage::widget, often, dice()?, timeline);
        consumers.push(person.work(stopped.clone()));
    }
    let meddler = async {
        meddler.await;
        Ok(())
    };
    let (widgets, tales, ()) = tokio::try_join!(try_join_all(consumers), author.work(stopped.clone()), meddler)?;
    Ok((widgets, tales))
}
