//! An API server that has just started, and does not know yet who may do what.

use std::{
    convert::Infallible,
    sync::atomic::{AtomicU32, Ordering},
};

use broker_api::ClusterName;
use http::Response;
use http_body_util::Full;
use hyper::body::Bytes;

use super::*;
use crate::{
    budget::Budget,
    cluster::Cluster,
    conventions::PLAIN,
    dial::{Dialing, sends},
    fleet::{Fleet, FleetOptions},
    listener::Observer,
};

/// Allows nothing at first, then that it is asked who it is.
struct Started {
    asked: Arc<AtomicU32>,
    refuses: u32,
}

impl Dial for Started {
    fn dial<'a>(&'a self, _: &'a Kubeconfig) -> Dialing<'a> {
        let (asked, refuses) = (Arc::clone(&self.asked), self.refuses);
        let service = sends(tower::service_fn(move |_| {
            let is_refused = asked.fetch_add(1, Ordering::Relaxed) < refuses;
            let (code, body) = if is_refused {
                (403, r#"{"kind":"Status","status":"Failure","reason":"Forbidden","code":403}"#)
            } else {
                (200, r#"{"metadata":{"uid":"u"}}"#)
            };
            let answer = Response::builder().status(code).body(Full::new(Bytes::from_static(body.as_bytes()))).unwrap();
            std::future::ready(Ok::<_, Infallible>(answer))
        }));
        Box::pin(async move { Ok(Dialed { service, host: "there".to_owned(), valid_until: None }) })
    }
}

struct Nobody;

impl Observer for Nobody {
    fn cluster(&self, _: &ClusterName, _: &ClusterState) {}
    fn labels(&self, _: &ClusterName, _: Option<&crate::cluster::Labels>) {}
}

fn engage(name: &ClusterName, refuses: u32) -> (Arc<Fleet>, Arc<Cluster>, Arc<AtomicU32>) {
    let asked = Arc::<AtomicU32>::default();
    let fleet = Fleet::new(FleetOptions {
        conventions: &PLAIN,
        observer: Arc::new(Nobody),
        meter: |_, _, _, _| {},
        budget: Budget::new(1 << 20),
        concurrent_writes: 1,
        dial: Arc::new(Started { asked: Arc::clone(&asked), refuses }),
    });
    fleet.engage(name, Kubeconfig::stub(), None);
    let cluster = fleet.cluster(name).unwrap();
    (fleet, cluster, asked)
}

async fn after(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn who_may_not_be_asked_yet_is_asked_again() {
    let (_fleet, cluster, asked) = engage(&ClusterName::consumer("a"), 3);
    after(20).await;
    assert!(cluster.is_ready());
    assert_eq!(cluster.server().identity().as_deref(), Some("u"));
    let asked_so_far = asked.load(Ordering::Relaxed);
    after(600).await;
    assert_eq!(asked.load(Ordering::Relaxed), asked_so_far, "nobody asks once it is known");
}

#[tokio::test(start_paused = true)]
async fn who_may_never_be_asked_is_left_alone_after_a_while() {
    let (_fleet, cluster, asked) = engage(&ClusterName::consumer("a"), u32::MAX);
    after(300).await;
    assert!(cluster.is_ready() && cluster.server().identity().is_none());
    let asked_so_far = asked.load(Ordering::Relaxed);
    after(3600).await;
    assert_eq!(asked.load(Ordering::Relaxed), asked_so_far);
}

#[tokio::test(start_paused = true)]
async fn a_spoke_is_engaged_once_it_says_who_it_is() {
    let (_fleet, cluster, _) = engage(&ClusterName::spoke("a"), 3);
    after(0).await;
    assert!(!cluster.is_ready());
    after(30).await;
    assert!(cluster.is_ready() && cluster.server().identity().is_some());
}

/// One whose Secret says at such a moment that it may be any cluster would be ready without a connection, for ever.
#[tokio::test(start_paused = true)]
async fn who_may_be_another_one_while_it_is_away_is_met_anew() {
    let (_fleet, cluster, _) = engage(&ClusterName::spoke("a"), 0);
    after(1).await;
    let server = cluster.server();
    let before = server.connection().unwrap().generation;
    server.suspect(&server.connection().unwrap());
    let away = ClusterState::Unreachable { since: Instant::now(), cause: Cause::Lost, why: "a blip".to_owned() };
    server.set_state(&away, None);
    server.forget_identity();
    after(30).await;
    assert!(cluster.is_ready() && server.connection().is_some_and(|now| now.generation > before));
}
