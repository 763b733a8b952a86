//! The consumer's plural picks no AcceptAPI: each provider's own word says which kind a resource is there.

use e2e::{Broker, BrokerSetup, Kind, Object, Scene, kind::ACCEPT_API, scene::ACCEPT_NAMESPACE};
use serde_json::{Value, json};

use crate::{HOMER, THESEUS, WORLD};

const LEDGER: Kind = Kind::test("Ledger", "ledgers");
const BOAT: Kind = Kind::test("Boat", "boats");
/// What the consumer calls it.
const DISGUISED: Kind = Kind::test("Ledger", "boats");

#[test]
fn a_kind_under_another_plural_is_judged_by_the_accept_api_for_that_kind() {
    WORLD.run(async |world| {
        let _beside = crate::MIGRATIONS.read().await;
        let (homer, theseus) = (world.consumer(HOMER), world.provider(THESEUS));
        let scene = Scene::new(world, "plurals", &[homer]).await;
        homer.apply(&DISGUISED.crd().to_string()).await;
        theseus.apply(&format!("{}\n---\n{}", LEDGER.crd(), BOAT.crd())).await;
        let honest = json!({"key": "owner", "prefix": "honest"});
        let ledgers = scene.accept_kind(&LEDGER, theseus, &[honest], Value::Null).await;
        let boats = scene.accept_kind(&BOAT, theseus, &[], Value::Null).await;
        let setup = BrokerSetup {
            name: "plurals",
            coordination: Some(&world.hub),
            consumers: vec![homer],
            providers: vec![theseus],
            kinds: &[LEDGER, BOAT],
            ..BrokerSetup::default()
        };
        let _broker = Broker::start(&world.lab, &setup).await;
        for name in [&ledgers, &boats] {
            let used = |seen: &Object| seen.has("Ready", "True", "Ready");
            theseus.until(&ACCEPT_API, ACCEPT_NAMESPACE, name, "to be in use", used).await;
        }

        homer.create(&DISGUISED, scene.ns(), "sly", json!({"spec": {"owner": "nobody"}})).await;
        let refused = |seen: &Object| {
            seen.has("Brokered", "False", "NoProvider")
                && seen.condition("Brokered").is_some_and(|told| told.message.contains(&*ledgers))
        };
        let told = homer.until(&DISGUISED, scene.ns(), "sly", "to be refused", refused).await;
        assert!(!told.condition("Brokered").unwrap().message.contains(&*boats), "{told}");
        assert_eq!(theseus.list(&LEDGER, scene.ns()).await.len(), 0);

        // What the AcceptAPI for ledgers takes is served, whatever the consumer calls it.
        homer.create(&DISGUISED, scene.ns(), "fair", json!({"spec": {"owner": "honest bart"}})).await;
        let copy = theseus.until_there(&LEDGER, scene.ns(), &homer.copy_name("fair")).await;
        theseus.set_status(&LEDGER, scene.ns(), copy.name(), json!({"phase": "kept"})).await;
        let kept = |seen: &Object| seen.text("/status/phase") == "kept";
        homer.until(&DISGUISED, scene.ns(), "fair", "its status", kept).await;
        assert_eq!(theseus.list(&LEDGER, scene.ns()).await.len(), 1);
        for name in ["sly", "fair"] {
            homer.delete(&DISGUISED, scene.ns(), name).await;
            homer.until_gone(&DISGUISED, scene.ns(), name).await;
        }
    });
}
