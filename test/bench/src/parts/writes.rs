//! What each sort of write costs the API server: a burst is bound by its CPU time, so this tells what a burst can reach.
//!
//! Measured as CPU time, not by the clock, on a server where nobody else watches: noise of other programs hardly matters.

use std::collections::HashMap;

use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::{Bench, CLIENTS, name, say};
use crate::load;
use crate::report::ratio;
use crate::sighting::{Kind, Sightings};
use crate::usage::CpuTime;
use crate::widget::{self, Answer};

const PART: &str = "API server CPU per write";
/// Enough that the ticks of `/proc` (10 ms) do not matter.
const COUNT: usize = 500;

pub(crate) async fn measure(bench: &mut Bench) -> anyhow::Result<()> {
    say(&format!("{COUNT} writes of each sort on one API server"));
    each(bench, "warm", None, create).await?;
    each(bench, "made", Some("create"), create).await?;
    {
        let _watch = Sightings::begin(&[&bench.stage.person_at_hub], &[Kind::Added]).await?;
        each(bench, "watched", Some("create, with one watch on the kind"), create).await?;
    }
    each(bench, "made", Some("merge patch of marks"), merge_marks(Answer::Object)).await?;
    let what = "merge patch of marks, answered with metadata only";
    each(bench, "watched", Some(what), merge_marks(Answer::Metadata)).await?;
    let objects = updates(bench).await?;
    each(bench, "updated", Some("update with marks"), move |client, name| {
        let object = objects.get(&name).cloned().unwrap_or_default();
        async move { widget::update(&client, &name, object).await }
    })
    .await?;
    each(bench, "made", Some("merge patch of status"), |client, name| async move {
        widget::write_status(&client, &name, 1).await
    })
    .await?;
    each(bench, "applied", Some("server-side apply that creates"), apply(Answer::Object)).await?;
    let what = "server-side apply that creates, answered with metadata only";
    each(bench, "applied-again", Some(what), apply(Answer::Metadata)).await?;
    each(bench, "applied", Some("server-side apply that changes nothing"), apply(Answer::Object)).await
}

/// Objects that are there, each as it would be sent to add marks to it, by name.
async fn updates(bench: &mut Bench) -> anyhow::Result<HashMap<String, Vec<u8>>> {
    each(bench, "updated", None, create).await?;
    let mut objects = HashMap::new();
    for number in 0..COUNT {
        let name = name("updated", number);
        let object = widget::marked(&bench.stage.person_at_hub, &name).await?;
        objects.insert(name, object);
    }
    Ok(objects)
}

type Work = BoxFuture<'static, anyhow::Result<()>>;

fn merge_marks(answer: Answer) -> impl Fn(kube::Client, String) -> Work + Send + Sync + 'static {
    move |client, name| async move { widget::merge_marks(&client, &name, answer).await }.boxed()
}

fn apply(answer: Answer) -> impl Fn(kube::Client, String) -> Work + Send + Sync + 'static {
    move |client, name| async move { widget::apply(&client, &name, answer).await }.boxed()
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
