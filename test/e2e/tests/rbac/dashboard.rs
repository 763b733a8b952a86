//! The page of a broker: what it shows of graphs with the rights of dashboard.yaml and without; and where others reach it, whoever
//! wants to see it is known to the coordination cluster, and may.

use std::time::Duration;

use e2e::{Broker, BrokerSetup, DEADLINE, Kind, Place, place::PERSON};
use harness::{AuditEvent, free_address, wait_for};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::{cast::Cast, owner::Owner};

const DEFINITION: Kind =
    Kind { group: "kro.run", version: "v1alpha1", kind: "ResourceGraphDefinition", plural: "resourcegraphdefinitions" };
const ROLLOUT: Kind = Kind {
    group: "broker.platform-mesh.io",
    version: "v1alpha1",
    kind: "ResourceGraphRollout",
    plural: "resourcegraphrollouts",
};

/// What was found of a token counts for 30 s.
const GRANTED: Duration = Duration::from_mins(1);

/// One HTTP/1.0 request: status and answer.
async fn get(address: &str, path: &str, token: Option<&str>) -> anyhow::Result<(u16, String)> {
    let mut stream = TcpStream::connect(address).await?;
    let authorization = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
    let request = format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n{authorization}\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok());
    Ok((status.ok_or_else(|| anyhow::anyhow!("no HTTP status: {answer}"))?, answer))
}

/// Whether it is asked for something that only the page shows.
pub(crate) fn is_shown(event: &AuditEvent) -> bool {
    event.verb == "list" && [DEFINITION.plural, ROLLOUT.plural].contains(&event.resource.as_str())
}

/// Waits until the page at an address has all of these parts; returns it.
async fn until_shown(address: &str, token: Option<&str>, path: &str, parts: &[&str]) -> String {
    let what = format!("{parts:?} on the page");
    let shown = wait_for(DEADLINE, &what, async || {
        let (status, page) = get(address, path, token).await?;
        anyhow::ensure!(status == 200 && parts.iter().all(|part| page.contains(part)), "{page}");
        anyhow::Ok(page)
    });
    shown.await.unwrap()
}

/// A graph that is on its way to clusters, as `resource-graphs` would tell of it.
async fn rolls_out(hub: &Place) {
    let schema = json!({"apiVersion": "v1alpha1", "kind": "WebApp", "spec": {"text": "string"}});
    hub.create(&DEFINITION, "", "webapp", json!({"spec": {"schema": schema}})).await;
    hub.set_status(&DEFINITION, "", "webapp", json!({"state": "Active", "lastIssuedRevision": 7})).await;
    let waves =
        ["canary", "rest"].map(|name| json!({"name": name, "clusterSelector": {"matchLabels": {"wave": name}}}));
    let rollout = hub.create(&ROLLOUT, "", "webapp", json!({"spec": {"waves": waves, "paused": true}})).await;
    let now = "2026-01-01T00:00:00Z";
    let condition = |kind: &str, status: &str, reason: &str| json!({"type": kind, "status": status, "reason": reason, "message": "9/14 clusters run what they should", "lastTransitionTime": now});
    let status = json!({
        "observedGeneration": rollout.generation(), "targetRevision": 7, "wave": "rest",
        "clusters": {"total": 14, "updated": 9, "updating": 0, "failed": 1, "unreachable": 0, "conflicted": 0},
        "failing": [{"cluster": "spoke#paris", "revision": 7, "reason": "KindMissing", "message": "no <b>Bucket</b>", "since": now}],
        "conditions": [condition("Progressing", "False", "Paused"), condition("Degraded", "True", "ClustersFailing")],
    });
    hub.set_status(&ROLLOUT, "", "webapp", status).await;
}

/// On a loopback address the page says which right it lacks, and shows graphs as soon as it has that.
async fn shows_graphs(cast: &Cast, owner: &Owner, mut args: Vec<String>) {
    let address = free_address().unwrap();
    let port = address.rsplit_once(':').unwrap().1;
    let address = format!("127.0.0.1:{port}");
    args.push(format!("--dashboard-bind-address={address}"));
    let setup = BrokerSetup { name: "resource-broker-page", args, ..BrokerSetup::default() };
    let mut broker = Broker::start(&cast.world.lab, &setup).await;

    until_shown(&address, None, "/", &["The coordination cluster does not serve ResourceGraphDefinitions"]).await;
    owner.apply_folder("crd-graphs");
    let missing =
        ["resourcegraphdefinitions.kro.run is forbidden", "resourcegraphrollouts", "config/rbac/dashboard.yaml"];
    until_shown(&address, None, "/", &missing).await;
    let metrics = broker.metrics().await.unwrap();
    let ready = "resource_broker_clusters{role=\"coordination\",state=\"Ready\"} 1";
    assert!(metrics.contains(ready), "the cluster does not lag for that: {metrics}");

    owner.apply("rbac/dashboard.yaml");
    until_shown(&address, None, "/", &["There are no ResourceGraphDefinitions", "There are no ResourceGraphRollouts"])
        .await;
    rolls_out(&cast.world.hub).await;
    let told =
        ["1 of 1 are active", "WebApp.v1alpha1.kro.run", "9 of 14 updated", "spoke#paris", "KindMissing", "paused"];
    until_shown(&address, None, "/", &told).await;
    let page =
        until_shown(&address, None, "/graph?name=webapp", &["canary", "no &lt;b&gt;Bucket", "ClustersFailing"]).await;
    assert!(!page.contains("<b>"), "{page}");
    assert_eq!(get(&address, "/graph?name=other", None).await.unwrap().0, 404);
    assert_eq!(broker.terminate().await, Some(0));
}

/// Two more brokers with the arguments of the others, which stand by, serve the page: on a loopback address, and on all
/// addresses.
pub(crate) async fn scenario(cast: &Cast, args: Vec<String>) {
    let owner = cast.owner(&cast.world.hub);
    shows_graphs(cast, &owner, args.clone()).await;
    is_shown_to_whom_it_may(cast, &owner, args).await;
}

async fn is_shown_to_whom_it_may(cast: &Cast, owner: &Owner, mut args: Vec<String>) {
    let address = free_address().unwrap();
    let port = address.rsplit_once(':').unwrap().1;
    args.push(format!("--dashboard-bind-address=0.0.0.0:{port}"));
    let setup = BrokerSetup { name: "resource-broker-dashboard", args, ..BrokerSetup::default() };
    let mut broker = Broker::start(&cast.world.lab, &setup).await;

    let person = cast.world.hub.cluster.token(PERSON).unwrap();
    let other = owner.token("default", "default");
    let status = async |path: &str, token: Option<&str>| get(&address, path, token).await.unwrap().0;
    for path in ["/", "/search?q=a", "/events", "/style.css"] {
        assert_eq!(status(path, None).await, 401, "{path}");
        assert_eq!(status(path, Some("nobody")).await, 401, "{path}");
        assert_eq!(status(path, Some(&other)).await, 403, "{path}");
    }
    let page = until_shown(&address, Some(person), "/", &["stands by", "homer", "theseus", "webapp"]).await;
    assert!(page.to_ascii_lowercase().contains("\r\ncontent-security-policy: default-src 'none';"), "{page}");

    // Who is granted that one path sees it, too.
    owner.apply_text(
        "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: dashboard}, \
         roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: resource-broker-dashboard-viewer}, \
         subjects: [{kind: ServiceAccount, name: default, namespace: default}]}",
    );
    let granted = wait_for(GRANTED, "the page to be shown", async || {
        let status = status("/", Some(&other)).await;
        anyhow::ensure!(status == 200, "{status}");
        anyhow::Ok(())
    });
    granted.await.unwrap();

    let log = broker.log();
    assert!(!log.contains(&other) && !log.contains(person), "a token is in the log");
    assert_eq!(broker.terminate().await, Some(0));
}
