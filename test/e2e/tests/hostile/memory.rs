//! What is held of all clusters stays within the memory budget.
//!
//! Each attack has a broker of its own, so that what one leaves behind does not count for the next. None of these brokers
//! is told a budget: this machine's cgroup may have a limit or not, so they are told that of a Pod with 1 GiB.

use std::{fs, sync::Arc, time::Duration};

use e2e::{
    Broker, BrokerSetup, Kind, Liar, Lie, Neighbour, World,
    liar::{Asked, Part},
};
use harness::wait_for;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::{BART, THESEUS, WORLD};

/// What is brokered here.
pub(crate) const HOARD: Kind = Kind::test("Hoard", "hoards");

/// Its collection.
pub(crate) const HOARDS: &str = "/apis/e2e.test/v1/hoards";

/// Most memory that the broker may ever have had resident, in MiB.
const MOST: u64 = 600;

/// Objects of one tenant, and how long each is.
const OBJECTS: usize = 500;
const BYTES: usize = 1_300_000;

/// Held by the test whose broker serves [`HOARD`]: two of them would serve each other's objects, with different keys.
static HOARDING: Mutex<()> = Mutex::const_new(());

/// `VmHWM` of a process in MiB: the most that it ever had resident.
fn peak(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap() / 1024
}

/// A broker for a lying consumer and an honest one, with a neighbour who is served at the honest one while `attacked`
/// says that the attack is still under way. Says what the broker has held at the most, in MiB, and what it has logged.
pub(crate) async fn besieged(world: &World, name: &'static str, liar: &Liar, attacked: impl AsyncFn(&Liar)) -> String {
    let _alone = HOARDING.lock().await;
    let _beside = crate::MIGRATIONS.read().await;
    let (bart, theseus) = (world.consumer(BART), world.provider(THESEUS));
    let crd = HOARD.crd().to_string();
    tokio::join!(bart.apply(&crd), theseus.apply(&crd), world.hub.make_namespace(name));
    let mut args = liar.args("consumer", &world.lab.directory().join(format!("{name}-liar")));
    args.extend(crate::arguments(&["--namespace", name]));
    let setup = BrokerSetup {
        name,
        coordination: Some(&world.hub),
        consumers: vec![bart],
        providers: vec![theseus],
        kinds: &[HOARD],
        args,
        ..BrokerSetup::default()
    };
    let mut broker = Broker::spawn(&world.lab, &setup);
    let neighbour = Neighbour::of_kind(&HOARD, name, bart, theseus, broker.health_address()).await;
    attacked(liar).await;
    neighbour.until_served(5).await;
    let most = peak(broker.process().id());
    println!(
        "{name}: at most {most} MiB resident, {} requests to the liar, {} KiB of log",
        liar.asked(),
        broker.log().len() / 1024
    );
    assert!(broker.process().is_running(), "{}", broker.last_lines(20));
    neighbour.end().await;
    let log = broker.log();
    assert!(most < MOST, "{most} MiB resident\n{}", broker.last_lines(20));
    assert!(log.len() < 256 << 10, "{} bytes of log\n{}", log.len(), broker.last_lines(20));
    assert!(!log.contains("panicked"), "{log}");
    log
}

/// Waits until the liar has been asked for a path so often. A debug build takes its time for millions of values.
pub(crate) async fn until_asked(liar: &Liar, path: &str, times: usize) {
    let waited = wait_for(Duration::from_mins(5), "the liar to be asked", async || {
        let asked = liar.asked_for(path);
        if asked >= times { Ok(()) } else { Err(format!("{asked} of {times} times")) }
    });
    waited.await.unwrap();
}

/// Text that does not get shorter by compression.
fn noise(bytes: usize) -> Arc<str> {
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        // Six bits each; what JSON would escape is left out.
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[(state >> 40) as usize % 64]
    };
    (0..bytes).map(|_| char::from(next())).collect::<String>().into()
}

/// A list of so many objects of one content, in pages as they are asked for.
fn pages(
    count: usize,
    open: &'static str,
    content: &Arc<str>,
    close: &'static str,
) -> impl Fn(&Asked) -> Option<Lie> + use<> {
    let content = Arc::clone(content);
    move |asked| {
        if asked.path != HOARDS || asked.is_watch() {
            return None;
        }
        let limit: usize = asked.parameter("limit")?.parse().ok()?;
        let first: usize = asked.parameter("continue").and_then(|next| next.parse().ok()).unwrap_or_default();
        let end = (first + limit).min(count);
        let next = if end < count { end.to_string() } else { String::new() };
        let mut body = Vec::new();
        body.push(Part::Text(
            format!(r#"{{"metadata":{{"resourceVersion":"5","continue":"{next}"}},"items":["#).into(),
        ));
        for at in first..end {
            let comma = if at > first { "," } else { "" };
            let metadata =
                json!({"name": format!("h{at}"), "namespace": "n", "uid": format!("u{at}"), "resourceVersion": "5"});
            body.push(Part::Text(format!(r#"{comma}{{"metadata":{metadata},"spec":{open}"#).into()));
            body.push(Part::Text(Arc::clone(&content)));
            body.push(Part::Text(close.into()));
        }
        body.push(Part::Text("]}".into()));
        Some(Lie { code: 200, body })
    }
}

#[test]
fn large_objects_of_one_tenant_do_not_fill_the_memory() {
    WORLD.run(async |world| {
        let liar = Liar::start("hoarder", &[HOARD]).await;
        liar.rule(pages(OBJECTS, r#"{"fqdn":""#, &noise(BYTES), r#""}}"#));
        // Pages of seven or so, once the broker has found out how many fit.
        let asked = async |liar: &Liar| until_asked(liar, HOARDS, OBJECTS / 20).await;
        Box::pin(besieged(world, "memory-large", &liar, asked)).await;
    });
}

#[test]
fn objects_of_many_values_do_not_fill_the_memory() {
    WORLD.run(async |world| {
        let liar = Liar::start("beads", &[HOARD]).await;
        let beads = vec![r#"{"":0}"#; 180_000].join(",");
        liar.rule(pages(8, r#"{"fqdn":"x","beads":["#, &beads.into(), "]}}"));
        Box::pin(besieged(world, "memory-values", &liar, async |liar| until_asked(liar, HOARDS, 2).await)).await;
    });
}

#[test]
fn lists_of_rubbish_do_not_fill_the_memory_nor_the_log() {
    WORLD.run(async |world| {
        let liar = Liar::start("rubbish", &[HOARD]).await;
        let head = r#"{"metadata":{"resourceVersion":"5"},"items":[{}"#;
        liar.on(HOARDS, Lie::long(head, ",{}", 100 << 20, "]}"));
        let log =
            Box::pin(besieged(world, "memory-rubbish", &liar, async |liar| until_asked(liar, HOARDS, 4).await)).await;
        assert!(log.contains("rubbish"), "it is told: {log}");
    });
}

#[test]
fn pages_just_under_the_limit_do_not_fill_the_memory_nor_the_log() {
    WORLD.run(async |world| {
        let liar = Liar::start("junk", &[HOARD]).await;
        let head = r#"{"metadata":{"resourceVersion":"5","continue":"more"},"items":[{}"#;
        liar.on(HOARDS, Lie::long(head, ",{}", 15 << 20, "]}"));
        let log =
            Box::pin(besieged(world, "memory-junk", &liar, async |liar| until_asked(liar, HOARDS, 2).await)).await;
        assert!(log.contains("junk"), "it is told: {log}");
    });
}

#[test]
fn a_watch_line_without_an_end_does_not_fill_the_memory() {
    WORLD.run(async |world| {
        let liar = Liar::start("endless", &[HOARD]).await;
        for path in [HOARDS, "/api/v1/secrets", "/api/v1/configmaps"] {
            liar.on_watch(path, Lie::endless_line());
        }
        Box::pin(besieged(world, "memory-endless", &liar, async |liar| until_asked(liar, HOARDS, 5).await)).await;
    });
}

#[test]
fn a_flood_of_watch_events_starves_nobody() {
    WORLD.run(async |world| {
        let liar = Liar::start("firehose", &[HOARD]).await;
        let metadata = json!({"name": "h", "namespace": "n", "uid": "u", "resourceVersion": "6"});
        let event = json!({"type": "MODIFIED", "object": {"metadata": metadata, "spec": Value::Null}});
        liar.rule(move |asked| {
            (asked.is_watch() && asked.path == HOARDS).then(|| Lie::long("", &format!("{event}\n"), usize::MAX, ""))
        });
        Box::pin(besieged(world, "memory-firehose", &liar, async |liar| until_asked(liar, HOARDS, 2).await)).await;
    });
}
