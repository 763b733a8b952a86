//! Somebody keeps changing what the broker writes: it is told, and it is no hot loop.

use std::time::Duration;

use e2e::{Scene, Tally, kind::CERTIFICATE};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::{PEACE, WORLD, cast, placed};

/// How long the fight is watched after it was noticed.
const WATCHED: Duration = Duration::from_secs(4);

#[test]
fn a_fight_over_a_field_is_told_and_slowed_down() {
    WORLD.run(async |world| {
        let _order = PEACE.read().await;
        let [homer, _, _, theseus] = cast(world);
        let scene = Scene::new(world, "fight", &[homer]).await;
        scene.accept(theseus, Value::Null).await;
        scene.certificate(homer, "web").await;
        let copy = scene.copy(homer, "web", theseus).await;
        scene.until(homer, "web", "to be placed", placed).await;

        let tally = Tally::begin([homer, theseus]).await;
        let api = theseus.api(&CERTIFICATE, scene.ns());
        let fight = async {
            loop {
                let params = PatchParams::apply("fighter");
                let patch = json!({"spec": {"fqdn": "mine"}});
                // An unchanged object is not written, so this is one more round only after the broker's write.
                let _ = api.patch(copy.name(), &params, &Patch::Merge(&patch)).await;
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let noticed = async {
            let told = |told: &e2e::Told| told.message.contains("spec.fqdn") && told.message.contains("theseus");
            homer.until_event(scene.ns(), "web", "Fighting", told).await;
            scene.until(homer, "web", "to say so", |seen| seen.has("Brokered", "True", "Fighting")).await;
            // A span of time is what writes are counted in.
            tokio::time::sleep(WATCHED).await;
        };
        tokio::select! {
            () = fight => {}
            () = noticed => {}
        }
        let requests = tally.requests().await.within(scene.ns());
        let (copies, origins) = (
            requests.writes().only(|request| request.place == "theseus"),
            requests.writes().only(|request| request.place == "homer"),
        );
        // Four at once, then after 1, 2, 4, 8 s.
        assert!((4..=9).contains(&copies.0.len()), "writes to the copy: {copies}");
        assert!(origins.0.len() <= 4, "writes to the origin: {origins}");
        assert!(requests.events().0.len() <= 2, "{}", requests.events());
        assert_eq!(requests.reads().0.len(), 0, "{requests}");

        // The other side gives in: the broker's next write stays.
        let wanted = scene.fqdn("web");
        scene.copy_until(homer, "web", theseus, "to be right again", |seen| seen.text("/spec/fqdn") == wanted).await;
        // What is said of the fight stays for some minutes, unless people want something else.
        homer.edit(&CERTIFICATE, scene.ns(), "web", json!({"spec": {"fqdn": scene.fqdn("new")}})).await;
        scene.until(homer, "web", "to be at peace", placed).await;
    });
}
