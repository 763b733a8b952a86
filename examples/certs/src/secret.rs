//! The Secret that a Certificate becomes: type `kubernetes.io/tls`, owned by its Certificate.

use std::collections::BTreeMap;

use broker_api::example::Certificate;
use k8s_openapi::{ByteString, api::core::v1::Secret, apimachinery::pkg::apis::meta::v1::OwnerReference};
use kube::{Resource, ResourceExt, api::ObjectMeta};

use crate::authority::Leaf;

/// Type of a Secret that holds a certificate.
pub const TLS: &str = "kubernetes.io/tls";
/// Key of the certificate.
pub const CERTIFICATE: &str = "tls.crt";
/// Key of its private key.
pub const KEY: &str = "tls.key";
/// Key of the authority's certificate.
pub const CA_CERTIFICATE: &str = "ca.crt";
/// Label of everything that this provider makes; it watches only Secrets that have it.
pub const LABEL: (&str, &str) = ("app.kubernetes.io/managed-by", "cert-provider");

/// Name of the Secret of a Certificate.
pub fn name(certificate: &str) -> String {
    format!("{certificate}-tls")
}

/// The Secret as it should be. `None` when the API server has not given the Certificate its name and uid.
pub fn build(certificate: &Certificate, leaf: &Leaf) -> Option<Secret> {
    let data = [(CERTIFICATE, &leaf.certificate), (KEY, &leaf.key), (CA_CERTIFICATE, &leaf.authority)];
    Some(Secret {
        metadata: ObjectMeta {
            name: Some(name(certificate.metadata.name.as_deref()?)),
            namespace: certificate.namespace(),
            labels: Some(BTreeMap::from([(LABEL.0.to_owned(), LABEL.1.to_owned())])),
            // The garbage collector deletes the Secret when its Certificate is gone: no finalizer is needed.
            owner_references: Some(vec![certificate.controller_owner_ref(&())?]),
            ..ObjectMeta::default()
        },
        type_: Some(TLS.to_owned()),
        data: Some(data.into_iter().map(|(key, text)| (key.to_owned(), ByteString(text.clone().into()))).collect()),
        ..Secret::default()
    })
}

/// Whether `held` is this Certificate's, by its owner: an object of the same name that is not is never touched.
///
/// The owner is compared by name, not by uid. Where a Certificate was deleted and created again, the new one takes over
/// the Secret of the old one, unless the garbage collector was faster: two objects of one name never live together.
pub fn is_ours(held: &Secret, certificate: &Certificate) -> bool {
    let Some(wanted) = certificate.controller_owner_ref(&()) else {
        return false;
    };
    owners(held).iter().any(|owner| {
        owner.controller == Some(true)
            && (&owner.api_version, &owner.kind, &owner.name) == (&wanted.api_version, &wanted.kind, &wanted.name)
    })
}

/// The certificate that `held` carries, if its three texts are there.
pub fn leaf(held: &Secret) -> Option<Leaf> {
    let text = |key| String::from_utf8(held.data.as_ref()?.get(key)?.0.clone()).ok();
    Some(Leaf { certificate: text(CERTIFICATE)?, key: text(KEY)?, authority: text(CA_CERTIFICATE)? })
}

/// Whether `held` has all that `wanted` asks for. What others added is theirs.
pub fn holds(held: &Secret, wanted: &Secret) -> bool {
    let (has, wants) = (held.labels(), wanted.labels());
    held.type_ == wanted.type_
        && held.data == wanted.data
        && wants.iter().all(|(key, value)| has.get(key) == Some(value))
        && owners(wanted).iter().all(|owner| owners(held).contains(owner))
}

fn owners(secret: &Secret) -> &[OwnerReference] {
    secret.metadata.owner_references.as_deref().unwrap_or_default()
}
