//! The page of a broker that others reach: whoever wants to see it is known to the coordination cluster, and may.

use std::time::Duration;

use e2e::{Broker, BrokerSetup, DEADLINE, place::PERSON};
use harness::{free_address, wait_for};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::cast::Cast;

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

/// A third broker with the arguments of the others, which stands by, serves the page on all addresses.
pub(crate) async fn scenario(cast: &Cast, mut args: Vec<String>) {
    let address = free_address().unwrap();
    let port = address.rsplit_once(':').unwrap().1;
    args.push(format!("--dashboard-bind-address=0.0.0.0:{port}"));
    let setup = BrokerSetup { name: "resource-broker-dashboard", args, ..BrokerSetup::default() };
    let mut broker = Broker::start(&cast.world.lab, &setup).await;

    let owner = cast.owner(&cast.world.hub);
    let person = cast.world.hub.cluster.token(PERSON).unwrap();
    let other = owner.token("default", "default");
    let status = async |path: &str, token: Option<&str>| get(&address, path, token).await.unwrap().0;
    for path in ["/", "/search?q=a", "/events", "/style.css"] {
        assert_eq!(status(path, None).await, 401, "{path}");
        assert_eq!(status(path, Some("nobody")).await, 401, "{path}");
        assert_eq!(status(path, Some(&other)).await, 403, "{path}");
    }
    let shown = wait_for(DEADLINE, "the clusters on the page", async || {
        let (status, page) = get(&address, "/", Some(person)).await?;
        let all = status == 200 && ["stands by", "homer", "theseus"].iter().all(|part| page.contains(part));
        anyhow::ensure!(all, "{page}");
        anyhow::Ok(page)
    });
    let page = shown.await.unwrap();
    assert!(page.to_ascii_lowercase().contains("\r\ncontent-security-policy: default-src 'none';"), "{page}");

    // Who is granted that one path sees it, too.
    owner.apply_text(
        "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: dashboard}, \
         rules: [{nonResourceURLs: [/dashboard], verbs: [get]}]}",
    );
    owner.apply_text(
        "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: dashboard}, \
         roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: dashboard}, \
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
