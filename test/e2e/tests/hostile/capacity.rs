//! Capacity counts what a provider holds, whether or not its origins are known.

use std::fs;

use e2e::{Broker, BrokerSetup, DEADLINE, Kind, Object, Scene, kind::ACCEPT_API, scene::ACCEPT_NAMESPACE};
use harness::wait_for;
use serde_json::json;

use crate::{ARIADNE, BART, HOMER, WORLD};

const BARREL: Kind = Kind::test("Barrel", "barrels");

#[test]
fn a_restart_while_a_consumer_is_away_takes_in_no_more_than_fits() {
    WORLD.run(async |world| {
        let _beside = crate::MIGRATIONS.read().await;
        let (homer, bart, ariadne) = (world.consumer(HOMER), world.consumer(BART), world.provider(ARIADNE));
        let scene = Scene::new(world, "capacity", &[homer, bart]).await;
        for place in [homer, bart, ariadne] {
            place.apply(&BARREL.crd().to_string()).await;
        }
        let accept = scene.accept_kind(&BARREL, ariadne, &[], json!({"capacity": 10})).await;
        let setup = BrokerSetup {
            name: "capacity",
            coordination: Some(&world.hub),
            consumers: vec![homer, bart],
            providers: vec![ariadne],
            kinds: &[BARREL],
            ..BrokerSetup::default()
        };
        let mut broker = Broker::start(&world.lab, &setup).await;
        for number in 0..8 {
            bart.create(&BARREL, scene.ns(), &format!("b{number}"), json!({"spec": {}})).await;
        }
        let held = async |count: usize| {
            let what = format!("{count} copies");
            let waited = wait_for(DEADLINE, &what, async || {
                let found = ariadne.list(&BARREL, scene.ns()).await.len();
                if found == count { Ok(()) } else { Err(found) }
            });
            waited.await.unwrap();
        };
        held(8).await;

        // Back without bart: its API server does not answer.
        broker.terminate().await;
        let file = broker.directory().join("consumer").join("bart.kubeconfig");
        let right = fs::read_to_string(&file).unwrap();
        fs::write(&file, right.replace(&bart.cluster.server_url(), "https://127.0.0.1:1")).unwrap();
        for number in 0..10 {
            homer.create(&BARREL, scene.ns(), &format!("h{number}"), json!({"spec": {}})).await;
        }
        broker.start_again(&world.lab).await;
        held(10).await;
        let count = |reason: &str, all: &[Object]| {
            all.iter().filter(|seen| seen.condition("Brokered").is_some_and(|told| told.reason == reason)).count()
        };
        let told = wait_for(DEADLINE, "eight to wait", async || {
            let all = homer.list(&BARREL, scene.ns()).await;
            if (count("NoProvider", &all), count("Placed", &all)) == (8, 2) { Ok(all) } else { Err(format!("{all:?}")) }
        });
        for seen in told.await.unwrap() {
            let told = seen.condition("Brokered").unwrap();
            assert!(told.status == "True" || told.message.contains("is full (capacity 10)"), "{told:?}");
        }
        // It says what it holds.
        let ten = |seen: &Object| seen.at("/status/placed") == &json!(10);
        ariadne.until(&ACCEPT_API, ACCEPT_NAMESPACE, &accept, "10 placed", ten).await;
        assert_eq!(ariadne.list(&BARREL, scene.ns()).await.len(), 10);

        // It is back: all as before. What it gives up goes to those who wait.
        fs::write(&file, right).unwrap();
        let placed = |seen: &Object| seen.has("Brokered", "True", "Placed");
        bart.edit(&BARREL, scene.ns(), "b0", json!({"spec": {"edited": true}})).await;
        let edited = |seen: &Object| seen.at("/spec/edited") == &json!(true);
        ariadne.until(&BARREL, scene.ns(), &bart.copy_name("b0"), "the edit", edited).await;
        bart.until(&BARREL, scene.ns(), "b0", "to be placed", placed).await;
        assert_eq!(ariadne.list(&BARREL, scene.ns()).await.len(), 10);
        for number in 0..8 {
            bart.delete(&BARREL, scene.ns(), &format!("b{number}")).await;
        }
        for number in 0..10 {
            homer.until(&BARREL, scene.ns(), &format!("h{number}"), "to be placed", placed).await;
        }
        held(10).await;
        for number in 0..10 {
            homer.delete(&BARREL, scene.ns(), &format!("h{number}")).await;
        }
        held(0).await;
    });
}
