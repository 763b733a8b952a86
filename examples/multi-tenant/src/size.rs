//! An object that is as large as an API server takes.

use broker_api::{
    generic::databases::{Sql, SqlSpec},
    keys,
};
use example_stage::Stage;
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, PostParams},
};

use crate::scene::{POSTGRES, Scene, served, want};

/// What etcd takes in one request, in bytes (`--max-request-bytes`).
const ETCD_LIMIT: usize = 1_572_864;
/// Labels of the object: annotations alone may have 256 KiB in all, labels as much as there is room for.
const LABELS: usize = 7_000;
/// By so much an object is smaller than the limit that fits for sure, in bytes.
const SAFE: usize = 4_000;
/// What the broker adds to an object is larger than this.
const CLOSE: usize = 300;

pub(crate) async fn play(scene: &Scene, stage: &Stage) -> anyhow::Result<()> {
    let what = "it makes an object that cannot grow by a finalizer any more: told, and others are served meanwhile";
    let told = stage.step(what, huge(scene)).await?;
    stage.screen.detail(&told);
    Ok(())
}

async fn huge(scene: &Scene) -> anyhow::Result<String> {
    let Scene { tenant_a, tenant_b, shared, rogue, .. } = scene;
    let sqls = tenant_a.api::<Sql>();
    // The largest that the API server takes, but for a few bytes.
    let room = ETCD_LIMIT - serde_json::to_vec(&sql(0))?.len();
    let (mut fits, mut refused) = (room - SAFE, room);
    while refused - fits > CLOSE {
        let middle = usize::midpoint(fits, refused);
        if takes(&sqls, middle).await {
            fits = middle;
        } else {
            refused = middle;
        }
    }
    sqls.create(&PostParams::default(), &sql(fits)).await?;
    let told = tenant_a.told("huge", "TooLarge", |_| true).await?;
    want(tenant_b, "small", POSTGRES).await?;
    served(tenant_b, "small").await?;
    for provider in [shared, rogue] {
        let copies = provider.copies_of::<Sql>("huge").await?;
        anyhow::ensure!(copies.is_empty(), "expected no copy in {}", provider.name());
    }
    tenant_a.delete::<Sql>("huge").await?;
    tenant_a.gone::<Sql>("huge").await?;
    Ok(format!("Event TooLarge: {told}"))
}

/// Whether the API server takes it. A dry run does not reach etcd, which has the limit: so this is for real, and taken
/// back. With label `ignore` the broker does not serve it meanwhile.
async fn takes(sqls: &Api<Sql>, bytes: usize) -> bool {
    let mut sql = sql(bytes);
    sql.metadata.name = Some("large".to_owned());
    sql.labels_mut().insert(keys::IGNORE.to_owned(), keys::TRUE.to_owned());
    let taken = sqls.create(&PostParams::default(), &sql).await.is_ok();
    if taken {
        // What stays would make the next attempt a conflict, and that is seen: nothing larger would fit.
        let _gone = sqls.delete("large", &DeleteParams::default()).await;
    }
    taken
}

/// A database with many labels, and an annotation of so many bytes.
fn sql(bytes: usize) -> Sql {
    let key = |number: usize| format!("{}.example.org/{number:060}", "x".repeat(48));
    let mut sql = Sql::new("huge", SqlSpec { engine: POSTGRES.into(), version: None });
    sql.metadata.labels = Some((0..LABELS).map(|number| (key(number), "y".repeat(63))).collect());
    sql.metadata.annotations = Some([("filler".to_owned(), "z".repeat(bytes))].into());
    sql
}
