//! How often a watch is opened that its API server ends: counted by a transport of our own, in time that passes only when
//! all wait.

use std::{convert::Infallible, sync::Mutex};

use broker_api::{ClusterName, Role};
use http::Request;
use kube::{client::Body, core::GroupVersionKind};
use serde_json::json;

use super::*;
use crate::{
    budget::Budget,
    call::Caller,
    cluster::{Cluster, ClusterState},
    conventions::PLAIN,
    kind::{KindState, SchemaNews},
    kinds::wanted::Reading,
    listener::{Listener, Observer},
};

/// An API server that ends each watch at once.
#[derive(Default)]
struct Server {
    /// Each watch tells of a change before it ends.
    tells: bool,
    /// Watches that were opened.
    opened: u64,
    lists: u64,
}

impl Server {
    fn answer(&mut self, query: &str) -> String {
        if !query.contains("watch=1") {
            self.lists += 1;
            return json!({"metadata": {"resourceVersion": "1"}, "items": []}).to_string();
        }
        self.opened += 1;
        let version = (1 + self.opened).to_string();
        let object = json!({"metadata": {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": version}});
        if self.tells { format!("{}\n", json!({"type": "MODIFIED", "object": object})) } else { String::new() }
    }
}

struct Nobody;

impl Listener for Nobody {
    fn changed(&self, _: &Index, _: &Change) {}
}

impl Observer for Nobody {
    fn cluster(&self, _: &ClusterName, _: &ClusterState) {}
    fn kind(&self, _: &ClusterName, _: &GroupVersionKind, _: &KindState, _: SchemaNews<'_>) {}
}

/// How often a minute of it is opened, and how often it is listed.
async fn in_a_minute(tells: bool) -> (u64, u64) {
    let api = Arc::new(Mutex::new(Server { tells, ..Server::default() }));
    let asked = Arc::clone(&api);
    let transport = tower::service_fn(move |request: Request<Body>| {
        let answer = asked.lock().unwrap().answer(request.uri().query().unwrap_or_default());
        std::future::ready(Ok::<_, Infallible>(Response::new(Body::from(answer.into_bytes()))))
    });
    let name = ClusterName::new(Role::Provider, "c");
    let share = Budget::new(1 << 20).engage(&name);
    let server = crate::server::Server::unconnected(name.clone(), &share);
    let cluster = Cluster::new(name, None, Arc::clone(&server), Arc::new(Nobody), share);
    let gvk = GroupVersionKind::gvk("", "v1", "ConfigMap");
    cluster.listen(&Arc::new(WatchSpec::all(gvk.clone())), 1, &(Arc::new(Nobody) as Arc<dyn Listener>));
    let kind = crate::kind::well_known(&gvk).unwrap();
    server.set_kind(&gvk, &KindState::Found(Arc::new(kind)), &Reading::Document(None));
    let caller = Caller::new(crate::dial::sends(transport), "host", &PLAIN, |_, _, _, _| {});
    let connection = Connection { caller, identity: Some("u".into()), valid_until: None, generation: 1 };
    server.set_state(&ClusterState::Ready, Some(Arc::new(connection)));
    tokio::time::sleep(Duration::from_mins(1)).await;
    let api = api.lock().unwrap();
    (api.opened, api.lists)
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_comes_on_is_opened_again_soon_and_one_that_does_not_ever_more_seldom() {
    let (opened, lists) = in_a_minute(true).await;
    assert!((280..=1300).contains(&opened), "each brought a change: {opened}");
    assert!(lists <= 2, "and none of them started over: {lists}");
    let (opened, _) = in_a_minute(false).await;
    assert!((4..=40).contains(&opened), "none did: {opened}");
}
