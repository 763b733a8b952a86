//! Two Certificates are wanted in the consumer cluster; each is served by the provider that accepts it.

use crate::{proof::Proof, status::RELATED};
use broker_api::{brokered_status::Availability, condition::BROKERED, example::Certificate};
use example_stage::{DEADLINE, Screen, Stage};
use harness::wait_for;
use kube::ResourceExt;
use serde_json::json;

use super::{
    proven::proof,
    scene::{Provider, Scene},
};

/// The Certificate that most of the demo is about, with its Secret in the consumer cluster and its first name.
pub(crate) const WEBSITE: &str = "website";
/// The name that it asks for, at first.
pub(crate) const WEBSITE_FQDN: &str = "www.internal.corp";
/// The Certificate that comes and goes.
pub(crate) const SHOP: &str = "shop";
const SHOP_FQDN: &str = "shop.corp.com";

/// Returns what is known of the website's first certificate.
pub(crate) async fn play(scene: &Scene, stage: &Stage) -> anyhow::Result<Proof> {
    let Scene { homer, internal, corp, .. } = scene;
    stage.screen.heading("A Certificate is served");
    let what = format!("homer wants Certificate {WEBSITE} for {WEBSITE_FQDN}");
    stage.step(&what, homer.apply(include_str!("../../consumer/certificate.yaml"))).await?;
    let proof = served(scene, stage, WEBSITE, WEBSITE_FQDN, internal, corp).await?;

    let what = format!("homer wants Certificate {SHOP} for {SHOP_FQDN}");
    let shop = json!({
        "apiVersion": "example.platform-mesh.io/v1alpha1",
        "kind": "Certificate",
        "metadata": { "name": SHOP },
        "spec": { "fqdn": SHOP_FQDN },
    });
    stage.step(&what, homer.apply(&shop.to_string())).await?;
    served(scene, stage, SHOP, SHOP_FQDN, corp, internal).await?;
    Ok(proof)
}

async fn served(
    scene: &Scene,
    stage: &Stage,
    name: &str,
    fqdn: &str,
    by: &Provider,
    not_by: &Provider,
) -> anyhow::Result<Proof> {
    let what = format!("the broker makes its copy in {}, and none in {}", by.place.name(), not_by.place.name());
    let copied = async {
        let what = format!("a copy of {name} in {}", by.place.name());
        let copy = wait_for(DEADLINE, &what, async || by.place.copy_of::<Certificate>(name).await).await?;
        let others = not_by.place.copies_of::<Certificate>(name).await?.len();
        anyhow::ensure!(others == 0, "expected no copy of {name} in {}, found {others}", not_by.place.name());
        anyhow::Ok(copy)
    };
    let copy = stage.step(&what, copied).await?;
    stage.screen.detail(&format!("copy: {}", copy.name_any()));
    let what = format!("a real certificate is back in homer: Secret {name}-tls");
    let proof = stage.step(&what, arrived(scene, name, fqdn, by, None)).await?;
    tell(&stage.screen, &proof);
    Ok(proof)
}

/// What was checked of a certificate.
pub(crate) fn tell(screen: &Screen, proof: &Proof) {
    let Proof { names, issuer, serial, not_after } = proof;
    screen.detail(&format!("X.509: for {}, issued by {issuer}, valid until {not_after}", names.join(", ")));
    screen.detail(&format!("       serial {serial}; signature, key and name are checked"));
}

/// Waits until the consumer has a certificate for `fqdn` from this provider's authority, another one than `not`, and a
/// status that says so.
pub(crate) async fn arrived(
    scene: &Scene,
    name: &str,
    fqdn: &str,
    by: &Provider,
    not: Option<&Proof>,
) -> anyhow::Result<Proof> {
    let what = format!("a certificate for {fqdn} from {} in homer", by.issuer);
    wait_for(DEADLINE, &what, async || {
        let secret = format!("{name}-tls");
        let (proof, authority) = proof(&scene.homer, &secret, fqdn).await?;
        anyhow::ensure!(proof.issuer == format!("CN={}", by.issuer), "issued by {}", proof.issuer);
        anyhow::ensure!(authority == by.authority, "ca.crt is not the authority of {}", by.place.name());
        anyhow::ensure!(not.is_none_or(|not| not.serial != proof.serial), "still serial {}", proof.serial);

        let certificate = scene.homer.api::<Certificate>().get(name).await?;
        let brokered = scene.homer.condition::<Certificate>(name, BROKERED).await?;
        anyhow::ensure!(brokered.as_ref().is_some_and(|held| held.status == "True"), "Brokered is {brokered:?}");
        let status = certificate.status.unwrap_or_default();
        anyhow::ensure!(status.status == Some(Availability::Available), "status.status is {:?}", status.status);
        let related = status.related_resources.get(RELATED).map(|related| related.name.as_str());
        anyhow::ensure!(related == Some(&secret), "status.relatedResources.{RELATED} is {related:?}");
        Ok(proof)
    })
    .await
}
