//! What a person asks when all is at rest: where is it and why, what belongs to it, and is anything wrong?

use example_stage::Stage;

use super::arrival::WEBSITE;

pub(crate) async fn play(stage: &Stage) -> anyhow::Result<()> {
    stage.screen.heading("kubectl broker: where is it and why, and is anything wrong?");
    let object = format!("certificate/{WEBSITE}");
    for (args, expected) in [
        (&["why", &*object][..], "at provider corp-com"),
        (&["trace", &object], "brought as consumer#homer Secret"),
        (&["clusters"], "internal-corp"),
        (&["doctor"], "in 4 clusters"),
    ] {
        let asked = async {
            let said = stage.kubectl_broker(args).await?;
            anyhow::ensure!(said.contains(expected), "expected {expected:?}, saw:\n{said}");
            Ok(said)
        };
        let said = stage.step(&format!("kubectl broker {}", args.join(" ")), asked).await?;
        stage.screen.detail(&said);
    }
    Ok(())
}
