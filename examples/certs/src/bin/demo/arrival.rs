//! Two Certificates are wanted in the consumer cluster; each is served by the provider that accepts it.

use broker_api::{brokered_status::Availability, condition::BROKERED};
use certs_example::{proof::Proof, status::RELATED};
use harness::wait_for;
use serde_json::json;

use crate::{
    DEADLINE,
    place::condition,
    screen::Screen,
    stage::{Provider, Stage},
};

/// The Certificate that most of the demo is about, with its Secret in the consumer cluster and its first name.
pub(crate) const WEBSITE: &str = "website";
/// The name that it asks for, at first.
pub(crate) const WEBSITE_FQDN: &str = "www.internal.corp";
/// The Certificate that comes and goes.
pub(crate) const SHOP: &str = "shop";
const SHOP_FQDN: &str = "shop.corp.com";

/// Returns what is known of the website's first certificate.
pub(crate) async fn play(stage: &Stage, screen: &Screen) -> anyhow::Result<Proof> {
    let Stage { homer, internal, corp, .. } = stage;
    screen.heading("A Certificate is served");
    let what = format!("homer wants Certificate {WEBSITE} for {WEBSITE_FQDN}");
    screen.step(&what, homer.apply(include_str!("../../../consumer/certificate.yaml"))).await?;
    let proof = served(stage, screen, WEBSITE, WEBSITE_FQDN, internal, corp).await?;

    let what = format!("homer wants Certificate {SHOP} for {SHOP_FQDN}");
    let shop = json!({
        "apiVersion": "example.platform-mesh.io/v1alpha1",
        "kind": "Certificate",
        "metadata": { "name": SHOP },
        "spec": { "fqdn": SHOP_FQDN },
    });
    screen.step(&what, homer.apply(&shop.to_string())).await?;
    served(stage, screen, SHOP, SHOP_FQDN, corp, internal).await?;
    Ok(proof)
}

async fn served(
    stage: &Stage,
    screen: &Screen,
    name: &str,
    fqdn: &str,
    by: &Provider,
    not_by: &Provider,
) -> anyhow::Result<Proof> {
    let what = format!("the broker makes its copy in {}, and none in {}", by.place.name(), not_by.place.name());
    let copied = async {
        let what = format!("a copy of {name} in {}", by.place.name());
        let copy = wait_for(DEADLINE, &what, async || by.place.copy_of(name).await).await?;
        let others = not_by.place.copies_of(name).await?.len();
        anyhow::ensure!(others == 0, "expected no copy of {name} in {}, found {others}", not_by.place.name());
        anyhow::Ok(copy)
    };
    let copy = screen.step(&what, copied).await?;
    screen.detail(&format!("copy: {}", copy.metadata.name.unwrap_or_default()));
    let what = format!("a real certificate is back in homer: Secret {name}-tls");
    let proof = screen.step(&what, arrived(stage, name, fqdn, by, None)).await?;
    tell(screen, &proof);
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
    stage: &Stage,
    name: &str,
    fqdn: &str,
    by: &Provider,
    not: Option<&Proof>,
) -> anyhow::Result<Proof> {
    let what = format!("a certificate for {fqdn} from {} in homer", by.issuer);
    wait_for(DEADLINE, &what, async || {
        let secret = format!("{name}-tls");
        let (proof, authority) = stage.homer.proof(&secret, fqdn).await?;
        anyhow::ensure!(proof.issuer == format!("CN={}", by.issuer), "issued by {}", proof.issuer);
        anyhow::ensure!(authority == by.authority, "ca.crt is not the authority of {}", by.place.name());
        anyhow::ensure!(not.is_none_or(|not| not.serial != proof.serial), "still serial {}", proof.serial);

        let certificate = stage.homer.certificates.get(name).await?;
        let brokered = condition(&certificate, BROKERED);
        anyhow::ensure!(brokered.as_ref().is_some_and(|(status, _)| status == "True"), "Brokered is {brokered:?}");
        let status = certificate.status.unwrap_or_default();
        anyhow::ensure!(status.status == Some(Availability::Available), "status.status is {:?}", status.status);
        let related = status.related_resources.get(RELATED).map(|related| related.name.as_str());
        anyhow::ensure!(related == Some(&secret), "status.relatedResources.{RELATED} is {related:?}");
        Ok(proof)
    })
    .await
}
