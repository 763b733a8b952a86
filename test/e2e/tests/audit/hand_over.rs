//! A leader is asked to end while people go on creating objects: nobody notices.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use e2e::{
    Scene, Tally,
    kind::CERTIFICATE,
    tally::{Request, Requests},
};
use harness::wait_for;
use k8s_openapi::jiff::{SignedDuration, Timestamp};

use crate::leader::{Pair, TAKEOVER, USERS};

/// Time between two new objects.
const PACE: Duration = Duration::from_millis(100);

/// A follower looks at the Lease at intervals of 2 s and more. What comes earlier was told by its watch.
const LOOK: SignedDuration = SignedDuration::from_millis(1900);

/// Creates objects until `enough`; returns their names, and when they were asked for.
async fn load(scene: &Scene<'_>, enough: &AtomicBool) -> Vec<(String, Timestamp)> {
    let mut created = Vec::new();
    while !enough.load(Ordering::Relaxed) {
        let (name, now) = (format!("load-{}", created.len()), Timestamp::now());
        scene.certificate(scene.world.consumer("homer"), &name).await;
        created.push((name, now));
        // The pace of people, not a wait for something.
        tokio::time::sleep(PACE).await;
    }
    created
}

/// How often `user` has read the Lease.
fn looks(requests: &Requests, user: &str) -> Vec<Timestamp> {
    let looks = requests.of(user).on("leases").only(|request| request.event.verb == "get");
    looks.0.iter().map(|request| request.event.received).collect()
}

/// The leader gets SIGTERM under load, and returns as a follower. Whoever leads then is returned.
pub(crate) async fn under_load(pair: &mut Pair<'_>, scene: &Scene<'_>, old: usize) -> usize {
    let world = pair.world;
    let (homer, theseus) = (world.consumer("homer"), world.provider("theseus"));
    let new = 1 - old;
    let tally = Tally::begin([&world.hub, homer, theseus]).await;
    let enough = AtomicBool::new(false);
    let hand_over = async {
        // Right after a look: the next one would be long in coming.
        let before = looks(&tally.requests().await, USERS[new]).len();
        let looked = wait_for(TAKEOVER, "the follower to look", async || {
            let looks = looks(&tally.requests().await, USERS[new]).len();
            if looks > before { Ok(()) } else { Err(looks) }
        });
        looked.await.unwrap();
        assert_eq!(pair.brokers[old].terminate().await, Some(0));
        pair.until_leads(new).await;
        // Some that only the new leader has served.
        scene.certificate(homer, "after").await;
        scene.copy(homer, "after", theseus).await;
        enough.store(true, Ordering::Relaxed);
    };
    let (created, ()) = tokio::join!(load(scene, &enough), hand_over);
    for (name, _) in &created {
        scene.copy(homer, name, theseus).await;
    }

    let requests = tally.requests().await;
    let taken_over = take_over(&requests, [USERS[old], USERS[new]]);
    let before = looks(&requests, USERS[new]).into_iter().filter(|look| *look <= taken_over).collect::<Vec<_>>();
    let [.., last, this] = before[..] else { panic!("two looks: {requests}") };
    assert!(this.duration_since(last) < LOOK, "it was told of the release, and did not find it at its next look");
    let waits = created.iter().map(|(name, at)| copied(&requests, &homer.copy_name(name)).duration_since(*at));
    println!("{} objects, one each {PACE:?}; the longest without a copy: {:?}", created.len(), waits.max().unwrap());

    pair.brokers[old].start_again(&world.lab).await;
    new
}

/// When the new leader took the Lease. The old one wrote nothing after its release, the new one nothing before that.
fn take_over(requests: &Requests, [old, new]: [&str; 2]) -> Timestamp {
    let carried_out = requests.writes().carried_out();
    let lease = |user| carried_out.of(user).on("leases").0.into_iter().map(|request| request.event);
    let released = lease(old).next_back().expect("the old leader releases").received;
    let taken = lease(new).find(|event| event.received > released).expect("the new leader takes it").received;
    let objects = |user| carried_out.of(user).on(CERTIFICATE.plural);
    let (before, after) = (objects(old), objects(new));
    assert!(!before.0.is_empty() && !after.0.is_empty(), "both have worked: {carried_out}");
    let late = before.only(|request| request.event.received > released);
    assert!(late.0.is_empty(), "after the release: {late}");
    let early = after.only(|request| request.event.received < taken);
    assert!(early.0.is_empty(), "before the lease was taken: {early}");
    taken
}

/// When a copy was there; it was made once.
fn copied(requests: &Requests, copy: &str) -> Timestamp {
    let made = requests.on(CERTIFICATE.plural).only(|Request { event, .. }| event.name == copy && event.code == 201);
    assert_eq!(made.0.len(), 1, "{copy}: {made}");
    made.0[0].event.timestamp
}
