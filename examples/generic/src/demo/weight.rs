//! By weight: databases are spread.

use crate::product::product_name;
use broker_api::generic::databases::Sql;
use example_stage::Stage;
use futures::future::try_join_all;
use k8s_openapi::api::core::v1::Secret;

use super::scene::{Scene, served};

/// How many databases are wanted.
const NUMBER: usize = 40;
/// How many of them `region` gets at least and at most. Which get where is decided by each one's uid, so this is chance
/// around 30; beyond these bounds it would be once in a hundred thousand runs.
const EXPECTED: std::ops::RangeInclusive<usize> = 17..=39;

pub(crate) async fn play(scene: &Scene, stage: &Stage) -> anyhow::Result<()> {
    let Scene { homer, .. } = scene;
    stage.screen.heading("By weight: databases");
    let sql = include_str!("../../consumer/sql.yaml");
    let names: Vec<_> = (0..NUMBER).map(|number| format!("orders-{number:02}")).collect();
    let wanted = names.iter().map(|name| sql.replace("name: orders", &format!("name: {name}"))).collect::<Vec<_>>();
    let what = format!("homer wants {NUMBER} SQLs of engine postgres, which both providers accept");
    stage.step(&what, homer.apply(&wanted.join("\n---\n"))).await?;
    let all = async {
        try_join_all(names.iter().map(|name| served::<Sql>(homer, name))).await?;
        scene.counts::<Sql>().await
    };
    let [edge, region] = stage.step("all are served, each with its Secret in homer", all).await?;
    let spread = async {
        anyhow::ensure!(edge + region == NUMBER, "expected {NUMBER} copies, there are {edge} and {region}");
        anyhow::ensure!(EXPECTED.contains(&region), "expected about 30 of {NUMBER} in region, there are {region}");
        Ok(())
    };
    stage.step("they are spread by weight, 1 : 3", spread).await?;
    for (name, weight, count) in [("edge", 1, edge), ("region", 3, region)] {
        stage.screen.detail(&format!("{name:6} weight {weight}: {count:2} {}", "■".repeat(count)));
    }

    let connection = async {
        let secret = homer.api::<Secret>().get(&product_name::<Sql>(&names[0])).await?;
        let data = secret.data.unwrap_or_default();
        let text = |key: &str| data.get(key).map(|text| String::from_utf8_lossy(&text.0).into_owned());
        let (Some(uri), Some(password)) = (text("uri"), text("password")) else {
            anyhow::bail!("the Secret lacks uri or password: {:?}", data.keys());
        };
        anyhow::ensure!(uri.contains(&password), "the uri has another password");
        Ok(uri.replace(&password, "<password>"))
    };
    let uri = stage.step("what its user gets: Secret orders-00-connection", connection).await?;
    stage.screen.detail(&uri);
    Ok(())
}
