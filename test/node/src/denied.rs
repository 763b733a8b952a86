//! Requests that were denied: none of operator and broker, in any cluster.

use example_stage::Screen;
use harness::{AuditEvent, Mark};

use crate::{brokers::SYSTEM, world::World};

pub(crate) async fn play(world: &World, screen: &Screen) -> anyhow::Result<()> {
    screen.heading("Permissions");
    let counted = screen.step("no request of operator or broker was denied in any cluster", none(world)).await?;
    screen.detail(&format!("{counted} requests by the audit logs"));
    Ok(())
}

/// Returns how many requests there were.
async fn none(world: &World) -> anyhow::Result<usize> {
    let prefix = format!("system:serviceaccount:{SYSTEM}:");
    let mut counted = 0;
    for place in [&world.hub, &world.homer, &world.internal, &world.corp] {
        let events = place.cluster.audit().settled_since(Mark::START).await?;
        let ours = events.only(|event| event.user.starts_with(&prefix));
        let denied = ours.only(|event| event.code == 403 || event.code == 401);
        let told = |event: &AuditEvent| format!("{} {} {}", event.user, event.verb, event.uri);
        let denied: Vec<_> = denied.iter().map(told).collect();
        anyhow::ensure!(denied.is_empty(), "{} denied in {}: {denied:#?}", denied.len(), place.name());
        anyhow::ensure!(!ours.is_empty(), "no request in {}", place.name());
        counted += ours.len();
    }
    Ok(counted)
}
