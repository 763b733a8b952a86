//! The clusters, and the copy of the template.

use example_stage::{Kind, Place, Stage, Thing, installation::GRAPHS};

use crate::copied::Copied;

/// The template's controller: its program, its namespace, its ServiceAccount.
pub(crate) const CONTROLLER: &str = "bucket-provider";
/// Who it is to the API server.
pub(crate) const CONTROLLER_USER: &str = "system:serviceaccount:bucket-provider:bucket-provider";
/// Name of the template's AcceptAPI.
pub(crate) const OFFER: &str = "buckets";

const GROUP: &str = "storage.example.org";
const KIND: &str = "Bucket";

/// What the story is about.
pub(crate) struct Scene {
    pub(crate) hub: Place,
    pub(crate) homer: Place,
    /// Serves with the controller.
    pub(crate) theseus: Place,
    /// Serves with the graph.
    pub(crate) nestor: Place,
    pub(crate) copied: Copied,
}

impl Scene {
    /// Starts the clusters; nothing is in them yet.
    pub(crate) async fn build(stage: &Stage) -> anyhow::Result<Self> {
        // Before anything starts: each says how it is built.
        for program in [CONTROLLER, GRAPHS, "kubectl-broker"] {
            harness::binary(program)?;
        }
        stage.screen.heading("Clusters");
        let what = "four API servers: hub (coordination), homer (consumer), theseus and nestor (providers)";
        let clusters = stage.clusters(["hub", "homer", "theseus", "nestor"]);
        let [hub, homer, theseus, nestor] = stage.step(what, clusters).await?;
        let copied = stage.step("cp -r examples/provider/template my-provider", Copied::make(stage)).await?;
        Ok(Self { hub, homer, theseus, nestor, copied })
    }

    /// A Bucket of a cluster.
    pub(crate) fn bucket(place: &Place, name: &str) -> Thing {
        Thing::object(place, GROUP, KIND, name)
    }

    /// The kind, as a Broker names it.
    pub(crate) fn kind() -> Kind {
        Kind { group: GROUP.into(), version: "v1alpha1".into(), kind: KIND.into(), plural: OFFER.into() }
    }
}
