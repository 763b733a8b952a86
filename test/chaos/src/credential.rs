//! `Credential`: as whom programs come to one API server, and how that is taken from them.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use anyhow::Context as _;
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use e2e::Place;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair};

/// The users whose tokens take turns.
const USERS: [&str; 2] = ["broker", "broker-2"];
const MASTERS: &str = "system:masters";

/// Credentials for one API server.
pub(crate) struct Credential {
    /// What they are now. The API server takes no others of ours.
    now: Mutex<Login>,
    kind: Kind,
}

enum Kind {
    /// In this file is the authority whose certificates the API server takes; it reads it again when it changes.
    Certificate(PathBuf),
    /// In this file are the tokens that the API server takes; it reads it when it starts.
    Token(PathBuf),
}

#[derive(Clone)]
enum Login {
    Certificate { certificate: String, key: String },
    Token(&'static str),
}

impl Credential {
    /// The file in a lab where a cluster of this name has the authority of its clients.
    pub(crate) fn authority_file(lab: &Path, cluster: &str) -> PathBuf {
        lab.join(format!("{cluster}-clients.crt"))
    }

    /// Certificates, by an authority that is in `file` from now on.
    pub(crate) fn certificate(file: PathBuf) -> anyhow::Result<Self> {
        let now = Mutex::new(issue(&file)?);
        Ok(Self { now, kind: Kind::Certificate(file) })
    }

    /// Tokens of two users of the cluster, of which one is taken.
    pub(crate) fn token(lab: &Path, cluster: &str) -> Self {
        let file = lab.join(cluster).join("tokens.csv");
        Self { now: Mutex::new(Login::Token(USERS[0])), kind: Kind::Token(file) }
    }

    /// Whether the API server has to start again before it takes others.
    pub(crate) fn is_token(&self) -> bool {
        matches!(self.kind, Kind::Token(_))
    }

    /// Replaces them: those before are refused from now on, or where they are tokens once the API server has started again.
    pub(crate) fn rotate(&self, place: &Place) -> anyhow::Result<()> {
        let now = self.login();
        let next = match (&self.kind, now) {
            (Kind::Certificate(file), _) => issue(file)?,
            (Kind::Token(file), Login::Token(user)) => {
                let other = if user == USERS[0] { USERS[1] } else { USERS[0] };
                let tokens = fs::read_to_string(file)?;
                let kept =
                    tokens.lines().filter(|line| !USERS.iter().any(|user| line.contains(&format!(",{user},{user},"))));
                let taken = format!("{},{other},{other},\"{MASTERS}\"", place.cluster.token(other)?);
                let lines: Vec<&str> = kept.chain([taken.as_str()]).collect();
                fs::write(file, lines.join("\n") + "\n")?;
                Login::Token(other)
            }
            (Kind::Token(_), Login::Certificate { .. }) => anyhow::bail!("a certificate among tokens"),
        };
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = next;
        Ok(())
    }

    fn login(&self) -> Login {
        self.now.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A kubeconfig with them, which leads to the cluster by way of `url`.
    pub(crate) fn kubeconfig(&self, place: &Place, url: &str) -> anyhow::Result<String> {
        let user = match self.login() {
            Login::Token(user) => user,
            Login::Certificate { .. } => USERS[0],
        };
        let direct = place.cluster.kubeconfig(user)?.replace(&place.cluster.server_url(), url);
        let Login::Certificate { certificate, key } = self.login() else { return Ok(direct) };
        let token = format!("token: {}", place.cluster.token(user)?);
        let [certificate, key] = [certificate, key].map(|pem| BASE64.encode(pem));
        Ok(direct.replace(&token, &format!("client-certificate-data: {certificate}\n    client-key-data: {key}")))
    }
}

/// A new authority, in `file` instead of the one before, and a certificate of it.
fn issue(file: &Path) -> anyhow::Result<Login> {
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.distinguished_name.push(DnType::CommonName, "authority of clients");
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;
    let mut client = CertificateParams::default();
    client.distinguished_name.push(DnType::CommonName, USERS[0]);
    client.distinguished_name.push(DnType::OrganizationName, MASTERS);
    client.extended_key_usages.push(ExtendedKeyUsagePurpose::ClientAuth);
    let key = KeyPair::generate()?;
    let certificate = client.signed_by(&key, &authority)?;
    // Whole or not at all: an API server that reads half of it would take nobody.
    let partial = file.with_extension("partial");
    fs::write(&partial, authority.pem())
        .and_then(|()| fs::rename(&partial, file))
        .with_context(|| format!("cannot write {}", file.display()))?;
    Ok(Login::Certificate { certificate: certificate.pem(), key: key.serialize_pem() })
}
