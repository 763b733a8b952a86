//! The clusters and programs of the demo.

use std::net::TcpListener;

use harness::{Lab, Process, Program, wait_for};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::{DEADLINE, place::Place, step};

const WATCH_KIND: &str = "KeyValue.v1alpha1.databases.generic.platform-mesh.io";

/// Everything that runs.
pub(crate) struct World {
    pub(crate) hub: Place,
    pub(crate) homer: Place,
    pub(crate) classic: Place,
    pub(crate) modern: Place,
    pub(crate) worker: Process,
    _others: Vec<Process>,
}

impl World {
    /// Starts clusters, broker, providers and worker, until offers and configuration are in use.
    pub(crate) async fn build(lab: &Lab) -> anyhow::Result<Self> {
        let [hub, homer, classic, modern] = step("API servers: hub, homer, classic, modern", clusters(lab)).await?;
        let programs = step("programs: resource-broker, two keyvalue-providers, job-worker", async {
            let mut others = vec![broker(lab, [&hub, &homer, &classic, &modern]).await?];
            for place in [&classic, &modern] {
                others.push(own(lab, place, "keyvalue-provider", &[])?);
            }
            let migrate = format!("--program=keyvalue-migrate={}", harness::binary("keyvalue-migrate")?.display());
            anyhow::Ok((own(lab, &hub, "job-worker", &[&migrate])?, others))
        });
        let (worker, others) = programs.await?;
        step("offers: classic accepts version 7.*, modern 8.*", async {
            classic.apply(include_str!("../../../classic/acceptapi.yaml")).await?;
            modern.apply(include_str!("../../../modern/acceptapi.yaml")).await?;
            classic.until_ready("AcceptAPI", "keyvalues").await?;
            modern.until_ready("AcceptAPI", "keyvalues").await
        })
        .await?;
        step("hub: MigrationConfiguration keyvalues says what a move takes", async {
            hub.apply(include_str!("../../../hub/migrationconfiguration.yaml")).await?;
            hub.until_ready("MigrationConfiguration", "keyvalues").await
        })
        .await?;
        Ok(Self { hub, homer, classic, modern, worker, _others: others })
    }
}

async fn clusters(lab: &Lab) -> anyhow::Result<[Place; 4]> {
    let started = lab.clusters(&["hub", "homer", "classic", "modern"]).await?;
    let Ok([hub, homer, classic, modern]) = <[_; 4]>::try_from(started) else { anyhow::bail!("four are expected") };
    let offered = ["keyvalues.", "acceptapis."];
    let places = tokio::try_join!(
        Box::pin(Place::prepare(lab, hub, &["migrations.", "migrationconfigurations."])),
        Box::pin(Place::prepare(lab, homer, &["keyvalues."])),
        Box::pin(Place::prepare(lab, classic, &offered)),
        Box::pin(Place::prepare(lab, modern, &offered)),
    )?;
    Ok(places.into())
}

/// One of this folder's programs, in a cluster.
fn own(lab: &Lab, place: &Place, program: &str, args: &[&str]) -> anyhow::Result<Process> {
    let name = format!("{program}-{}", place.name());
    let kubeconfig = lab.directory().join(format!("{name}.kubeconfig"));
    place.cluster.write_kubeconfig("provider-controller", &kubeconfig)?;
    let program =
        Program::new(name, harness::binary(program)?).env("NO_COLOR", "1").arg("--kubeconfig").arg(kubeconfig);
    lab.start_process(&program.args(args.iter().copied()))
}

async fn broker(lab: &Lab, places: [&Place; 4]) -> anyhow::Result<Process> {
    let directory = lab.directory().join("broker");
    std::fs::create_dir_all(&directory)?;
    // An address that was free a moment ago: for one that nobody else starts meanwhile, that is good enough.
    let health = TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
    let mut program = Program::new("resource-broker", harness::broker_binary()?).env("NO_COLOR", "1").args([
        "--watch-kind",
        WATCH_KIND,
        "--health-probe-bind-address",
        &health,
    ]);
    let roles = ["coordination", "consumer", "provider", "provider"];
    for (place, role) in places.into_iter().zip(roles) {
        let file = directory.join(format!("{}.kubeconfig", place.name()));
        place.cluster.write_kubeconfig("broker", &file)?;
        program = program.arg(format!("--{role}-kubeconfig")).arg(file);
    }
    let mut process = lab.start_process(&program)?;
    // The outer result is for what waiting cannot mend.
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
    anyhow::ensure!(answer.split(' ').nth(1) == Some("200"), "{}", answer.trim());
    Ok(())
}
