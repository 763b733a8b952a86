//! Many and costly AcceptAPIs are charged to their provider.

use std::sync::atomic::{AtomicBool, Ordering};

use e2e::{Neighbour, Place, Scene, kind::ACCEPT_API};
use futures::future::join_all;
use serde_json::{Value, json};

use tokio::sync::Mutex;

use crate::{ARIADNE, BART, COSTLY, HOMER, THESEUS, WORLD};

/// AcceptAPIs of one provider.
const MANY: usize = 160;

/// Patterns in each.
const PATTERNS: usize = 20;

/// How many of them count.
const MOST: usize = 64;

/// So many AcceptAPIs of a kind count at one provider: these tests take turns, with a kind of their own.
static TURN: Mutex<()> = Mutex::const_new(());

/// Slow to compile and slow to match.
fn patterns(round: usize) -> Vec<Value> {
    let pattern = |at| format!("^([a-z0-9.-]*[a-z]{{1,{}}}){{1,20}}x{round}$", 3 + at % 7);
    (0..PATTERNS).map(|at| json!({"key": "fqdn", "pattern": pattern(at), "missing": "Accept"})).collect()
}

/// Edits them, one after the other, until it is stopped. Returns how often.
async fn edit(provider: &Place, names: &[String], stopped: &AtomicBool) -> usize {
    let mut edits = 0;
    while !stopped.load(Ordering::Relaxed) {
        let name = &names[edits % names.len()];
        edits += 1;
        provider.edit(&ACCEPT_API, "default", name, json!({"spec": {"filters": patterns(edits)}})).await;
    }
    edits
}

fn reason(accept: &e2e::Object) -> String {
    accept.condition("Ready").map(|told| told.reason).unwrap_or_default()
}

#[test]
fn many_costly_acceptapis_that_are_edited_all_the_time_cost_others_nothing() {
    WORLD.run(async |world| {
        let _turn = TURN.lock().await;
        let (homer, bart) = (world.consumer(HOMER), world.consumer(BART));
        let (ariadne, theseus) = (world.provider(ARIADNE), world.provider(THESEUS));
        let scene = Scene::new(world, "costly", &[homer]).await;
        let health = world.broker().await.as_ref().unwrap().health_address().to_owned();
        let neighbour = Neighbour::start("beside-costly", bart, theseus, &health).await;
        join_all((0..20).map(async |at| {
            let name = format!("web-{at}");
            let spec = json!({"fqdn": scene.fqdn(&name)});
            homer.create(&COSTLY, scene.ns(), &name, json!({"spec": spec})).await
        }))
        .await;
        let names: Vec<String> = (0..MANY).map(|at| format!("costly-{at:03}")).collect();
        for some in names.chunks(20) {
            join_all(some.iter().map(async |name| {
                let spec = json!({"gvr": COSTLY.gvr(), "filters": patterns(0)});
                ariadne.create(&ACCEPT_API, "default", name, json!({"spec": spec})).await
            }))
            .await;
        }
        neighbour.until_served(3).await;
        let stopped = AtomicBool::new(false);
        let attack = async {
            let all = names.chunks(MANY / 10).map(|some| edit(ariadne, some, &stopped));
            join_all(all).await.into_iter().sum::<usize>()
        };
        let served = async {
            neighbour.until_served(6).await;
            stopped.store(true, Ordering::Relaxed);
        };
        let (edits, ()) = tokio::join!(attack, served);
        println!("{edits} edits");
        neighbour.end().await;

        let last = names.last().unwrap();
        let told = ariadne.until(&ACCEPT_API, "default", last, "it to be told that there are too many", |seen| {
            seen.has("Ready", "False", "TooMany")
        });
        assert!(told.await.condition("Ready").unwrap().message.contains("64"));
        let settled = harness::wait_for(e2e::DEADLINE, "the oldest to count and no others", async || {
            let all = ariadne.list(&ACCEPT_API, "default").await;
            let counting = all.iter().filter(|seen| seen.name().starts_with("costly-") && reason(seen) != "TooMany");
            let counting: Vec<&str> = counting.map(e2e::Object::name).collect();
            let oldest = counting.len() == MOST && counting.iter().all(|name| **name < *"costly-080");
            anyhow::ensure!(oldest, "{counting:?}");
            Ok(())
        });
        settled.await.unwrap_or_else(|error| panic!("{error:#}"));
        // When older ones go, the next count.
        let (last, others) = names.split_last().unwrap();
        for some in others.chunks(20) {
            join_all(some.iter().map(async |name| ariadne.delete(&ACCEPT_API, "default", name).await)).await;
        }
        // Whether its patterns fit the bounds of patterns is another matter.
        let counts = |seen: &e2e::Object| !matches!(reason(seen).as_str(), "" | "TooMany");
        ariadne.until(&ACCEPT_API, "default", last, "it to count", counts).await;
        ariadne.delete(&ACCEPT_API, "default", last).await;
        scene.accept_kind(&COSTLY, ariadne, &[scene.domain_filter()], Value::Null).await;
        ariadne.until_there(&COSTLY, scene.ns(), &homer.copy_name("web-0")).await;
        scene.clear(&COSTLY, &[homer]).await;
    });
}

/// AcceptAPIs whose expressions take their time, for each of a tenant's objects, again and again.
#[test]
fn decisions_that_take_long_hold_up_nobody_else_and_are_told() {
    WORLD.run(async |world| {
        let _turn = TURN.lock().await;
        let (homer, bart) = (world.consumer(HOMER), world.consumer(BART));
        let (ariadne, theseus) = (world.provider(ARIADNE), world.provider(THESEUS));
        let scene = Scene::new(world, "long-decisions", &[homer]).await;
        let health = world.broker().await.as_ref().unwrap().health_address().to_owned();
        let neighbour = Neighbour::start("beside-long-decisions", bart, theseus, &health).await;
        let expression = "self.spec.items.all(a, self.spec.items.all(b, a + b >= 0)) && self.spec.items.size() < 0";
        let names: Vec<String> = (0..MOST).map(|at| format!("long-{at:02}")).collect();
        join_all(names.iter().map(async |name| {
            let armed = json!({"key": "bomb", "valueIn": ["long"]});
            let spec = json!({"gvr": COSTLY.gvr(), "filters": [armed], "expression": expression});
            ariadne.create(&ACCEPT_API, "default", name, json!({"spec": spec})).await
        }))
        .await;
        let items: Vec<usize> = (0..60).collect();
        let victims: Vec<String> = (0..10).map(|at| format!("victim-{at}")).collect();
        for name in &victims {
            let spec = json!({"bomb": "long", "items": items});
            homer.create(&COSTLY, scene.ns(), name, json!({"spec": spec})).await;
        }
        let stopped = AtomicBool::new(false);
        let attack = async {
            let mut round = 0;
            while !stopped.load(Ordering::Relaxed) {
                round += 1;
                let edit = async |name| homer.edit(&COSTLY, scene.ns(), name, json!({"spec": {"round": round}})).await;
                join_all(victims.iter().map(|name| edit(name))).await;
            }
        };
        let served = async {
            neighbour.until_served(6).await;
            stopped.store(true, Ordering::Relaxed);
        };
        tokio::join!(attack, served);
        neighbour.end().await;
        {
            let broker = world.broker().await;
            let broker = broker.as_ref().unwrap();
            let metrics = broker.metrics().await.unwrap();
            let slow = metrics.lines().find_map(|line| line.strip_prefix("resource_broker_slow_decisions_total "));
            let slow: u64 = slow.unwrap_or_else(|| panic!("{metrics}")).parse().unwrap();
            println!("{slow} slow decisions");
            let told = broker.log().contains("a decision took long");
            assert_eq!(told, slow > 0, "{slow} are counted");
        }
        join_all(names.iter().map(async |name| ariadne.delete(&ACCEPT_API, "default", name).await)).await;
        scene.clear(&COSTLY, &[homer]).await;
    });
}
