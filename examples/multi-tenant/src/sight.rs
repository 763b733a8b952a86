//! What each may see: credentials of one cluster are worth nothing in another, and nothing of one tenant is in the other.

use anyhow::Context as _;
use broker_api::generic::databases::Sql;
use example_stage::{
    Place, Stage,
    installation::{CLUSTERS, INSTANCE, SYSTEM},
    place::PERSON,
};
use k8s_openapi::api::{
    authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec},
    core::v1::{ConfigMap, Secret},
    events::v1::Event,
};
use kube::{
    Api, Client, ResourceExt,
    api::{ListParams, PostParams},
    config::Kubeconfig,
};

use crate::scene::{Scene, password};

pub(crate) async fn play(scene: &Scene, stage: &Stage) -> anyhow::Result<()> {
    stage.screen.heading("What each may see");
    let people = stage.step("nobody's credentials work in another cluster", strangers(scene, person)).await?;
    stage.screen.detail(&people);
    let brokers =
        stage.step("nor does any of the broker's: each cluster has a token of its own", broker_tokens(scene)).await?;
    stage.screen.detail(&brokers);
    for line in stage.step("and with it the broker may do what it needs there, and no more", limits(scene)).await? {
        stage.screen.detail(&line);
    }
    let told = stage
        .step("nothing of one tenant is in the cluster of the other, nor did it arrive elsewhere", contents(scene))
        .await?;
    stage.screen.detail(&told);
    Ok(())
}

fn person(place: &Place) -> anyhow::Result<String> {
    Ok(place.cluster.token(PERSON)?.to_owned())
}

/// Tries the token of each cluster in each other one.
async fn strangers(scene: &Scene, token: impl Fn(&Place) -> anyhow::Result<String>) -> anyhow::Result<String> {
    let mut tokens = Vec::new();
    for place in scene.places() {
        tokens.push((place, token(place)?));
    }
    refused_elsewhere(&tokens).await
}

async fn refused_elsewhere(tokens: &[(&Place, String)]) -> anyhow::Result<String> {
    let mut attempts = 0;
    for (of, token) in tokens {
        // It is good, where it belongs.
        let known = code(&of.client_with(token).await?).await?;
        anyhow::ensure!(known != 401, "{} does not know its own token", of.name());
    }
    for (of, token) in tokens {
        for (at, _) in tokens.iter().filter(|(at, _)| at.name() != of.name()) {
            let answer = code(&at.client_with(token).await?).await?;
            anyhow::ensure!(answer == 401, "a token of {} is answered with {answer} in {}", of.name(), at.name());
            attempts += 1;
        }
    }
    Ok(format!("{} tokens, {attempts} attempts: 401 Unauthorized, all of them", tokens.len()))
}

/// How a request for the SQLs is answered.
async fn code(client: &Client) -> anyhow::Result<u16> {
    match Api::<Sql>::default_namespaced(client.clone()).list(&ListParams::default()).await {
        Ok(_) => Ok(200),
        Err(kube::Error::Api(answer)) => Ok(answer.code),
        Err(error) => Err(error.into()),
    }
}

/// The tokens that the broker has: for others as the hub keeps them, for the hub that of its own ServiceAccount.
async fn tokens(scene: &Scene) -> anyhow::Result<Vec<(&Place, String)>> {
    let secrets = Api::<Secret>::namespaced(scene.hub.client.clone(), CLUSTERS);
    let mut tokens = vec![(&scene.hub, scene.hub.token_of(SYSTEM, INSTANCE).await?)];
    for place in scene.places().into_iter().skip(1) {
        let data = secrets.get(place.name()).await?.data.unwrap_or_default();
        let text = data.get("kubeconfig").context("the cluster Secret has no kubeconfig")?;
        let kubeconfig = Kubeconfig::from_yaml(&String::from_utf8(text.0.clone())?)?;
        let user = kubeconfig.auth_infos.into_iter().next().and_then(|user| user.auth_info);
        let token = serde_json::to_value(user)?["token"].as_str().map(ToOwned::to_owned);
        tokens.push((place, token.context("the kubeconfig has no token")?));
    }
    Ok(tokens)
}

async fn broker_tokens(scene: &Scene) -> anyhow::Result<String> {
    refused_elsewhere(&tokens(scene).await?).await
}

/// A few things that the broker has no business with, and one that it has.
async fn limits(scene: &Scene) -> anyhow::Result<Vec<String>> {
    let Scene { tenant_a, shared, .. } = scene;
    let tokens = tokens(scene).await?;
    let mut lines = Vec::new();
    let group = "databases.generic.platform-mesh.io";
    for (place, verb, group, resource, wanted) in [
        (tenant_a, "patch", group, "sqls", true),
        (tenant_a, "create", group, "sqls", false),
        (tenant_a, "delete", group, "sqls", false),
        (tenant_a, "list", "", "pods", false),
        (tenant_a, "create", "rbac.authorization.k8s.io", "clusterrolebindings", false),
        (shared, "create", group, "sqls", true),
        (shared, "patch", group, "sqls/status", false),
        (shared, "create", "", "secrets", false),
    ] {
        let token = tokens.iter().find(|(of, _)| of.name() == place.name()).map(|(_, token)| token);
        let client = place.client_with(token.context("a token")?).await?;
        let allowed = may(&client, verb, group, resource).await?;
        anyhow::ensure!(allowed == wanted, "in {}, {verb} {resource}: {allowed}", place.name());
        lines.push(format!("{:9} {verb:7} {resource:20} {}", place.name(), if allowed { "yes" } else { "no" }));
    }
    Ok(lines)
}

/// `kubectl auth can-i`.
async fn may(client: &Client, verb: &str, group: &str, resource: &str) -> anyhow::Result<bool> {
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    let attributes = ResourceAttributes {
        verb: Some(verb.to_owned()),
        group: Some(group.to_owned()),
        resource: Some(resource.to_owned()),
        subresource: Some(subresource.to_owned()),
        namespace: Some("default".to_owned()),
        ..ResourceAttributes::default()
    };
    let spec =
        SelfSubjectAccessReviewSpec { resource_attributes: Some(attributes), ..SelfSubjectAccessReviewSpec::default() };
    let review = SelfSubjectAccessReview { spec, ..SelfSubjectAccessReview::default() };
    let answer = Api::all(client.clone()).create(&PostParams::default(), &review).await?;
    Ok(answer.status.is_some_and(|status| status.allowed))
}

/// Looks for what only one tenant may have, in everything that the other one has.
async fn contents(scene: &Scene) -> anyhow::Result<String> {
    let Scene { tenant_a, tenant_b, .. } = scene;
    let mut looked = 0;
    for (of, at) in [(tenant_a, tenant_b), (tenant_b, tenant_a)] {
        let mut theirs = Vec::new();
        for sql in of.list::<Sql>().await? {
            theirs.extend(sql.uid());
            // `returns` of tenant a has none: its Secret's name was taken.
            if let Ok(password) = password(of, &format!("{}-connection", sql.name_any())).await {
                theirs.push(password);
            }
        }
        let finds =
            |texts: &[String], secret: &String| texts.iter().find(|text| text.contains(secret.as_str())).cloned();
        // Where it belongs it is found: so this would find it elsewhere.
        let own = everything(of).await?;
        let unseen = theirs.iter().filter(|secret| finds(&own, secret).is_none()).count();
        anyhow::ensure!(
            unseen == 0 && !theirs.is_empty(),
            "{unseen} of {} are not even in {}",
            theirs.len(),
            of.name()
        );
        let others = everything(at).await?;
        looked += others.len();
        for secret in &theirs {
            let found = finds(&others, secret);
            anyhow::ensure!(found.is_none(), "{} has something of {}: {found:?}", at.name(), of.name());
        }
    }
    // The broker keeps no tenant's secrets in the hub.
    let hub = Api::<Secret>::all(scene.hub.client.clone()).list(&ListParams::default()).await?;
    let kept =
        hub.iter().filter(|secret| ![SYSTEM, CLUSTERS].contains(&secret.namespace().unwrap_or_default().as_str()));
    let kept: Vec<_> = kept.map(ResourceExt::name_any).collect();
    anyhow::ensure!(kept.is_empty(), "hub has {kept:?}");
    Ok(format!("{looked} objects read, each for the other's passwords and uids"))
}

async fn everything(place: &Place) -> anyhow::Result<Vec<String>> {
    let mut texts = Vec::new();
    for sql in Api::<Sql>::all(place.client.clone()).list(&ListParams::default()).await? {
        texts.push(serde_json::to_string(&sql)?);
    }
    for event in Api::<Event>::all(place.client.clone()).list(&ListParams::default()).await? {
        texts.push(serde_json::to_string(&event)?);
    }
    for config_map in Api::<ConfigMap>::all(place.client.clone()).list(&ListParams::default()).await? {
        texts.push(serde_json::to_string(&config_map)?);
    }
    for secret in Api::<Secret>::all(place.client.clone()).list(&ListParams::default()).await? {
        // Values as they are, not in base64.
        let data = secret.data.iter().flatten().map(|(_, value)| String::from_utf8_lossy(&value.0).into_owned());
        texts.push(data.collect::<Vec<_>>().join("\n"));
    }
    Ok(texts)
}
