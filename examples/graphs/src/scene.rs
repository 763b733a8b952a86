//! The clusters and programs of the demo.

use std::collections::BTreeSet;

use anyhow::Context as _;
use broker_api::{AcceptApi, example::Certificate};
use example_stage::{Installation, Kind, Place, Stage, installation::GRAPHS};
use harness::{Mark, Program};

const CRDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/crd-graphs");
const SYSTEM: &str = "resource-graphs-system";

/// The user of `resource-graphs` in `homer`.
pub(crate) const GRAPHS_USER: &str = "system:serviceaccount:resource-graphs-system:resource-graphs";
/// The user of the broker in `homer` and `internal-corp`.
pub(crate) const BROKER_USER: &str = "system:serviceaccount:resource-broker-system:resource-broker";

/// The clusters.
pub(crate) struct Scene {
    pub(crate) homer: Place,
    pub(crate) internal: Place,
    /// Where the audit logs of `homer` and `internal-corp` were after the installation.
    pub(crate) installed: [Mark; 2],
}

impl Scene {
    /// Starts clusters, broker, provider and `resource-graphs`.
    pub(crate) async fn build(stage: &Stage) -> anyhow::Result<Self> {
        // Before anything starts: it says how it is built.
        let graphs = harness::binary(GRAPHS)?;
        stage.screen.heading("Clusters");
        let what = "three API servers: hub (coordination), homer (consumer), internal-corp (provider)";
        let clusters = stage.clusters(["hub", "homer", "internal-corp"]);
        let [hub, homer, internal] = stage.step(what, clusters).await?;
        let installation = Installation {
            hub: &hub,
            consumers: &[&homer],
            providers: &[&internal],
            spokes: &[],
            kinds: &[Kind::of::<Certificate>()],
            jobs: false,
        };
        Box::pin(installation.run(stage)).await?;
        let offer = async {
            stage.start_in(&internal, "cert-provider", &["--issuer-name", "internal.corp CA"])?;
            internal.apply(include_str!("../internal-corp/acceptapi.yaml")).await?;
            internal.until_ready::<AcceptApi>("certificates").await
        };
        stage.step("internal-corp issues Certificates for *.internal.corp", offer).await?;

        stage.screen.heading("Graphs in homer");
        let install = async {
            stage.kubectl(&homer, &["apply", "--server-side", "-k", CRDS]).await?;
            homer.apply(include_str!("../consumer/permissions.yaml")).await
        };
        stage.step("CRDs (config/crd-graphs), a ServiceAccount and what it may do (permissions.yaml)", install).await?;
        let start = async {
            let kubeconfig = stage.lab.directory().join(format!("{GRAPHS}.kubeconfig"));
            homer.write_kubeconfig_of(SYSTEM, GRAPHS, &kubeconfig).await?;
            let program = Program::new(GRAPHS, graphs).env("NO_COLOR", "1").arg("--kubeconfig").arg(kubeconfig);
            // Nobody asks it, and the addresses may be taken on this machine.
            stage.start(&program.args(["--metrics-bind-address=0", "--health-probe-bind-address=0"]))
        };
        stage.step("resource-graphs, one process with one kubeconfig", start).await?;
        let installed = [homer.cluster.audit().settle().await?, internal.cluster.audit().settle().await?];
        Ok(Self { homer, internal, installed })
    }

    /// What `user` has written since in a cluster, as `verb resource`, sorted, each once.
    pub(crate) async fn written(place: &Place, since: Mark, user: &str) -> anyhow::Result<Vec<String>> {
        let seen = place.cluster.audit().settled_since(since).await.context("the audit log")?;
        let written = seen.of(user).writes();
        let written: BTreeSet<_> = written.iter().map(|event| format!("{} {}", event.verb, event.resource)).collect();
        Ok(written.into_iter().collect())
    }
}
