//! Requests that were denied: none of operator and broker, in any cluster.

use example_stage::Screen;
use harness::{AuditEvent, Mark};

use crate::{brokers::SYSTEM, world::World};

/// While everything is there.
pub(crate) async fn play(world: &World, screen: &Screen) -> anyhow::Result<()> {
    screen.heading("Permissions");
    let what = "no request of operator or broker was denied in any cluster";
    let counted = screen.step(what, none(world, |_| false)).await?;
    screen.detail(&format!("{counted} requests by the audit logs"));
    Ok(())
}

/// When it is gone. Permissions may go before the process that has them: that one cannot release its lease, which goes too.
pub(crate) async fn at_the_end(world: &World, screen: &Screen) -> anyhow::Result<()> {
    let what = "nor was it when they went, but for the release of leases by then without permission";
    screen.step(what, none(world, |event| event.resource == "leases")).await.map(drop)
}

/// Returns how many requests there were.
async fn none(world: &World, excused: impl Fn(&AuditEvent) -> bool) -> anyhow::Result<usize> {
    let prefix = format!("system:serviceaccount:{SYSTEM}:");
    let mut counted = 0;
    for place in [&world.hub, &world.homer, &world.internal, &world.corp] {
        let events = place.cluster.audit().settled_since(Mark::START).await?;
        let ours = events.only(|event| event.user.starts_with(&prefix));
        let denied = ours.only(|event| matches!(event.code, 401 | 403) && !excused(event));
        let told = |event: &AuditEvent| {
            let AuditEvent { received, code, user, verb, uri, .. } = event;
            format!("{received} {code} {user} {verb} {uri}")
        };
        let denied: Vec<_> = denied.iter().map(told).collect();
        anyhow::ensure!(denied.is_empty(), "{} denied in {}: {denied:#?}", denied.len(), place.name());
        anyhow::ensure!(!ours.is_empty(), "no request in {}", place.name());
        counted += ours.len();
    }
    Ok(counted)
}
