//! Certificates in Secrets, checked as a web server would.

use crate::{
    proof::{Proof, prove},
    secret::{CA_CERTIFICATE, CERTIFICATE, KEY},
};
use example_stage::Place;
use k8s_openapi::{api::core::v1::Secret, jiff::Timestamp};

/// Checks the certificate in Secret `name`, and that it is for `fqdn`. Also returns `ca.crt`.
pub(crate) async fn proof(place: &Place, name: &str, fqdn: &str) -> anyhow::Result<(Proof, String)> {
    let (proof, authority) = proof_of(&place.api::<Secret>().get(name).await?)?;
    anyhow::ensure!(proof.names == [fqdn], "a certificate for {:?}", proof.names);
    Ok((proof, authority))
}

/// Checks that the certificate in a Secret has its key with it, and that the authority that `ca.crt` names signed it.
pub(crate) fn proof_of(secret: &Secret) -> anyhow::Result<(Proof, String)> {
    let data = secret.data.as_ref();
    let text = |key| data.and_then(|data| data.get(key)).map_or(&[][..], |value| &value.0);
    let authority = text(CA_CERTIFICATE);
    let proof = prove(text(CERTIFICATE), text(KEY), authority, Timestamp::now())?;
    Ok((proof, String::from_utf8_lossy(authority).into_owned()))
}
