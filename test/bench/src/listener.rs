//! Connections to one address, with TLS.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::serve::Listener;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivatePkcs8KeyDer;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// After a connection that could not be taken in: there may be too many of them.
const REST: Duration = Duration::from_millis(100);

/// What servers on 127.0.0.1 prove themselves by.
#[derive(Clone)]
pub(crate) struct Proof {
    /// The certificate of its authority, in PEM.
    pub(crate) authority_pem: String,
    acceptor: TlsAcceptor,
}

impl Proof {
    /// A new authority and a certificate of it.
    pub(crate) fn make() -> anyhow::Result<Self> {
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.distinguished_name.push(DnType::CommonName, "bench authority");
        let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;
        let key = KeyPair::generate()?;
        let serving = CertificateParams::new(vec!["127.0.0.1".to_owned()])?.signed_by(&key, &authority)?;
        let key = PrivatePkcs8KeyDer::from(key.serialize_der());
        let mut config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![serving.der().clone(), authority.der().clone()], key.into())?;
        config.alpn_protocols = [b"h2".to_vec(), b"http/1.1".to_vec()].into();
        Ok(Self { authority_pem: authority.pem(), acceptor: TlsAcceptor::from(Arc::new(config)) })
    }
}

/// One address. Who connects is taken in one after the other.
pub(crate) struct Tls {
    tcp: TcpListener,
    acceptor: TlsAcceptor,
}

impl Tls {
    /// Listens on a free port of 127.0.0.1.
    pub(crate) async fn bind(proof: &Proof) -> io::Result<Self> {
        Ok(Self { tcp: TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?, acceptor: proof.acceptor.clone() })
    }

    async fn next(&self) -> io::Result<(TlsStream<TcpStream>, SocketAddr)> {
        let (stream, from) = self.tcp.accept().await?;
        stream.set_nodelay(true)?;
        Ok((self.acceptor.accept(stream).await?, from))
    }
}

impl Listener for Tls {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            match self.next().await {
                Ok(accepted) => return accepted,
                // Who connects tries again, and says so where that does not help.
                Err(_) => tokio::time::sleep(REST).await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.tcp.local_addr()
    }
}
