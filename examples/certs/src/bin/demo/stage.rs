//! The clusters and programs of the demo, and how they are started.

use std::net::TcpListener;

use anyhow::Context as _;
use broker_api::keys;
use certs_example::{authority, secret::CERTIFICATE};
use harness::{Cluster, Lab, Process, Program, wait_for};
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, ResourceExt};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::{
    DEADLINE,
    garbage::collect,
    place::{PERSON, Place},
    screen::Screen,
};

/// Name of the broker's program and log.
pub(crate) const BROKER: &str = "resource-broker";
const WATCH_KIND: &str = "Certificate.v1alpha1.example.platform-mesh.io";
const CA_NAMESPACE: &str = "cert-provider";

/// A cluster that serves Certificates.
pub(crate) struct Provider {
    pub(crate) place: Place,
    /// Common name of its authority.
    pub(crate) issuer: String,
    /// Certificate of its authority, PEM.
    pub(crate) authority: String,
    process: Process,
}

/// Everything that runs.
pub(crate) struct Stage {
    pub(crate) hub: Place,
    pub(crate) homer: Place,
    pub(crate) internal: Provider,
    pub(crate) corp: Provider,
    broker: Process,
    worker: Process,
    collectors: Vec<Process>,
}

impl Stage {
    /// The programs beside the API servers.
    pub(crate) fn processes(&mut self) -> impl Iterator<Item = &mut Process> {
        let own = [&mut self.broker, &mut self.worker, &mut self.internal.process, &mut self.corp.process];
        own.into_iter().chain(&mut self.collectors)
    }
}

/// Starts clusters, broker and providers, until each provider's AcceptAPI is in use.
pub(crate) async fn build(lab: &Lab, screen: &Screen) -> anyhow::Result<Stage> {
    screen.heading("Clusters");
    let [hub, homer, internal, corp] = screen
        .step(
            "four API servers: hub (coordination), homer (consumer), internal-corp, corp-com (providers)",
            clusters(lab),
        )
        .await?;
    let (hub, homer) = (Place::new(hub).await?, Place::new(homer).await?);
    let (internal, corp) = (Place::new(internal).await?, Place::new(corp).await?);
    screen
        .step(
            "their kinds: Certificate in homer and the providers, AcceptAPI in the providers",
            kinds(&hub, &homer, [&internal, &corp]),
        )
        .await?;
    let collectors = [&homer, &internal, &corp].map(|place| collect(lab, place));
    let collectors = collectors.into_iter().collect::<anyhow::Result<_>>()?;

    screen.heading("Programs");
    let places = [&hub, &homer, &internal, &corp];
    let broker = screen.step("resource-broker is ready", broker(lab, places)).await?;
    let worker = screen.step("job-worker in hub, where no node runs Jobs", async { worker(lab, &hub) }).await?;
    let internal = provider(lab, screen, internal, "internal.corp CA").await?;
    let corp = provider(lab, screen, corp, "corp.com CA").await?;

    screen.heading("Offers");
    let offers = [
        (&internal, "*.internal.corp", include_str!("../../../internal-corp/acceptapi.yaml")),
        (&corp, "*.corp.com", include_str!("../../../corp-com/acceptapi.yaml")),
    ];
    for (provider, names, yaml) in offers {
        let what = format!("provider {} accepts {names}", provider.place.name());
        screen.step(&what, offer(&provider.place, yaml)).await?;
    }
    Ok(Stage { hub, homer, internal, corp, broker, worker, collectors })
}

async fn clusters(lab: &Lab) -> anyhow::Result<[Cluster; 4]> {
    let start = |name| Box::pin(lab.cluster(name));
    let started = tokio::try_join!(start("hub"), start("homer"), start("internal-corp"), start("corp-com"))?;
    let clusters: [Cluster; 4] = started.into();
    for cluster in &clusters {
        let file = lab.directory().join(format!("{}.kubeconfig", cluster.name()));
        cluster.write_kubeconfig(PERSON, &file)?;
    }
    Ok(clusters)
}

async fn kinds(hub: &Place, homer: &Place, providers: [&Place; 2]) -> anyhow::Result<()> {
    const CERTIFICATES: &str = "certificates.example.platform-mesh.io";
    const ACCEPT_APIS: &str = "acceptapis.broker.platform-mesh.io";
    let [internal, corp] = providers;
    let offered = |name: &str| name == CERTIFICATES || name == ACCEPT_APIS;
    tokio::try_join!(
        Box::pin(install(hub, |name| name.ends_with(keys::GROUP) && name != ACCEPT_APIS)),
        Box::pin(install(homer, |name| name == CERTIFICATES)),
        Box::pin(install(internal, offered)),
        Box::pin(install(corp, offered)),
    )?;
    Ok(())
}

async fn install(place: &Place, wanted: impl Fn(&str) -> bool) -> anyhow::Result<()> {
    let crds = broker_api::crds().into_iter().filter(|crd| wanted(&crd.name_any()));
    let documents: Vec<_> = crds.map(|crd| serde_json::to_string(&crd)).collect::<Result<_, _>>()?;
    place.apply(&documents.join("\n---\n")).await
}

/// The broker has users of its own in each cluster, so that audit logs tell it from people.
async fn broker(lab: &Lab, places: [&Place; 4]) -> anyhow::Result<Process> {
    let path = harness::broker_binary()?;
    let directory = lab.directory().join("broker");
    std::fs::create_dir_all(&directory)?;
    let mut kubeconfigs = Vec::new();
    for place in places {
        let file = directory.join(format!("{}.kubeconfig", place.name()));
        place.cluster.write_kubeconfig("broker", &file)?;
        kubeconfigs.push(file.display().to_string());
    }
    let [hub, homer, providers @ ..] = kubeconfigs.as_slice() else {
        anyhow::bail!("four clusters are expected");
    };
    let (metrics, health) = (free_address()?, free_address()?);
    let program = Program::new(BROKER, path).args([
        "--coordination-kubeconfig",
        hub,
        "--consumer-kubeconfig",
        homer,
        "--provider-kubeconfig",
        &providers.join(","),
        "--watch-kind",
        WATCH_KIND,
        "--metrics-bind-address",
        &metrics,
        "--health-probe-bind-address",
        &health,
    ]);
    let mut process = lab.start_process(&program)?;
    wait_for(DEADLINE, "the broker's /readyz to say 200", async || match process.exit_status()? {
        Some(status) => anyhow::Ok(Err(anyhow::anyhow!("the broker ended: {status}"))),
        None => ready(&health).await.map(Ok),
    })
    .await??;
    Ok(process)
}

async fn ready(address: &str) -> anyhow::Result<()> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(format!("GET /readyz HTTP/1.0\r\nHost: {address}\r\n\r\n").as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let status = answer.split(' ').nth(1);
    anyhow::ensure!(status == Some("200"), "{}", answer.trim());
    Ok(())
}

/// An address that was free a moment ago: for two that nobody else starts meanwhile, that is good enough.
fn free_address() -> anyhow::Result<String> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string())
}

/// Runs the Jobs of migrations (`examples/migration`). Nothing has to wait for it: it takes the Jobs that it finds.
fn worker(lab: &Lab, hub: &Place) -> anyhow::Result<Process> {
    let kubeconfig = lab.directory().join("job-worker.kubeconfig");
    hub.cluster.write_kubeconfig("admin", &kubeconfig)?;
    let check = harness::binary("cert-check")?;
    let program = Program::new("job-worker", harness::binary("job-worker")?).arg("--kubeconfig").arg(kubeconfig);
    lab.start_process(&program.arg("--program").arg(format!("cert-check={}", check.display())))
}

async fn provider(lab: &Lab, screen: &Screen, place: Place, issuer: &str) -> anyhow::Result<Provider> {
    let what = format!("cert-provider in {}, with its authority {issuer:?}", place.name());
    let work = async {
        let process = cert_provider(lab, &place, issuer)?;
        let authority = authority(&place).await?;
        anyhow::Ok((process, authority))
    };
    let (process, authority) = screen.step(&what, work).await?;
    Ok(Provider { place, issuer: issuer.to_owned(), authority, process })
}

fn cert_provider(lab: &Lab, place: &Place, issuer: &str) -> anyhow::Result<Process> {
    let directory = lab.directory().join("cert-provider");
    std::fs::create_dir_all(&directory)?;
    let kubeconfig = directory.join(format!("{}.kubeconfig", place.name()));
    place.cluster.write_kubeconfig("provider-controller", &kubeconfig)?;
    let kubeconfig = kubeconfig.display().to_string();
    let args = ["--kubeconfig", &kubeconfig, "--issuer-name", issuer, "--ca-namespace", CA_NAMESPACE];
    let program = Program::new(format!("cert-provider-{}", place.name()), harness::binary("cert-provider")?);
    lab.start_process(&program.args(args))
}

async fn authority(place: &Place) -> anyhow::Result<String> {
    let secrets = Api::<Secret>::namespaced(place.client.clone(), CA_NAMESPACE);
    wait_for(DEADLINE, "the authority's Secret", async || {
        let secret = secrets.get(authority::SECRET).await?;
        let data = secret.data.unwrap_or_default();
        let certificate = data.get(CERTIFICATE).context("it has no tls.crt")?;
        anyhow::Ok(String::from_utf8(certificate.0.clone())?)
    })
    .await
}

async fn offer(place: &Place, yaml: &str) -> anyhow::Result<()> {
    place.apply(yaml).await?;
    wait_for(DEADLINE, "condition Ready=True on AcceptAPI certificates", async || {
        let offer = place.accept_apis.get("certificates").await?;
        let conditions = offer.status.unwrap_or_default().conditions;
        let ready = conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True");
        anyhow::ensure!(ready, "conditions {conditions:?}");
        Ok(())
    })
    .await
}
