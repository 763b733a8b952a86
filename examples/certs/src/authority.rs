//! The certificate authority: one key, kept in a Secret of the provider, so that a restart keeps the issuer.

use std::{collections::BTreeMap, time::Duration};

use k8s_openapi::{
    ByteString,
    api::core::v1::{Namespace, Secret},
    jiff::Timestamp,
};
use kube::{
    Api, Client,
    api::{ObjectMeta, PostParams},
};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

use crate::{
    proof::{self, Flaw},
    secret::{CA_CERTIFICATE, CERTIFICATE, KEY, TLS},
    status::MANAGER,
};

/// Name of the Secret that holds the authority.
pub const SECRET: &str = "cert-provider-ca";

/// Validity of the authority itself.
const AUTHORITY_LIFETIME: Duration = Duration::from_hours(10 * 365 * 24);

/// Clocks differ: a certificate is valid a little before it is issued.
const BACKDATE: Duration = Duration::from_mins(5);

/// Why the authority cannot be had or cannot sign.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    /// The API server did not answer as hoped.
    #[error("Secret {namespace}/{SECRET}: {source}")]
    Api {
        /// Namespace of the Secret.
        namespace: String,
        /// What the API server said.
        source: Box<kube::Error>,
    },
    /// The Secret holds something else than a CA.
    #[error(
        "the authority in Secret {namespace}/{SECRET} is not usable: {flaw}; delete the Secret to have a new one made"
    )]
    Unusable {
        /// Namespace of the Secret.
        namespace: String,
        /// What is wrong with it.
        flaw: Flaw,
    },
    /// The Secret holds the CA of somebody else.
    #[error(
        "Secret {namespace}/{SECRET} holds {found}, not CN={wanted}: correct --issuer-name, \
         or delete the Secret to have a new authority made"
    )]
    OtherName {
        /// Namespace of the Secret.
        namespace: String,
        /// Subject of the CA that is there.
        found: String,
        /// Name that was asked for.
        wanted: String,
    },
    /// The cryptography failed.
    #[error("cannot sign: {0}")]
    Sign(#[from] rcgen::Error),
}

/// A certificate with its key and its issuer: the three texts of a TLS Secret, each PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct Leaf {
    /// The certificate.
    pub certificate: String,
    /// Its private key, PKCS#8.
    pub key: String,
    /// The certificate of the authority that signed it.
    pub authority: String,
}

/// Issues certificates in one name.
pub struct Authority {
    name: String,
    certificate: String,
    issuer: Issuer<'static, KeyPair>,
    lifetime: Duration,
}

impl Authority {
    /// Makes a new authority. `lifetime` is the validity of the certificates it will issue.
    pub fn generate(name: &str, lifetime: Duration, now: Timestamp) -> Result<(Self, KeyPair), AuthorityError> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::default();
        params.distinguished_name = named(name);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        set_validity(&mut params, now, AUTHORITY_LIFETIME);
        let certificate = params.self_signed(&key)?.pem();
        let authority = Self::from_pem(name, certificate, &key.serialize_pem(), lifetime)?;
        Ok((authority, key))
    }

    fn from_pem(name: &str, certificate: String, key: &str, lifetime: Duration) -> Result<Self, AuthorityError> {
        let issuer = Issuer::from_ca_cert_pem(&certificate, KeyPair::from_pem(key)?)?;
        Ok(Self { name: name.to_owned(), certificate, issuer, lifetime })
    }

    /// Takes the authority from its Secret in `namespace`, or makes both. Of two that start at once, one makes it.
    pub async fn load(
        client: &Client,
        namespace: &str,
        name: &str,
        lifetime: Duration,
    ) -> Result<Self, AuthorityError> {
        let failed = |source| AuthorityError::Api { namespace: namespace.to_owned(), source: Box::new(source) };
        let secrets = Api::<Secret>::namespaced(client.clone(), namespace);
        if let Some(secret) = secrets.get_opt(SECRET).await.map_err(failed)? {
            return Self::from_secret(&secret, namespace, name, lifetime);
        }

        let namespaces = Api::<Namespace>::all(client.clone());
        if namespaces.get_opt(namespace).await.map_err(failed)?.is_none() {
            let wanted = Namespace { metadata: metadata(namespace), ..Namespace::default() };
            create(&namespaces, &wanted).await.map_err(failed)?;
        }
        let (authority, key) = Self::generate(name, lifetime, Timestamp::now())?;
        create(&secrets, &authority.to_secret(&key)).await.map_err(failed)?;
        let secret = secrets.get(SECRET).await.map_err(failed)?;
        Self::from_secret(&secret, namespace, name, lifetime)
    }

    fn from_secret(secret: &Secret, namespace: &str, name: &str, lifetime: Duration) -> Result<Self, AuthorityError> {
        let namespace = namespace.to_owned();
        let text = |key| secret.data.as_ref().and_then(|data| data.get(key)).map_or(&[][..], |value| &value.0);
        let (certificate, key) = (text(CERTIFICATE), text(KEY));
        // A CA signs itself, so what holds for a leaf must hold with the CA in both places.
        let proof = match proof::prove(certificate, key, certificate, Timestamp::now()) {
            Ok(proof) => proof,
            Err(flaw) => return Err(AuthorityError::Unusable { namespace, flaw }),
        };
        if proof.issuer != format!("CN={name}") {
            return Err(AuthorityError::OtherName { namespace, found: proof.issuer, wanted: name.to_owned() });
        }
        let certificate = String::from_utf8_lossy(certificate).into_owned();
        Self::from_pem(name, certificate, &String::from_utf8_lossy(key), lifetime)
    }

    fn to_secret(&self, key: &KeyPair) -> Secret {
        let data = [
            (CERTIFICATE, self.certificate.clone()),
            (KEY, key.serialize_pem()),
            (CA_CERTIFICATE, self.certificate.clone()),
        ];
        Secret {
            metadata: metadata(SECRET),
            type_: Some(TLS.to_owned()),
            data: Some(data.into_iter().map(|(key, text)| (key.to_owned(), ByteString(text.into_bytes()))).collect()),
            ..Secret::default()
        }
    }

    /// Common name of the authority, for example `internal.corp CA`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Certificate of the authority, PEM.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// When a certificate that is valid until `not_after` has to be replaced: when a third of its life is left.
    pub fn renewal(&self, not_after: Timestamp) -> Timestamp {
        not_after - self.lifetime / 3
    }

    /// Issues a certificate for `fqdn`, a name in the form of [`crate::fqdn::normal`], with a key of its own.
    pub fn issue(&self, fqdn: &str, now: Timestamp) -> Result<Leaf, AuthorityError> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::new([fqdn.to_owned()])?;
        // A common name holds at most 64 characters (RFC 5280, ub-common-name); the alternative name is what counts.
        params.distinguished_name = if fqdn.len() <= 64 { named(fqdn) } else { DistinguishedName::new() };
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        params.use_authority_key_identifier_extension = true;
        set_validity(&mut params, now, self.lifetime);
        Ok(Leaf {
            certificate: params.signed_by(&key, &self.issuer)?.pem(),
            key: key.serialize_pem(),
            authority: self.certificate.clone(),
        })
    }
}

/// Creates `object`; that another was faster is as good.
async fn create<K>(api: &Api<K>, object: &K) -> Result<(), kube::Error>
where
    K: kube::Resource + serde::Serialize + serde::de::DeserializeOwned + Clone + std::fmt::Debug,
{
    let params = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
    match api.create(&params, object).await {
        Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(()),
        done => done.map(drop),
    }
}

fn metadata(name: &str) -> ObjectMeta {
    let labels = BTreeMap::from([(crate::secret::LABEL.0.to_owned(), crate::secret::LABEL.1.to_owned())]);
    ObjectMeta { name: Some(name.to_owned()), labels: Some(labels), ..ObjectMeta::default() }
}

fn named(common_name: &str) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, common_name);
    name
}

fn set_validity(params: &mut CertificateParams, now: Timestamp, lifetime: Duration) {
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    let since = Duration::from_secs(now.as_second().unsigned_abs());
    params.not_before = epoch + since - BACKDATE;
    params.not_after = epoch + since + lifetime;
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    const DAY: Duration = Duration::from_hours(24);

    fn authority(name: &str) -> (Authority, KeyPair) {
        Authority::generate(name, 90 * DAY, Timestamp::now()).unwrap()
    }

    fn prove(leaf: &Leaf, now: Timestamp) -> Result<proof::Proof, Flaw> {
        proof::prove(leaf.certificate.as_bytes(), leaf.key.as_bytes(), leaf.authority.as_bytes(), now)
    }

    #[test]
    fn what_it_issues_is_a_certificate_for_the_name() {
        let now = Timestamp::now();
        let (authority, _) = authority("internal.corp CA");
        let leaf = authority.issue("www.internal.corp", now).unwrap();
        let proof = prove(&leaf, now).unwrap();
        assert_eq!(proof.names, ["www.internal.corp"]);
        assert_eq!(proof.issuer, "CN=internal.corp CA");
        assert_eq!(proof.not_after.as_second(), (now + 90 * DAY).as_second());
        assert_eq!(authority.renewal(proof.not_after).as_second(), (now + 60 * DAY).as_second());
    }

    #[test]
    fn a_long_name_is_an_alternative_name_only() {
        let (authority, _) = authority("internal.corp CA");
        let fqdn = format!("{}.{}.internal.corp", "a".repeat(60), "b".repeat(60));
        let leaf = authority.issue(&fqdn, Timestamp::now()).unwrap();
        assert_eq!(prove(&leaf, Timestamp::now()).unwrap().names, [fqdn]);
    }

    #[test]
    fn every_flaw_is_found() {
        let now = Timestamp::now();
        let (authority, _) = authority("internal.corp CA");
        let leaf = authority.issue("www.internal.corp", now).unwrap();
        let other = authority.issue("www.internal.corp", now).unwrap();
        let namesake = super::tests::authority("internal.corp CA").0;
        let stranger = super::tests::authority("corp.com CA").0;

        assert_eq!(prove(&Leaf { key: other.key, ..leaf.clone() }, now), Err(Flaw::Key));
        let forged = Leaf { authority: namesake.certificate().to_owned(), ..leaf.clone() };
        assert_eq!(prove(&forged, now), Err(Flaw::Signature));
        let foreign = Leaf { authority: stranger.certificate().to_owned(), ..leaf.clone() };
        assert!(matches!(prove(&foreign, now), Err(Flaw::OtherIssuer { .. })));
        let leaf_as_authority = Leaf { authority: leaf.certificate.clone(), ..leaf.clone() };
        assert_eq!(prove(&leaf_as_authority, now), Err(Flaw::NoAuthority));
        assert!(matches!(prove(&leaf, now + 91 * DAY), Err(Flaw::Validity { .. })));
        assert!(matches!(prove(&leaf, now - DAY), Err(Flaw::Validity { .. })));
        let empty = Leaf { certificate: String::new(), ..leaf };
        assert!(matches!(prove(&empty, now), Err(Flaw::Unreadable("tls.crt", _))));
    }

    #[test]
    fn it_survives_its_secret() {
        let (authority, key) = authority("internal.corp CA");
        let secret = authority.to_secret(&key);
        let again = Authority::from_secret(&secret, "ca", "internal.corp CA", DAY).unwrap();
        let mut leaf = again.issue("www.internal.corp", Timestamp::now()).unwrap();
        leaf.authority = authority.certificate().to_owned();
        prove(&leaf, Timestamp::now()).unwrap();
    }

    #[test]
    fn the_authority_of_another_is_not_used() {
        let (authority, key) = authority("corp.com CA");
        let refused = Authority::from_secret(&authority.to_secret(&key), "ca", "internal.corp CA", DAY);
        assert!(matches!(refused, Err(AuthorityError::OtherName { found, .. }) if found == "CN=corp.com CA"));
        let refused = Authority::from_secret(&Secret::default(), "ca", "internal.corp CA", DAY);
        assert!(matches!(refused, Err(AuthorityError::Unusable { .. })));
    }
}
