//! What each sort of write costs the API server: a burst is bound by its CPU time, so this tells what a burst can reach.
//!
//! Measured as CPU time, not by the clock, on a server that nobody watches: noise of other programs hardly matters.

use std::sync::Arc;

use super::{Bench, CLIENTS, name, say};
use crate::load;
use crate::report::ratio;
use crate::usage::CpuTime;
use crate::widget;

const PART: &str = "API server CPU per write";
/// Enough that the ticks of `/proc` (10 ms) do not matter.
const COUNT: usize = 500;

pub(crate) async fn measure(bench: &mut Bench) -> anyhow::Result<()> {
    say(&format!("{COUNT} writes of each sort on one API server"));
    each(bench, "warm", None, create).await?;
    each(bench, "made", Some("create"), create).await?;
    each(bench, "made", Some("merge patch of marks"), |client, name| async move {
        widget::merge_marks(&client, &name).await
    })
    .await?;
    each(bench, "made", Some("merge patch of status"), |client, name| async move {
        widget::write_status(&client, &name, 1).await
    })
    .await?;
    let mut objects = Vec::new();
    each(bench, "updated", None, create).await?;
    for number in 0..COUNT {
        objects.push(widget::marked(&bench.stage.person_at_hub, &name("updated", number)).await?);
    }
    let objects = Arc::new(objects);
    each(bench, "updated", Some("update with marks"), move |client, name| {
        let objects = Arc::clone(&objects);
        async move {
            let number: usize = name.trim_start_matches("updated-").parse()?;
            widget::update(&client, &name, objects[number].clone()).await
        }
    })
    .await?;
    each(bench, "applied", Some("server-side apply that creates"), |client, name| async move {
        widget::apply(&client, &name).await
    })
    .await?;
    each(bench, "applied", Some("server-side apply that changes nothing"), |client, name| async move {
        widget::apply(&client, &name).await
    })
    .await
}

async fn create(client: kube::Client, name: String) -> anyhow::Result<()> {
    widget::create(&client, &name).await
}

async fn each<F, W>(bench: &mut Bench, prefix: &'static str, what: Option<&str>, write: F) -> anyhow::Result<()>
where
    F: Fn(kube::Client, String) -> W + Send + Sync + 'static,
    W: Future<Output = anyhow::Result<()>> + Send + 'static,
{
    let person = bench.stage.person_at_hub.clone();
    let before = CpuTime::now()?;
    load::at_full_speed(COUNT, CLIENTS, move |number| write(person.clone(), name(prefix, number))).await?;
    let used = CpuTime::now()? - &before;
    let servers = ["kube-apiserver", "etcd"];
    let cpu: f64 = servers.iter().filter_map(|server| used.programs.get(*server)).sum();
    if let Some(what) = what {
        bench.report.note(PART, what, cpu * ratio(1, COUNT), "ms");
    }
    Ok(())
}
