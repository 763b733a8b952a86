//! What lives where, and what to try.

use crate::secret::TLS;
use broker_api::{AcceptApi, Migration, condition::BROKERED, example::Certificate, keys};
use comfy_table::{Table, presets::UTF8_FULL_CONDENSED};
use example_stage::{
    Place, Stage,
    installation::{ACCOUNT, INSTANCE, OPERATOR, SYSTEM},
    place::PERSON,
};
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, ResourceExt, api::ListParams};

use super::{arrival::WEBSITE, refusal::ELSEWHERE, scene::Scene};

pub(crate) async fn show(scene: &Scene, stage: &Stage) -> anyhow::Result<()> {
    let Scene { hub, homer, internal, corp, .. } = scene;
    stage.screen.heading("What lives where");
    let mut table = Table::new();
    table.load_preset(UTF8_FULL_CONDENSED).set_header(["cluster", "role", "objects"]);
    for (place, role) in
        [(hub, "coordination"), (homer, "consumer"), (&internal.place, "provider"), (&corp.place, "provider")]
    {
        let mut objects = certificates(place, role).await?;
        objects.extend(offers(place, role).await?);
        objects.extend(secrets(place).await?);
        table.add_row([place.name(), role, &objects.join("\n")]);
    }
    stage.screen.say(&table.to_string());
    requests(scene, stage).await?;
    suggest(scene, stage).await
}

async fn certificates(place: &Place, role: &str) -> anyhow::Result<Vec<String>> {
    if role == "coordination" {
        return migrations(place).await;
    }
    let held = place.list::<Certificate>().await?;
    Ok(held
        .iter()
        .map(|certificate| {
            let status = certificate.status.clone().unwrap_or_default();
            let refused = status.conditions.iter().any(|held| held.type_ == BROKERED && held.status == "False");
            let state = match status.status {
                _ if refused => "not brokered".to_owned(),
                Some(word) => format!("{word:?}"),
                None => "no status".to_owned(),
            };
            format!("Certificate {} for {}: {state}", certificate.name_any(), certificate.spec.fqdn)
        })
        .collect())
}

async fn migrations(hub: &Place) -> anyhow::Result<Vec<String>> {
    let held = hub.list::<Migration>().await?;
    Ok(held
        .iter()
        .map(|migration| {
            let state = migration.status.as_ref().map(|status| status.state).unwrap_or_default();
            format!("Migration {}: {state:?}", migration.name_any())
        })
        .collect())
}

async fn offers(place: &Place, role: &str) -> anyhow::Result<Vec<String>> {
    if role != "provider" {
        return Ok(Vec::new());
    }
    let held = place.list::<AcceptApi>().await?;
    let offer =
        |suffixes: Vec<String>, name: String| format!("AcceptAPI {name}: fqdn ends with {}", suffixes.join(", "));
    Ok(held
        .iter()
        .map(|held| {
            let suffixes = held.spec.filters.iter().filter_map(|filter| filter.suffix.clone());
            offer(suffixes.collect(), held.name_any())
        })
        .collect())
}

/// Those that this is about: certificates, authorities, the broker's signing key.
async fn secrets(place: &Place) -> anyhow::Result<Vec<String>> {
    let held = Api::<Secret>::all(place.client.clone()).list(&ListParams::default()).await?;
    Ok(held
        .iter()
        .filter(|secret| secret.type_.as_deref() == Some(TLS) || secret.name_any() == keys::SIGNING_KEY_SECRET)
        .map(|secret| format!("Secret {}/{}", secret.namespace().unwrap_or_default(), secret.name_any()))
        .collect())
}

/// Who asked which API server for how much since the installation. The broker has a ServiceAccount in each cluster, in
/// hub the one that the operator made for it.
async fn requests(scene: &Scene, stage: &Stage) -> anyhow::Result<()> {
    stage.screen.heading("Who asked for how much");
    let mut table = Table::new();
    table.load_preset(UTF8_FULL_CONDENSED).set_header(["cluster", "user", "reads", "writes", "denied"]);
    for (place, mark) in scene.places().into_iter().zip(&scene.installed) {
        let seen = place.cluster.audit().settled_since(*mark).await?;
        let accounts = [INSTANCE, ACCOUNT, OPERATOR].map(|name| format!("system:serviceaccount:{SYSTEM}:{name}"));
        let others = ["provider-controller".to_owned(), PERSON.to_owned()];
        for user in accounts.into_iter().chain(others) {
            let own = seen.of(&user);
            let denied = own.only(|event| event.code == 403);
            let counts = [own.reads().len(), own.writes().len(), denied.len()].map(|count| count.to_string());
            if !own.is_empty() {
                table.add_row([place.name(), &user].into_iter().chain(counts.iter().map(String::as_str)));
            }
        }
    }
    stage.screen.say(&table.to_string());
    stage
        .screen
        .say("denied: namespaces, to remove them once empty; config/rbac/provider-namespaces.yaml would allow it");
    Ok(())
}

async fn suggest(scene: &Scene, stage: &Stage) -> anyhow::Result<()> {
    let Scene { hub, homer, corp, .. } = scene;
    let copy = corp.place.copy_of::<Certificate>(WEBSITE).await?.name_any();
    let edit =
        |name: &str, fqdn: &str| format!("patch excert {name} --type merge -p '{{\"spec\":{{\"fqdn\":\"{fqdn}\"}}}}'");
    stage.suggest(&[
        (homer, "get excert,secret"),
        (homer, &format!("get excert {ELSEWHERE} -o yaml")),
        (homer, &edit(ELSEWHERE, "www.corp.com")),
        (homer, "events"),
        (&corp.place, "get acceptapi,excert,secret"),
        (&corp.place, &format!("delete excert {copy}")),
        (homer, &edit(WEBSITE, "www.internal.corp")),
        (hub, "get migcfg,migrations"),
        (hub, "-n resource-broker-system get brokers,deployments,pods"),
        (hub, "-n resource-broker-system patch broker broker --type merge -p '{\"spec\":{\"replicas\":2}}'"),
        (homer, &format!("delete excert {WEBSITE}")),
    ])
}
