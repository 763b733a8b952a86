//! Certificates of one API server: its own authority, its serving certificate, its service account key.

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

/// The files, in PEM, and what clients need of them.
#[derive(Debug)]
pub(crate) struct Certificates {
    /// The authority's certificate.
    pub(crate) authority_pem: String,
    /// File with the authority's certificate.
    pub(crate) authority: PathBuf,
    /// Serving certificate followed by the authority's.
    pub(crate) serving: PathBuf,
    /// Its key.
    pub(crate) serving_key: PathBuf,
    /// Key that signs service account tokens.
    pub(crate) service_account_key: PathBuf,
    /// The key that verifies them.
    pub(crate) service_account_public_key: PathBuf,
}

impl Certificates {
    /// Makes new ones in `directory`, valid for 127.0.0.1, localhost and `address`. Elliptic keys: an API server that
    /// makes its own RSA key spends longer on that than on anything else before it listens.
    pub(crate) fn make(directory: &Path, cluster: &str, address: Ipv4Addr) -> anyhow::Result<Self> {
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.distinguished_name.push(DnType::CommonName, format!("{cluster} test authority"));
        let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;

        let key = KeyPair::generate()?;
        let mut names = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
        if address != Ipv4Addr::LOCALHOST {
            names.push(address.to_string());
        }
        let mut serving = CertificateParams::new(names)?;
        serving.distinguished_name.push(DnType::CommonName, format!("{cluster} API server"));
        let serving = serving.signed_by(&key, &authority)?;

        let files = Self {
            authority_pem: authority.pem(),
            authority: directory.join("ca.crt"),
            serving: directory.join("apiserver.crt"),
            serving_key: directory.join("apiserver.key"),
            service_account_key: directory.join("service-account.key"),
            service_account_public_key: directory.join("service-account.pub"),
        };
        let chain = serving.pem() + &files.authority_pem;
        let service_account_key = KeyPair::generate()?;
        for (path, content) in [
            (&files.authority, files.authority_pem.as_str()),
            (&files.serving, &chain),
            (&files.serving_key, &key.serialize_pem()),
            (&files.service_account_key, &service_account_key.serialize_pem()),
            (&files.service_account_public_key, &service_account_key.public_key_pem()),
        ] {
            fs::write(path, content).with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(files)
    }
}
