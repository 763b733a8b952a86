//! Connections to one address, with TLS.

use std::{io, net::SocketAddr, path::Path, sync::Arc, time::Duration};

use anyhow::Context as _;
use axum::serve::Listener;
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::mpsc::{Receiver, Sender, channel},
    time::{sleep, timeout},
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

/// How long whoever connects may take until TLS stands.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// After a connection that could not be taken in: there may be too many of them.
const REST: Duration = Duration::from_millis(100);

type Accepted = (TlsStream<TcpStream>, SocketAddr);

/// One address.
pub(crate) struct Tls {
    address: SocketAddr,
    accepted: Receiver<Accepted>,
}

impl Tls {
    /// Listens, with the certificate and the key of these files.
    pub(crate) async fn bind(address: SocketAddr, certificate: &Path, key: &Path) -> anyhow::Result<Self> {
        let chain =
            CertificateDer::pem_file_iter(certificate).and_then(Iterator::collect).context("--tls-cert-file")?;
        let key = PrivateKeyDer::from_pem_file(key).context("--tls-private-key-file")?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(chain, key)?;
        config.alpn_protocols = [b"h2".to_vec(), b"http/1.1".to_vec()].into();
        let tcp = TcpListener::bind(address).await.with_context(|| format!("cannot listen at {address}"))?;
        let (send, accepted) = channel(64);
        tokio::spawn(accept(tcp, TlsAcceptor::from(Arc::new(config)), send));
        Ok(Self { address, accepted })
    }
}

/// Takes in whoever connects. Who is slow holds up nobody else.
async fn accept(tcp: TcpListener, acceptor: TlsAcceptor, send: Sender<Accepted>) {
    loop {
        let Ok((stream, from)) = tcp.accept().await else {
            sleep(REST).await;
            continue;
        };
        let (acceptor, send) = (acceptor.clone(), send.clone());
        tokio::spawn(async move {
            // Who is not taken in tries again, and says so where that does not help.
            let _ = stream.set_nodelay(true);
            if let Ok(Ok(stream)) = timeout(HANDSHAKE, acceptor.accept(stream)).await {
                let _ = send.send((stream, from)).await;
            }
        });
    }
}

impl Listener for Tls {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> Accepted {
        match self.accepted.recv().await {
            Some(accepted) => accepted,
            // Its task never ends before this does.
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.address)
    }
}
