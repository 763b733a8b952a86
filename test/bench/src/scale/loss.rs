//! A provider that holds many objects answers nobody any more, and its AcceptAPI says that they may be placed anew.

use std::collections::HashSet;
use std::time::Instant;

use super::change::Role;
use super::kind::Kind;
use super::layout::{LOST, UNREACHABLE_AFTER, is_of};
use super::stubs::Stubs;
use super::{DEADLINE, PATIENCE, Scale, say, seconds};
use crate::report::{Goal, ratio};
use crate::tally;
use crate::usage::CpuTime;

const PART: &str = "scale: loss of a provider";

/// How its objects moved.
struct Moved {
    /// Those that have a copy elsewhere.
    objects: usize,
    /// When the first of these copies was there, and the last.
    first: Instant,
    last: Instant,
    /// When the last consumer knew.
    told: Instant,
    /// Changes of others' copies.
    others: usize,
}

pub(super) async fn measure(scale: &mut Scale) -> anyhow::Result<()> {
    let count = scale.ground.layout.lost;
    say(&format!("a provider of {count} objects falls silent"));
    scale.ground.quiet().await?;
    let held = scale.ground.stubs.lost().store().count(Kind::Widget);
    anyhow::ensure!(held > 0, "the provider that is to be lost holds nothing");
    let since = scale.ground.mark().await?;
    let (all, cpu, began) = (CpuTime::now()?, scale.broker.cpu()?, Instant::now());
    scale.ground.stubs.lost().fall_silent();
    let moved = until_moved(&mut scale.ground.stubs, held).await?;
    let cpu = scale.broker.cpu()? - cpu;
    scale.ground.report.noise(&(CpuTime::now()? - &all), began, PART);
    scale.ground.quiet().await?;
    let writes = scale.ground.stubs.asked.writes_since(&since.1);

    let report = &mut scale.ground.report;
    report.note(PART, "objects that it held", ratio(held, 1), "");
    if held < count {
        // Its AcceptAPI was heard of later than those of others.
        report
            .remark(format!("the provider that was lost had got {held} of the {count} objects that were meant for it"));
    }
    report.judge(PART, "of these, with a copy elsewhere", ratio(moved.objects, 1), "", Goal::Exactly(ratio(held, 1)));
    report.judge(PART, "copies of others that were touched", ratio(moved.others, 1), "", Goal::Exactly(0.0));
    let name = format!("silence to the first new copy (unreachableAfterSeconds: {UNREACHABLE_AFTER})");
    report.note(PART, name, seconds(began, moved.first), "s");
    report.note(PART, "first new copy to the last", seconds(moved.first, moved.last), "s");
    report.note(PART, "silence until all consumers know", seconds(began, moved.told), "s");
    report.note(PART, "broker CPU per object", cpu * ratio(1, held), "ms");
    scale.note_writes(PART, &writes, held);
    scale.note_memory(PART)
}

/// Waits until so many objects of the lost provider have copies elsewhere, and their consumers know.
async fn until_moved(stubs: &mut Stubs, count: usize) -> anyhow::Result<Moved> {
    let lost = stubs.lost().number;
    let began = Instant::now();
    let (mut copied, mut known) = (HashSet::with_capacity(count), HashSet::with_capacity(count));
    let (mut first, mut latest, mut told, mut others) = (None, began, began, 0);
    while copied.len() < count || known.len() < count {
        let change = stubs.next(PATIENCE).await.map_err(|error| {
            error.context(format!("{} of {count} have new copies, {} of them are known", copied.len(), known.len()))
        })?;
        anyhow::ensure!(began.elapsed() < DEADLINE, "only {} of {count} are known after {DEADLINE:?}", known.len());
        if change.role == Role::Provider {
            match tally::origin_of(&change.name).filter(|origin| is_of(LOST, origin)) {
                Some(_) if change.cluster == lost => {}
                Some(origin) => {
                    first.get_or_insert(change.at);
                    if copied.insert(origin.to_owned()) {
                        latest = change.at;
                    }
                }
                None => others += 1,
            }
        } else if change.tells(1) && copied.contains(&change.name) && known.insert(change.name) {
            told = change.at;
        }
    }
    Ok(Moved { objects: copied.len(), first: first.unwrap_or(latest), last: latest, told, others })
}
