//! A provider that fills consumers' API servers: what it writes arrives, at a bounded rate and size.

use std::time::{Duration, Instant};

use e2e::{
    Neighbour, Object, Scene, Tally,
    kind::{CERTIFICATE, SECRET, WIDGET},
};
use serde_json::{Value, json};

use crate::{ARIADNE, BART, HOMER, THESEUS, WORLD};

/// How often the attacker changes its status.
const CHANGES: u32 = 80;
/// Between two of them.
const BEAT: Duration = Duration::from_millis(50);

#[test]
fn a_status_that_changes_twenty_times_a_second_costs_the_consumer_one_write_a_second() {
    WORLD.run(async |world| {
        let (homer, ariadne) = (world.consumer(HOMER), world.provider(ARIADNE));
        let scene = Scene::new(world, "hostile-churn", &[homer]).await;
        let health = world.broker().await.as_ref().unwrap().health_address().to_owned();
        let own = json!({"key": "scene", "valueIn": [scene.name]});
        scene.accept_kind(&WIDGET, ariadne, &[own], Value::Null).await;
        homer.create(&WIDGET, scene.ns(), "w", json!({"spec": {"scene": scene.name}})).await;
        let copy = ariadne.until_there(&WIDGET, scene.ns(), &homer.copy_name("w")).await;
        let neighbour =
            Neighbour::start("hostile-churn-bart", world.consumer(BART), world.provider(THESEUS), &health).await;
        let payload = |round: u32| format!("{round}-{}", "x".repeat(57 << 10));
        let tally = Tally::begin([homer]).await;
        let started = Instant::now();
        let mut beat = tokio::time::interval(BEAT);
        for round in 1..=CHANGES {
            // The pace is the attack.
            beat.tick().await;
            ariadne.set_status(&WIDGET, scene.ns(), copy.name(), json!({"payload": payload(round)})).await;
        }
        let last = payload(CHANGES);
        let arrived = |seen: &Object| seen.text("/status/payload") == last;
        homer.until(&WIDGET, scene.ns(), "w", "the last status", arrived).await;
        let seconds = started.elapsed().as_secs();
        let requests = tally.requests().await.within(scene.ns()).on("widgets");
        let written = requests.writes().0.len() as u64;
        println!("{CHANGES} changes in {seconds} s: {written} writes to the consumer");
        // Five at once, then one a second, and what the division has cut off.
        assert!((3..=seconds + 7).contains(&written), "{written} writes in {seconds} s");
        neighbour.end().await;
    });
}

/// A status of about so many bytes.
fn status(kibibytes: usize, word: &str) -> Value {
    let condition = |index: usize| {
        json!({
            "type": format!("Filler{index}"), "status": "True", "reason": "Filler", "message": "x".repeat(20 << 10),
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        })
    };
    let conditions: Vec<Value> = (0..kibibytes / 20).map(condition).collect();
    json!({"status": word, "conditions": conditions})
}

#[test]
fn a_status_that_is_too_large_is_told_and_the_one_before_stays() {
    WORLD.run(async |world| {
        let (homer, ariadne) = (world.consumer(HOMER), world.provider(ARIADNE));
        let scene = Scene::new(world, "hostile-large-status", &[homer]).await;
        scene.accept(ariadne, Value::Null).await;
        scene.certificate(homer, "www").await;
        let copy = scene.copy(homer, "www", ariadne).await;
        let say = async |kibibytes, word| {
            ariadne.set_status(&CERTIFICATE, scene.ns(), copy.name(), status(kibibytes, word)).await;
        };
        say(40, "Provisioning").await;
        scene.until(homer, "www", "the status", |seen| seen.text("/status/status") == "Provisioning").await;
        say(80, "Failed").await;
        let told = |seen: &Object| seen.has("Brokered", "True", "StatusTooLarge");
        let origin = scene.until(homer, "www", "to say that it is too large", told).await;
        assert_eq!(origin.text("/status/status"), "Provisioning");
        assert!(origin.condition("Brokered").unwrap().message.contains("64 KiB"), "{origin}");
        homer.until_event(scene.ns(), "www", "StatusTooLarge", |_| true).await;
        say(20, "Available").await;
        let back = |seen: &Object| seen.text("/status/status") == "Available" && seen.has("Brokered", "True", "Placed");
        scene.until(homer, "www", "the next status", back).await;
    });
}

#[test]
fn secrets_that_are_too_large_alone_or_together_are_told() {
    WORLD.run(async |world| {
        let (homer, theseus) = (world.consumer(HOMER), world.provider(THESEUS));
        let scene = Scene::new(world, "hostile-large-secrets", &[homer]).await;
        scene.accept(theseus, Value::Null).await;
        scene.certificate(homer, "www").await;
        let copy = scene.copy(homer, "www", theseus).await;
        let mut related = json!({});
        // Base64 makes four bytes of three.
        for (index, kibibytes) in [210, 180, 180, 180, 180, 180].into_iter().enumerate() {
            let name = format!("{}-{index}", copy.name());
            let content = json!({"stringData": {"k": "x".repeat(kibibytes << 10)}});
            theseus.create(&SECRET, scene.ns(), &name, content).await;
            related[format!("r{index}")] = json!({"gvk": SECRET.gvk(), "name": name});
        }
        theseus.set_status(&CERTIFICATE, scene.ns(), copy.name(), json!({"relatedResources": related})).await;
        let told = async |index: &str, flag: &str| {
            let name = format!("{}-{index}", copy.name());
            let says = |event: &e2e::Told| event.message.contains(&name) && event.message.contains(flag);
            homer.until_event(scene.ns(), "www", "RelatedRefused", says).await;
        };
        told("0", "--max-related-size").await;
        told("5", "--max-related-total").await;
        for index in 1..5 {
            homer.until_there(&SECRET, scene.ns(), &format!("www-{index}")).await;
        }
        scene.barrier(homer, theseus).await;
        for index in [0, 5] {
            assert!(homer.find(&SECRET, scene.ns(), &format!("www-{index}")).await.is_none(), "www-{index}");
        }
    });
}
