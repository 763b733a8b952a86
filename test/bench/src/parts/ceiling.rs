//! What one API server takes, against which throughput is judged.

use std::time::Instant;

use super::{Bench, CLIENTS, name, say};
use crate::load::{self, Request};
use crate::report::ratio;
use crate::usage::CpuTime;
use crate::widget;

const CEILING: &str = "ceiling";

/// What one API server takes.
#[derive(Clone, Copy)]
pub(super) struct Ceiling {
    /// Creates per second.
    pub(super) rate: f64,
    /// CPU time of all programs here per create, in milliseconds.
    pub(super) cpu: f64,
}

/// Creates per second of the same objects on one API server that nobody watches, the best of some degrees of
/// parallelism. The machine is idle but for that.
pub(super) async fn measure(bench: &mut Bench) -> anyhow::Result<Ceiling> {
    let count = bench.sizes.ceiling;
    say(&format!("{count} creates on one API server with 8, 16 and 32 clients"));
    create_on_hub(bench, "warm-up", count.min(300), CLIENTS).await?;
    let mut best = Ceiling { rate: 0.0, cpu: f64::INFINITY };
    for (prefix, clients) in [("eight", 8), ("sixteen", 16), ("thirty-two", 32)] {
        let cpu = CpuTime::now()?;
        let began = Instant::now();
        let rate = load::rate(&create_on_hub(bench, prefix, count, clients).await?);
        let used = CpuTime::now()? - &cpu;
        bench.report.noise(&used, began, CEILING);
        bench.report.note(CEILING, format!("creates on one API server, {clients} clients"), rate, "objects/s");
        best = Ceiling { rate: best.rate.max(rate), cpu: best.cpu.min(used.ours() * ratio(1, count)) };
    }
    Ok(best)
}

async fn create_on_hub(
    bench: &Bench,
    prefix: &'static str,
    count: usize,
    clients: usize,
) -> anyhow::Result<Vec<Request>> {
    let person = bench.stage.person_at_hub.clone();
    let create = move |number: usize| {
        let person = person.clone();
        async move { widget::create(&person, &name(prefix, number)).await }
    };
    load::at_full_speed(count, clients, create).await
}
