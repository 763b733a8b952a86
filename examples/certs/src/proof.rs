//! Checks a certificate, its key and its issuer as the one who uses them would. Knows no Kubernetes.

use k8s_openapi::jiff::Timestamp;
use rcgen::{KeyPair, PublicKeyData};
use x509_parser::prelude::{FromDer, GeneralName, Pem, X509Certificate};

/// What a certificate says, once all of it was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// Its DNS names, in its order.
    pub names: Vec<String>,
    /// Subject of the authority that signed it, for example `CN=internal.corp CA`.
    pub issuer: String,
    /// Serial number, as hex bytes with `:` between them.
    pub serial: String,
    /// Last second of its validity.
    pub not_after: Timestamp,
}

/// What is wrong with a certificate.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Flaw {
    /// Not PEM, not X.509, not UTF-8: which of the three texts, and why.
    #[error("{0} cannot be read: {1}")]
    Unreadable(&'static str, String),
    /// The issuer is not allowed to sign certificates.
    #[error("ca.crt is not a certificate authority")]
    NoAuthority,
    /// Issuer of the certificate and subject of the authority differ.
    #[error("tls.crt was issued by {issuer}, ca.crt is {authority}")]
    OtherIssuer {
        /// Whom the certificate names.
        issuer: String,
        /// Whom the authority names.
        authority: String,
    },
    /// The authority's key did not make the signature.
    #[error("the signature of tls.crt was not made by ca.crt")]
    Signature,
    /// The key belongs to another certificate.
    #[error("tls.key does not belong to tls.crt")]
    Key,
    /// Not yet or no longer valid.
    #[error("tls.crt is valid from {from} to {to}, and now is {now}")]
    Validity {
        /// First second.
        from: Timestamp,
        /// Last second.
        to: Timestamp,
        /// When it was checked.
        now: Timestamp,
    },
}

/// Checks that `key` belongs to `certificate`, that `authority` signed it and may do so, and that it is valid at `now`.
/// All three are PEM, as in a Secret of type `kubernetes.io/tls`.
pub fn prove(certificate: &[u8], key: &[u8], authority: &[u8], now: Timestamp) -> Result<Proof, Flaw> {
    let certificate_der = pem("tls.crt", certificate)?;
    let authority_der = pem("ca.crt", authority)?;
    let certificate = parse("tls.crt", &certificate_der)?;
    let authority = parse("ca.crt", &authority_der)?;

    if !authority.is_ca() {
        return Err(Flaw::NoAuthority);
    }
    if certificate.issuer().as_raw() != authority.subject().as_raw() {
        return Err(Flaw::OtherIssuer {
            issuer: certificate.issuer().to_string(),
            authority: authority.subject().to_string(),
        });
    }
    certificate.verify_signature(Some(authority.public_key())).map_err(|_| Flaw::Signature)?;

    let key = std::str::from_utf8(key).map_err(|error| Flaw::Unreadable("tls.key", error.to_string()))?;
    let key = KeyPair::from_pem(key).map_err(|error| Flaw::Unreadable("tls.key", error.to_string()))?;
    if key.subject_public_key_info() != certificate.public_key().raw {
        return Err(Flaw::Key);
    }

    let (from, to) = validity(&certificate)?;
    if now < from || now > to {
        return Err(Flaw::Validity { from, to, now });
    }
    Ok(Proof {
        names: names(&certificate)?,
        issuer: certificate.issuer().to_string(),
        serial: certificate.raw_serial_as_string(),
        not_after: to,
    })
}

fn pem(what: &'static str, text: &[u8]) -> Result<Vec<u8>, Flaw> {
    match Pem::iter_from_buffer(text).next() {
        Some(Ok(pem)) => Ok(pem.contents),
        Some(Err(error)) => Err(Flaw::Unreadable(what, error.to_string())),
        None => Err(Flaw::Unreadable(what, "there is no PEM block in it".to_owned())),
    }
}

fn parse<'a>(what: &'static str, der: &'a [u8]) -> Result<X509Certificate<'a>, Flaw> {
    let (_, certificate) = X509Certificate::from_der(der).map_err(|error| Flaw::Unreadable(what, error.to_string()))?;
    Ok(certificate)
}

fn validity(certificate: &X509Certificate<'_>) -> Result<(Timestamp, Timestamp), Flaw> {
    let time =
        |seconds| Timestamp::from_second(seconds).map_err(|error| Flaw::Unreadable("tls.crt", error.to_string()));
    let validity = certificate.validity();
    Ok((time(validity.not_before.timestamp())?, time(validity.not_after.timestamp())?))
}

fn names(certificate: &X509Certificate<'_>) -> Result<Vec<String>, Flaw> {
    let extension =
        certificate.subject_alternative_name().map_err(|error| Flaw::Unreadable("tls.crt", error.to_string()))?;
    let Some(extension) = extension else {
        return Ok(Vec::new());
    };
    let names = extension.value.general_names.iter();
    Ok(names
        .filter_map(|name| match name {
            GeneralName::DNSName(name) => Some((*name).to_owned()),
            _ => None,
        })
        .collect())
}
