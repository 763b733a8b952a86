//! Connections of a stub, which may fall silent: then nothing that was sent is read, nothing is answered, and nobody is told.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use crate::listener::{Proof, Tls};

/// One address.
pub(super) struct Lines {
    tls: Tls,
    silent: Arc<AtomicBool>,
}

impl Lines {
    /// Listens on a free port of 127.0.0.1, until it is silent.
    pub(super) async fn bind(proof: &Proof, silent: Arc<AtomicBool>) -> io::Result<Self> {
        Ok(Self { tls: Tls::bind(proof).await?, silent })
    }
}

impl Listener for Lines {
    type Io = Line;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Line, SocketAddr) {
        let (stream, from) = self.tls.accept().await;
        (Line { stream, silent: Arc::clone(&self.silent) }, from)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.tls.local_addr()
    }
}

/// One connection.
pub(super) struct Line {
    stream: TlsStream<TcpStream>,
    silent: Arc<AtomicBool>,
}

impl Line {
    /// The stream, if anything goes through. A silent one never wakes whoever waits for it: it stays so to the end.
    fn stream(&mut self) -> Option<Pin<&mut TlsStream<TcpStream>>> {
        (!self.silent.load(Ordering::Relaxed)).then(|| Pin::new(&mut self.stream))
    }
}

impl AsyncRead for Line {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.stream().map_or(Poll::Pending, |stream| stream.poll_read(cx, buffer))
    }
}

impl AsyncWrite for Line {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.stream().map_or(Poll::Pending, |stream| stream.poll_write(cx, bytes))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().map_or(Poll::Pending, |stream| stream.poll_flush(cx))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().map_or(Poll::Pending, |stream| stream.poll_shutdown(cx))
    }
}
