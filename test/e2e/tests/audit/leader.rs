//! Two brokers with a leader election: one writes, the other takes over.

use std::time::Duration;

use e2e::{Broker, BrokerSetup, Object, Scene, Tally, World, kind::CERTIFICATE};
use harness::wait_for;
use serde_json::{Value, json};

use crate::{ALONE, HOMER, THESEUS, WORLD, hand_over};

/// The lease lasts 15 s, and takes some seconds more to be seen and taken on a busy machine.
pub(crate) const TAKEOVER: Duration = Duration::from_secs(40);

/// Two brokers and who they are to the API servers.
pub(crate) struct Pair<'a> {
    pub(crate) world: &'a World,
    pub(crate) brokers: [Broker; 2],
}

pub(crate) const USERS: [&str; 2] = ["broker", "broker-2"];

fn setup<'a>(world: &'a World, name: &'a str, user: &'a str) -> BrokerSetup<'a> {
    let args = vec!["--leader-elect".to_owned()];
    BrokerSetup { name, user, kinds: &[CERTIFICATE], args, ..world.setup() }
}

async fn leads(broker: &Broker) -> bool {
    let metrics = broker.metrics().await.unwrap_or_default();
    metrics.contains("leader_election_master_status{name=\"resource-broker\"} 1")
}

impl Pair<'_> {
    pub(crate) async fn until_leads(&self, which: usize) {
        let what = format!("{} to lead", USERS[which]);
        let waited = wait_for(TAKEOVER, &what, async || leads(&self.brokers[which]).await);
        waited.await.unwrap_or_else(|error| panic!("{error:#}\n{}", self.brokers[which].last_lines(20)));
    }

    /// Which of both leads.
    async fn leader(&self) -> usize {
        let found = wait_for(TAKEOVER, "one to lead", async || {
            match (leads(&self.brokers[0]).await, leads(&self.brokers[1]).await) {
                (true, false) => Ok(0),
                (false, true) => Ok(1),
                both => Err(format!("{both:?}")),
            }
        });
        found.await.unwrap()
    }

    /// A new object is served from its creation to its status, and who wrote: carried out writes on Certificates.
    async fn serve(&self, scene: &Scene<'_>, name: &str, leader: usize) {
        let (homer, theseus) = (self.world.consumer("homer"), self.world.provider("theseus"));
        let tally = Tally::begin([&self.world.hub, homer, theseus]).await;
        scene.certificate(homer, name).await;
        let copy = scene.copy(homer, name, theseus).await;
        theseus.set_status(&CERTIFICATE, scene.ns(), copy.name(), json!({"status": "Available"})).await;
        scene.until(homer, name, "its status", |seen: &Object| seen.text("/status/status") == "Available").await;
        let requests = tally.requests().await;
        let writes = requests.writes().only(|request| request.event.resource != "leases");
        assert!(!writes.of(USERS[leader]).0.is_empty(), "the leader writes: {requests}");
        let others = writes.of(USERS[1 - leader]);
        assert!(
            others.0.is_empty() && requests.events().of(USERS[1 - leader]).0.is_empty(),
            "only the leader: {requests}"
        );
    }
}

/// One after the other: each step needs the brokers as the one before left them. The broker that all tests share ends before.
#[test]
fn one_leads_and_the_other_takes_over() {
    WORLD.run(async |world| {
        let _alone = ALONE.write().await;
        assert_eq!(world.broker().await.as_mut().unwrap().terminate().await, Some(0));
        let scene = Scene::new(world, "leader", &[world.consumer(HOMER)]).await;
        scene.accept(world.provider(THESEUS), Value::Null).await;
        // The names outlive the setups.
        let (first, second) = (setup(world, "broker-one", USERS[0]), setup(world, "broker-two", USERS[1]));
        let brokers = tokio::join!(Broker::start(&world.lab, &first), Broker::start(&world.lab, &second));
        let mut pair = Pair { world, brokers: brokers.into() };
        let leader = pair.leader().await;
        pair.serve(&scene, "one", leader).await;

        let leader = hand_over::under_load(&mut pair, &scene, leader).await;
        let leader = terminated(&mut pair, &scene, leader).await;
        let leader = killed(&mut pair, &scene, leader).await;
        paused(&mut pair, &scene, leader).await;
        drop(pair);
        world.broker().await.as_mut().unwrap().start_again(&world.lab).await;
    });
}

/// SIGTERM releases the lease: the other leads long before the lease would have expired.
async fn terminated(pair: &mut Pair<'_>, scene: &Scene<'_>, leader: usize) -> usize {
    assert_eq!(pair.brokers[leader].terminate().await, Some(0));
    assert!(pair.brokers[leader].log().contains("released the lease"), "{}", pair.brokers[leader].last_lines(10));
    pair.until_leads(1 - leader).await;
    pair.serve(scene, "two", 1 - leader).await;
    pair.brokers[leader].start_again(&pair.world.lab).await;
    assert!(!leads(&pair.brokers[leader]).await, "it comes back as a follower");
    1 - leader
}

/// SIGKILL: the other leads once the lease has expired, and does what was left to do.
async fn killed(pair: &mut Pair<'_>, scene: &Scene<'_>, leader: usize) -> usize {
    let homer = pair.world.consumer("homer");
    let theseus = pair.world.provider("theseus");
    pair.brokers[leader].kill();
    scene.certificate(homer, "left").await;
    homer.delete(&CERTIFICATE, scene.ns(), "one").await;
    pair.until_leads(1 - leader).await;
    scene.copy(homer, "left", theseus).await;
    homer.until_gone(&CERTIFICATE, scene.ns(), "one").await;
    pair.serve(scene, "three", 1 - leader).await;
    pair.brokers[leader].start_again(&pair.world.lab).await;
    1 - leader
}

/// A leader is frozen with work before it, and wakes up when another leads and all has changed: it writes nothing.
async fn paused(pair: &mut Pair<'_>, scene: &Scene<'_>, old: usize) {
    let world = pair.world;
    let (homer, theseus) = (world.consumer("homer"), world.provider("theseus"));
    let new = 1 - old;
    let before = scene.copy(homer, "two", theseus).await;
    pair.brokers[old].process().pause().await.unwrap();
    let first = scene.fqdn("first");
    homer.edit(&CERTIFICATE, scene.ns(), "two", json!({"spec": {"fqdn": first}})).await;
    scene.certificate(homer, "while-frozen").await;
    pair.until_leads(new).await;
    scene.copy_until(homer, "two", theseus, "the edit", |seen| seen.text("/spec/fqdn") == first).await;
    let second = scene.fqdn("second");
    homer.edit(&CERTIFICATE, scene.ns(), "two", json!({"spec": {"fqdn": second}})).await;
    scene.copy_until(homer, "two", theseus, "the edit", |seen| seen.text("/spec/fqdn") == second).await;
    homer.delete(&CERTIFICATE, scene.ns(), "three").await;
    homer.until_gone(&CERTIFICATE, scene.ns(), "three").await;
    scene.certificate(homer, "three").await;
    scene.copy(homer, "three", theseus).await;

    let tally = Tally::begin([&world.hub, homer, theseus]).await;
    pair.brokers[old].process().resume().unwrap();
    let what = "the old leader to see that it leads no more";
    let broker = &pair.brokers[old];
    wait_for(TAKEOVER, what, async || broker.log().contains("no longer leading")).await.unwrap();
    assert!(!leads(broker).await);
    pair.serve(scene, "four", new).await;
    let requests = tally.requests().await;
    let written = requests.of(USERS[old]).writes().carried_out();
    assert!(written.0.is_empty(), "the old leader wrote: {written}");
    let copy = theseus.get(&CERTIFICATE, scene.ns(), before.name()).await;
    assert_eq!((copy.uid(), copy.text("/spec/fqdn")), (before.uid(), second.as_str()), "{copy}");
    assert_eq!(pair.leader().await, new);
}
