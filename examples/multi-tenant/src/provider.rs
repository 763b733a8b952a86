//! What a provider may try: it says what it likes in the status of its copies, and edits their marks.

use broker_api::{generic::databases::Sql, keys};
use example_stage::{DEADLINE, Place, Stage};
use harness::wait_for;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, Patch, PatchParams},
};
use serde_json::{Value, json};

use crate::scene::{MYSQL, Scene, password, served, want};

pub(crate) async fn play(scene: &Scene, stage: &Stage) -> anyhow::Result<()> {
    stage.screen.heading("What provider rogue tries");
    let both = async {
        for tenant in [&scene.tenant_a, &scene.tenant_b] {
            want(tenant, "ledger", MYSQL).await?;
            served(tenant, "ledger").await?;
        }
        Ok(())
    };
    stage.step("tenant-a and tenant-b each have SQL ledger there", both).await?;
    let what = "it names what is not tenant-a's as tenant-a's related resources: none of it arrives, the rest does";
    for told in stage.step(what, related(scene)).await? {
        stage.screen.detail(&format!("Event RelatedRefused: {told}"));
    }
    let what = "it writes tenant-b's marks on tenant-a's copy: put right, and tenant-b is not told anything";
    stage.step(what, marks(scene)).await?;
    let what = "it makes an object with all the marks of the copy in shared: nobody takes it for one";
    stage.step(what, twin(scene)).await
}

/// Each of these is refused, in words that say why.
async fn related(scene: &Scene) -> anyhow::Result<Vec<String>> {
    let Scene { tenant_a, tenant_b, rogue, .. } = scene;
    let copy = rogue.copy_from::<Sql>(tenant_a, "ledger").await?;
    let theirs = rogue.copy_from::<Sql>(tenant_b, "ledger").await?.name_any();
    let note = format!("{}-note", copy.name_any());
    let namespaces = Api::<Namespace>::all(rogue.client.clone());
    let vault = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "vault" } });
    namespaces.patch("vault", &PatchParams::apply("rogue"), &Patch::Apply(vault)).await?;
    rogue
        .apply(
            &[
                json!({ "metadata": { "name": "root", "namespace": "vault" }, "stringData": { "a": "b" } }),
                json!({
                    "metadata": { "name": "token", "annotations": { "kubernetes.io/service-account.name": "default" } },
                    "type": "kubernetes.io/service-account-token", "stringData": { "token": "a.b.c" },
                }),
                json!({ "metadata": { "name": note }, "stringData": { "text": "from your provider" } }),
            ]
            .map(|mut secret| {
                secret["apiVersion"] = json!("v1");
                secret["kind"] = json!("Secret");
                secret.to_string()
            })
            .join("\n---\n"),
        )
        .await?;
    let secret = |name: &str| json!({ "gvk": { "group": "core", "version": "v1", "kind": "Secret" }, "name": name });
    let mut elsewhere = secret("root");
    elsewhere["namespace"] = json!("vault");
    let role = json!({ "group": "rbac.authorization.k8s.io", "version": "v1", "kind": "ClusterRole" });
    let entries = json!({
        "theirs": secret(&format!("{theirs}-connection")),
        "elsewhere": elsewhere,
        "token": secret("token"),
        "role": { "gvk": role, "name": "cluster-admin" },
        "note": secret(&note),
    });
    say(rogue, &copy.name_any(), &json!({ "status": "Available", "relatedResources": entries })).await?;

    // The last entry is in order, and arrives: the others had their turn.
    let arrived = wait_for(DEADLINE, "Secret ledger-note in tenant-a", async || {
        tenant_a.api::<Secret>().get("ledger-note").await
    });
    arrived.await?;
    let mut told = Vec::new();
    for words in ["another consumer", "another namespace", "service-account-token", "kind ClusterRole"] {
        told.push(tenant_a.told("ledger", "RelatedRefused", |message| message.contains(words)).await?);
    }
    scene.probe(tenant_a).await?;
    let names: Vec<_> = tenant_a.list::<Secret>().await?.iter().map(ResourceExt::name_any).collect();
    let bad = |name: &String| ["root", "token"].contains(&name.as_str()) || name.contains(&theirs);
    anyhow::ensure!(!names.iter().any(bad), "tenant-a has {names:?}");
    let theirs = password(tenant_b, "ledger-connection").await?;
    let held = serde_json::to_string(&tenant_a.list::<Secret>().await?)?;
    anyhow::ensure!(!held.contains(&theirs), "tenant-a has tenant-b's password");
    Ok(told)
}

async fn marks(scene: &Scene) -> anyhow::Result<()> {
    let Scene { tenant_a, tenant_b, rogue, .. } = scene;
    let (own, theirs) =
        (rogue.copy_from::<Sql>(tenant_a, "ledger").await?, rogue.copy_from::<Sql>(tenant_b, "ledger").await?);
    let name = own.name_any();
    let before = tenant_b.api::<Sql>().get("ledger").await?.resource_version();
    // Both copies seem to be tenant b's from here on.
    rogue.edit::<Sql>(&name, json!({ "metadata": { "annotations": theirs.annotations() } })).await?;
    say(rogue, &name, &json!({ "status": "Failed" })).await?;
    wait_for(DEADLINE, "the copy's own marks", async || {
        let now = rogue.api::<Sql>().get(&name).await?;
        let marks = |copy: &Sql| {
            [keys::CONSUMER_CLUSTER, keys::CONSUMER_UID, keys::ORIGIN].map(|key| copy.annotations().get(key).cloned())
        };
        anyhow::ensure!(marks(&now) == marks(&own), "{:?}", marks(&now));
        Ok(())
    })
    .await?;
    scene.probe(tenant_b).await?;
    let now = tenant_b.api::<Sql>().get("ledger").await?.resource_version();
    anyhow::ensure!(now == before, "tenant-b's object was written to");
    Ok(())
}

/// A copy of the copy that tenant b has in `shared`, with its signature: it is true, but not of this provider.
async fn twin(scene: &Scene) -> anyhow::Result<()> {
    let Scene { tenant_b, shared, rogue, .. } = scene;
    let copy = shared.copy_from::<Sql>(tenant_b, "orders").await?;
    let before = (tenant_b.api::<Sql>().get("orders").await?.resource_version(), copy.resource_version());
    let name = copy.name_any();
    let twin = json!({
        "apiVersion": "databases.generic.platform-mesh.io/v1alpha1", "kind": "SQL",
        "metadata": { "name": name, "labels": copy.labels(), "annotations": copy.annotations() },
        "spec": { "engine": "evil" },
    });
    rogue.apply(&twin.to_string()).await?;
    say(rogue, &name, &json!({ "status": "Failed" })).await?;
    scene.probe(tenant_b).await?;
    let copy = shared.copy_from::<Sql>(tenant_b, "orders").await?;
    let now = (tenant_b.api::<Sql>().get("orders").await?.resource_version(), copy.resource_version());
    anyhow::ensure!(now == before, "tenant-b's object or its copy was written to");
    rogue.api::<Sql>().delete(&name, &DeleteParams::default()).await?;
    Ok(())
}

/// Writes what it likes into a status, as the provider that it is.
async fn say(provider: &Place, name: &str, status: &Value) -> anyhow::Result<()> {
    let patch = Patch::Merge(json!({ "status": status }));
    provider.api::<Sql>().patch_status(name, &PatchParams::default(), &patch).await?;
    Ok(())
}
