//! Who asked for how much, and what to try.

use comfy_table::{Table, presets::UTF8_FULL_CONDENSED};
use example_stage::{Stage, installation::GRAPHS, place::PERSON};

use crate::scene::{BROKER_USER, GRAPHS_USER, Scene};

const FOLDER: &str = "examples/graphs/consumer";

pub(crate) async fn show(scene: &Scene, stage: &Stage) -> anyhow::Result<()> {
    let Scene { homer, internal, installed } = scene;
    stage.screen.heading("Who asked for how much");
    let mut table = Table::new();
    table.load_preset(UTF8_FULL_CONDENSED).set_header(["cluster", "user", "reads", "writes", "denied"]);
    for (place, mark) in [homer, internal].into_iter().zip(installed) {
        let seen = place.cluster.audit().settled_since(*mark).await?;
        for user in [GRAPHS_USER, BROKER_USER, "provider-controller", PERSON] {
            let own = seen.of(user);
            let denied = own.only(|event| event.code == 403);
            let counts = [own.reads().len(), own.writes().len(), denied.len()].map(|count| count.to_string());
            if !own.is_empty() {
                table.add_row([place.name(), user].into_iter().chain(counts.iter().map(String::as_str)));
            }
        }
    }
    stage.screen.say(&table.to_string());
    stage.suggest(&[
        (homer, "get rgd,graphrevisions"),
        (homer, "get webapp shop -o yaml"),
        (homer, "get deploy,svc,ing,cm -l kro.run/instance-name=shop"),
        (homer, "patch webapp shop --type merge -p '{\"spec\":{\"ingress\":{\"enabled\":false}}}'"),
        (homer, &format!("apply -f {FOLDER}/bakery.yaml")),
        (homer, "get securesite,excert,secret"),
        (internal, "get excert,secret"),
        (homer, "delete webapp shop"),
    ])?;
    let log = stage.lab.directory().join(format!("{GRAPHS}.log"));
    stage.screen.say(&format!("The log of {GRAPHS} is {}.", log.display()));
    Ok(())
}
