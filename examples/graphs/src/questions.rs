//! What a person asks about an instance: how its nodes stand, what belongs to it in which cluster, and whether that is as its
//! graph has it.

use example_stage::Stage;

use crate::{brokered::BAKERY, scene::Scene};

pub(crate) async fn play(scene: &Scene, stage: &Stage) -> anyhow::Result<()> {
    stage.screen.heading("kubectl broker: how does an instance stand?");
    let instance = format!("securesite/{BAKERY}");
    // The broker's own rights in homer end where its kinds do.
    let kubeconfig = stage.lab.directory().join(format!("{}.kubeconfig", scene.homer.name()));
    let kubeconfig = kubeconfig.display().to_string();
    let another = concat!(env!("CARGO_MANIFEST_DIR"), "/consumer/bakery.yaml");
    let simulate = async {
        let asked = ["simulate", "-f", another, "--in", "homer", "--consumer-kubeconfig", &kubeconfig];
        let said = stage.kubectl_broker(&asked).await?;
        for expected in ["by ResourceGraphDefinition securesite, revision 1:", "internal-corp"] {
            anyhow::ensure!(said.contains(expected), "expected {expected:?}, saw:\n{said}");
        }
        Ok(said)
    };
    let said = stage.step("kubectl broker simulate -f bakery.yaml --in homer", simulate).await?;
    stage.screen.detail(&said);
    for (command, expected) in [
        ("why", &["Nodes, by ResourceGraphDefinition securesite", "Certificate default/bakery  ready"][..]),
        (
            "trace",
            &["certificate consumer#homer Certificate default/bakery", "provider#internal-corp Certificate default/"],
        ),
        ("diff", &["certificate  Certificate default/bakery  as rendered"]),
    ] {
        let asked = async {
            let said = stage.kubectl_broker(&[command, &instance, "--consumer-kubeconfig", &kubeconfig]).await?;
            for expected in expected {
                anyhow::ensure!(said.contains(expected), "expected {expected:?}, saw:\n{said}");
            }
            Ok(said)
        };
        let said = stage.step(&format!("kubectl broker {command} {instance}"), asked).await?;
        stage.screen.detail(&said);
    }
    Ok(())
}
