//! What lives where, and what to try.

use std::path::Path;

use broker_api::{Migration, condition::BROKERED, keys};
use certs_example::secret::TLS;
use comfy_table::{Table, presets::UTF8_FULL_CONDENSED};
use harness::Lab;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, ResourceExt, api::ListParams};

use crate::{
    arrival::WEBSITE,
    place::{Place, condition},
    refusal::ELSEWHERE,
    screen::Screen,
    stage::Stage,
};

pub(crate) async fn show(stage: &Stage, lab: &Lab, screen: &Screen) -> anyhow::Result<()> {
    let Stage { hub, homer, internal, corp, .. } = stage;
    screen.heading("What lives where");
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
    screen.say(&table.to_string());
    try_out(stage, lab, screen).await
}

async fn certificates(place: &Place, role: &str) -> anyhow::Result<Vec<String>> {
    if role == "coordination" {
        return migrations(place).await;
    }
    let held = place.certificates.list(&ListParams::default()).await?;
    Ok(held
        .iter()
        .map(|certificate| {
            let refused = condition(certificate, BROKERED).is_some_and(|(status, _)| status == "False");
            let word = certificate.status.as_ref().and_then(|status| status.status);
            let state = match word {
                _ if refused => "not brokered".to_owned(),
                Some(word) => format!("{word:?}"),
                None => "no status".to_owned(),
            };
            format!("Certificate {} for {}: {state}", certificate.name_any(), certificate.spec.fqdn)
        })
        .collect())
}

async fn migrations(hub: &Place) -> anyhow::Result<Vec<String>> {
    let held = Api::<Migration>::all(hub.client.clone()).list(&ListParams::default()).await?;
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
    let held = place.accept_apis.list(&ListParams::default()).await?;
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

async fn try_out(stage: &Stage, lab: &Lab, screen: &Screen) -> anyhow::Result<()> {
    let kubectl = shown(&harness::kubectl_binary()?);
    let directory = shown(lab.directory());
    let copy = stage.corp.place.copy_of(WEBSITE).await?.name_any();
    let at = |cluster: &str| format!("{kubectl} --kubeconfig {directory}/{cluster}.kubeconfig");
    let (hub, homer, corp) = (at("hub"), at("homer"), at("corp-com"));
    screen.heading("Try");
    for line in [
        format!("{homer} get excert,secret"),
        format!("{homer} get excert {ELSEWHERE} -o yaml"),
        format!("{homer} patch excert {ELSEWHERE} --type merge -p '{{\"spec\":{{\"fqdn\":\"www.corp.com\"}}}}'"),
        format!("{homer} events"),
        format!("{corp} get acceptapi,excert,secret"),
        format!("{corp} delete excert {copy}"),
        format!("{homer} patch excert {WEBSITE} --type merge -p '{{\"spec\":{{\"fqdn\":\"www.internal.corp\"}}}}'"),
        format!("{hub} get migcfg,migrations"),
        format!("{homer} delete excert {WEBSITE}"),
        format!("tail -f {directory}/resource-broker.log"),
    ] {
        screen.say(&format!("  {line}"));
    }
    screen.say("");
    Ok(())
}

/// A path as a person in this directory would type it.
fn shown(path: &Path) -> String {
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let here = std::env::current_dir().ok();
    let short = here.and_then(|here| whole.strip_prefix(here).ok().map(Path::to_owned));
    short.unwrap_or(whole).display().to_string()
}
