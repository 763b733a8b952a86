//! What an object costs the broker's memory.

use super::{Bench, DEADLINE, SETTLED, say};
use crate::report::{Goal, ratio};

const MEMORY: &str = "memory";

/// Fills up to the number of objects for this part, and looks.
pub(crate) async fn measure(bench: &mut Bench) -> anyhow::Result<()> {
    let missing = bench.sizes.many.saturating_sub(bench.objects);
    if missing > 0 {
        say(&format!("{missing} more objects"));
        bench.fill("many", missing).await?;
        bench.stage.quiet(SETTLED, DEADLINE).await?;
    }
    let resident = bench.broker.resident_kib()?;
    let (base, before) = bench.base;
    bench.report.note(MEMORY, format!("resident with {before} objects"), base / 1_024.0, "MiB");
    bench.report.note(MEMORY, format!("resident with {} objects", bench.objects), resident / 1_024.0, "MiB");
    let name = format!("per object, between {before} and {}", bench.objects);
    let per_object = (resident - base) * ratio(1, bench.objects - before);
    bench.report.judge(MEMORY, name, per_object, "KiB", Goal::AtMost(10.0));
    Ok(())
}

/// The same without filling up, where a part comes by.
pub(crate) fn note(bench: &mut Bench) -> anyhow::Result<()> {
    let (base, before) = bench.base;
    let per_object = (bench.broker.resident_kib()? - base) * ratio(1, bench.objects - before);
    let name = format!("resident per object, between {before} and {}", bench.objects);
    bench.report.judge(MEMORY, name, per_object, "KiB", Goal::AtMost(10.0));
    Ok(())
}
