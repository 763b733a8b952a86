//! What a tenant may try.

use broker_api::{AcceptApi, Migration, condition::BROKERED, generic::databases::Sql, keys};
use example_stage::{
    Place, Stage,
    installation::{ACCOUNT, SYSTEM},
};
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use serde_json::json;

use crate::scene::{POSTGRES, Scene, password, served, want};

pub(crate) async fn play(scene: &Scene, stage: &Stage) -> anyhow::Result<()> {
    stage.screen.heading("What tenant-a tries");
    let told = stage.step("it says of its object that rogue serves it: put right", forged(scene)).await?;
    stage.screen.detail(&told);
    let told = stage.step("it signs with the assignment of tenant-b's object: put right", stolen(scene)).await?;
    stage.screen.detail(&told);
    let what =
        "it makes an AcceptAPI for all SQLs, and a Migration of tenant-b's copy, in its own cluster: not looked at";
    stage.step(what, Box::pin(out_of_place(scene))).await?;
    let told =
        stage.step("it takes the name of a copy beforehand, by way of shared: not touched", taken(scene)).await?;
    stage.screen.detail(&told);
    let told =
        stage.step("it has a Secret of its own by the name of one that comes: not overwritten", own(scene)).await?;
    stage.screen.detail(&told);
    Ok(())
}

/// What tenant b has must stay as it is: uid and spec of the copy, and the version of the object.
async fn state_of_b(scene: &Scene) -> anyhow::Result<(Option<String>, Option<String>)> {
    let copy = scene.shared.copy_from::<Sql>(&scene.tenant_b, "orders").await?;
    Ok((copy.resource_version(), scene.tenant_b.api::<Sql>().get("orders").await?.resource_version()))
}

async fn unharmed(scene: &Scene, before: &(Option<String>, Option<String>)) -> anyhow::Result<()> {
    let now = state_of_b(scene).await?;
    anyhow::ensure!(&now == before, "tenant-b's object or its copy was written to: {before:?} → {now:?}");
    Ok(())
}

/// Waits until `orders` of tenant a is said to be in `shared`, with another assignment than `not`.
async fn put_right(tenant: &Place, not: &str) -> anyhow::Result<()> {
    harness::wait_for(example_stage::DEADLINE, "the broker's own annotations", async || {
        let object = tenant.api::<Sql>().get("orders").await?;
        let annotations = object.annotations();
        let provider = annotations.get(keys::PROVIDER_CLUSTER).map(String::as_str);
        let assignment = annotations.get(keys::ASSIGNMENT).map(String::as_str);
        anyhow::ensure!(provider == Some("shared") && assignment.is_some_and(|held| held != not), "{annotations:?}");
        Ok(())
    })
    .await
}

async fn forged(scene: &Scene) -> anyhow::Result<String> {
    let Scene { tenant_a, shared, rogue, .. } = scene;
    let (before, copy) = (state_of_b(scene).await?, shared.copy_from::<Sql>(tenant_a, "orders").await?);
    let lie = json!({ "metadata": { "annotations": { keys::PROVIDER_CLUSTER: "rogue" } } });
    tenant_a.edit::<Sql>("orders", lie).await?;
    let told = tenant_a.told("orders", "AssignmentIgnored", |_| true).await?;
    put_right(tenant_a, "").await?;
    scene.probe(tenant_a).await?;
    anyhow::ensure!(rogue.copies_of::<Sql>("orders").await?.is_empty(), "rogue has a copy of orders");
    let now = shared.copy_from::<Sql>(tenant_a, "orders").await?;
    anyhow::ensure!(now.uid() == copy.uid(), "the copy in shared is another one");
    unharmed(scene, &before).await?;
    Ok(format!("Event AssignmentIgnored: {told}"))
}

async fn stolen(scene: &Scene) -> anyhow::Result<String> {
    let Scene { tenant_a, tenant_b, shared, .. } = scene;
    let before = state_of_b(scene).await?;
    let theirs = tenant_b.api::<Sql>().get("orders").await?;
    let Some(assignment) = theirs.annotations().get(keys::ASSIGNMENT) else {
        anyhow::bail!("tenant-b's object has no annotation {}", keys::ASSIGNMENT);
    };
    // A new object that comes with it, and one that is served already.
    let annotations = json!({ keys::PROVIDER_CLUSTER: "shared", keys::ASSIGNMENT: assignment });
    let thief = json!({
        "apiVersion": "databases.generic.platform-mesh.io/v1alpha1", "kind": "SQL",
        "metadata": { "name": "thief", "annotations": annotations, "finalizers": [keys::FINALIZER] },
        "spec": { "engine": POSTGRES },
    });
    tenant_a.apply(&thief.to_string()).await?;
    tenant_a.edit::<Sql>("orders", json!({ "metadata": { "annotations": annotations } })).await?;
    let told = tenant_a.told("thief", "AssignmentIgnored", |_| true).await?;
    put_right(tenant_a, assignment).await?;
    let own = served(tenant_a, "thief").await?;
    let theirs = password(tenant_b, "orders-connection").await?;
    anyhow::ensure!(own != theirs, "the thief has tenant-b's password");
    shared.copy_from::<Sql>(tenant_a, "thief").await?;
    scene.probe(tenant_a).await?;
    unharmed(scene, &before).await?;
    Ok(format!("Event AssignmentIgnored: {told}"))
}

async fn out_of_place(scene: &Scene) -> anyhow::Result<()> {
    let Scene { tenant_a, rogue, .. } = scene;
    let before = state_of_b(scene).await?;
    let audit = tenant_a.cluster.audit();
    let mark = audit.settle().await?;
    let own = ["acceptapis.broker.platform-mesh.io", "migrations.broker.platform-mesh.io"];
    tenant_a.install(|name| own.contains(&name)).await?;
    tenant_a.apply(include_str!("../tenant-a/acceptapi.yaml")).await?;
    tenant_a.apply(include_str!("../tenant-a/migration.yaml")).await?;
    scene.probe(tenant_a).await?;
    unharmed(scene, &before).await?;
    anyhow::ensure!(rogue.copies_of::<Sql>("orders").await?.is_empty(), "rogue has a copy of orders");
    let offer = tenant_a.api::<AcceptApi>().get("everything").await?;
    let migration = tenant_a.api::<Migration>().get("kidnap").await?;
    anyhow::ensure!(offer.status.is_none() && migration.status.is_none(), "somebody took them for real");
    // The broker did not as much as ask for them.
    let user = format!("system:serviceaccount:{SYSTEM}:{ACCOUNT}");
    let requests = audit.settled_since(mark).await?.of(&user);
    let asked = requests.only(|event| matches!(event.resource.as_str(), "acceptapis" | "migrations"));
    anyhow::ensure!(!requests.is_empty() && asked.is_empty(), "the broker asked: {:?}", asked.counts());
    Ok(())
}

/// Somebody with access to `shared` has an object where the copy of tenant a's next object would be.
async fn taken(scene: &Scene) -> anyhow::Result<String> {
    let Scene { tenant_a, shared, .. } = scene;
    let copy = shared.copy_from::<Sql>(tenant_a, "orders").await?.name_any();
    let Some(prefix) = copy.strip_suffix("-orders") else {
        anyhow::bail!("the copy is called {copy}");
    };
    let name = format!("{prefix}-invoices");
    want(shared, &name, "somebody-elses").await?;
    let before = shared.api::<Sql>().get(&name).await?.spec;
    want(tenant_a, "invoices", POSTGRES).await?;
    let brokered =
        tenant_a.until::<Sql>("invoices", BROKERED, |held| held.status == "False" && held.reason == "NameConflict");
    let brokered = brokered.await?;
    scene.probe(tenant_a).await?;
    anyhow::ensure!(shared.api::<Sql>().get(&name).await?.spec == before, "somebody's object was changed");
    tenant_a.delete::<Sql>("invoices").await?;
    tenant_a.gone::<Sql>("invoices").await?;
    shared.api::<Sql>().get(&name).await?;
    Ok(format!("Brokered=False, {}: {}", brokered.reason, brokered.message))
}

/// The tenant's own Secret has the name that a related one would get.
async fn own(scene: &Scene) -> anyhow::Result<String> {
    let Scene { tenant_a, .. } = scene;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "returns-connection" },
        "stringData": { "mine": "do not touch" },
    });
    tenant_a.apply(&secret.to_string()).await?;
    let before = tenant_a.api::<Secret>().get("returns-connection").await?.resource_version();
    want(tenant_a, "returns", POSTGRES).await?;
    let told = tenant_a.told("returns", "RelatedConflict", |_| true).await?;
    scene.probe(tenant_a).await?;
    let now = tenant_a.api::<Secret>().get("returns-connection").await?.resource_version();
    anyhow::ensure!(now == before, "the tenant's own Secret was written to");
    Ok(format!("Event RelatedConflict: {told}"))
}
