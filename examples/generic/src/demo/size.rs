//! By boundary: small machines here, large ones there.

use broker_api::{condition::BROKERED, generic::compute::VirtualMachine};
use example_stage::Stage;
use k8s_openapi::api::core::v1::ConfigMap;

use super::scene::{Scene, served};

pub(crate) async fn play(scene: &Scene, stage: &Stage) -> anyhow::Result<()> {
    let Scene { homer, edge, region } = scene;
    stage.screen.heading("By boundary: machines");
    let what = "homer wants VirtualMachines sensor (512 MiB), builder (64 GiB), scratch (any), mainframe (2 TiB)";
    stage.step(what, homer.apply(include_str!("../../consumer/virtualmachines.yaml"))).await?;

    for (name, provider, why) in
        [("sensor", edge, "up to 4 GiB"), ("builder", region, "more than 4 GiB"), ("scratch", edge, "missing: Accept")]
    {
        let placed = async {
            let by = served::<VirtualMachine>(homer, name).await?;
            anyhow::ensure!(by == provider.name(), "expected it in {}, it is in {by}", provider.name());
            let address = homer.api::<ConfigMap>().get(&format!("{name}-address")).await?;
            Ok(address.data.unwrap_or_default())
        };
        let what =
            format!("{name} is in {} ({why}), and its address in homer's ConfigMap {name}-address", provider.name());
        let data = stage.step(&what, placed).await?;
        let told = data.iter().map(|(key, text)| format!("{key} {text}")).collect::<Vec<_>>().join(", ");
        stage.screen.detail(&told);
    }

    let refused = async {
        // Each provider says which rule it breaks.
        let told = |message: &str| message.contains("edge/") && message.contains("region/");
        let refused = homer.until::<VirtualMachine>("mainframe", BROKERED, |held| {
            held.status == "False" && held.reason == "NoProvider" && told(&held.message)
        });
        let refused = refused.await?;
        let copies = [edge.copies_of::<VirtualMachine>("mainframe").await?, region.copies_of("mainframe").await?];
        anyhow::ensure!(copies.iter().all(Vec::is_empty), "expected no copy of mainframe");
        Ok(refused)
    };
    let refused = stage.step("mainframe is too large for both: Brokered=False says why", refused).await?;
    stage.screen.detail(&format!("{}: {}", refused.reason, refused.message));
    Ok(())
}
