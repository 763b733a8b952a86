//! The clusters and programs of the demo, and how it is known that the broker has seen what was done.

use std::sync::atomic::{AtomicUsize, Ordering};

use broker_api::{AcceptApi, Availability, condition::BROKERED, generic::databases::Sql};
use example_stage::{DEADLINE, Installation, Kind, Place, Stage};
use harness::wait_for;
use k8s_openapi::api::core::v1::Secret;
use serde_json::json;

/// Engine that `shared` serves.
pub(crate) const POSTGRES: &str = "postgres";
/// Engine that `rogue` serves.
pub(crate) const MYSQL: &str = "mysql";

/// The clusters.
pub(crate) struct Scene {
    pub(crate) hub: Place,
    pub(crate) tenant_a: Place,
    pub(crate) tenant_b: Place,
    pub(crate) shared: Place,
    pub(crate) rogue: Place,
    probes: AtomicUsize,
}

impl Scene {
    /// Starts clusters, broker and providers, until all offers are in use.
    pub(crate) async fn build(stage: &Stage) -> anyhow::Result<Self> {
        stage.screen.heading("Clusters");
        let what = "five API servers: hub (coordination), tenant-a, tenant-b (consumers), shared, rogue (providers)";
        let clusters = stage.clusters(["hub", "tenant-a", "tenant-b", "shared", "rogue"]);
        let [hub, tenant_a, tenant_b, shared, rogue] = stage.step(what, clusters).await?;
        let installation = Installation {
            hub: &hub,
            consumers: &[&tenant_a, &tenant_b],
            providers: &[&shared, &rogue],
            spokes: &[],
            kinds: &[Kind::of::<Sql>()],
            jobs: false,
        };
        Box::pin(installation.run(stage)).await?;

        stage.screen.heading("Offers");
        let offers = [
            (&shared, POSTGRES, include_str!("../shared/acceptapi.yaml")),
            (&rogue, MYSQL, include_str!("../rogue/acceptapi.yaml")),
        ];
        for (place, engine, yaml) in offers {
            let offer = async {
                stage.start_in(place, "generic-provider", &["--domain", &format!("{}.example.com", place.name())])?;
                place.apply(yaml).await?;
                place.until_ready::<AcceptApi>("sqls").await
            };
            stage.step(&format!("{} offers SQL of engine {engine}", place.name()), offer).await?;
        }
        Ok(Self { hub, tenant_a, tenant_b, shared, rogue, probes: AtomicUsize::new(0) })
    }

    /// All clusters.
    pub(crate) fn places(&self) -> [&Place; 5] {
        [&self.hub, &self.tenant_a, &self.tenant_b, &self.shared, &self.rogue]
    }

    /// Returns when the broker has worked on what was done before, in `tenant` as in the providers: it serves a new
    /// object there. Whatever it was going to do about the rest, it has had its turn.
    pub(crate) async fn probe(&self, tenant: &Place) -> anyhow::Result<()> {
        for engine in [POSTGRES, MYSQL] {
            let name = format!("probe-{}", self.probes.fetch_add(1, Ordering::Relaxed));
            want(tenant, &name, engine).await?;
            served(tenant, &name).await?;
            tenant.delete::<Sql>(&name).await?;
            tenant.gone::<Sql>(&name).await?;
        }
        Ok(())
    }
}

/// A tenant wants a database.
pub(crate) async fn want(tenant: &Place, name: &str, engine: &str) -> anyhow::Result<()> {
    let sql = json!({
        "apiVersion": "databases.generic.platform-mesh.io/v1alpha1", "kind": "SQL",
        "metadata": { "name": name }, "spec": { "engine": engine },
    });
    tenant.apply(&sql.to_string()).await
}

/// Waits until a tenant's database is served. Returns its password.
pub(crate) async fn served(tenant: &Place, name: &str) -> anyhow::Result<String> {
    wait_for(DEADLINE, &format!("SQL {name} to be available in {}", tenant.name()), async || {
        let status = tenant.api::<Sql>().get(name).await?.status.unwrap_or_default();
        anyhow::ensure!(status.status == Some(Availability::Available), "status.status is {:?}", status.status);
        let brokered = status.conditions.iter().find(|held| held.type_ == BROKERED);
        anyhow::ensure!(brokered.is_some_and(|held| held.status == "True"), "Brokered is {brokered:?}");
        password(tenant, &format!("{name}-connection")).await
    })
    .await
}

/// The password in a Secret.
pub(crate) async fn password(place: &Place, secret: &str) -> anyhow::Result<String> {
    let data = place.api::<Secret>().get(secret).await?.data.unwrap_or_default();
    let password = data.get("password").ok_or_else(|| anyhow::anyhow!("Secret {secret} has no password"))?;
    Ok(String::from_utf8(password.0.clone())?)
}
