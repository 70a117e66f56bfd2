//! One accepted connection: the socket, and the order to end it abruptly. Never decides when; a response that reaches
//! the end of its script does.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::task::{Context, Poll};

use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::route::Site;

/// How a connection is ended before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Ending {
    /// Closed in order: the client sees the end of the stream, short of what was promised.
    Close = 1,
    /// A TCP reset; bytes still in the kernel's send queue are lost, as they are on a real link.
    Reset = 2,
}

/// What is known of the connection a request came on.
pub(super) struct Peer {
    pub(super) site: Site,
    /// 1 for the first connection of the site.
    pub(super) number: u64,
    exchanges: AtomicU64,
    ending: AtomicU8,
}

impl Peer {
    pub(super) fn new(site: Site, number: u64) -> Self {
        Self { site, number, exchanges: AtomicU64::new(0), ending: AtomicU8::new(0) }
    }

    /// Counts a request; true for the first on this connection.
    pub(super) fn first_exchange(&self) -> bool {
        self.exchanges.fetch_add(1, Ordering::Relaxed) == 0
    }

    /// Ends the connection once everything written so far has left for the kernel.
    pub(super) fn end(&self, ending: Ending) {
        self.ending.store(ending as u8, Ordering::Release);
    }

    fn ends(&self) -> bool {
        self.ending.load(Ordering::Acquire) != 0
    }

    fn resets(&self) -> bool {
        self.ending.load(Ordering::Acquire) == Ending::Reset as u8
    }
}

pub(super) struct Wire {
    stream: TcpStream,
    peer: Arc<Peer>,
}

impl Wire {
    pub(super) fn new(stream: TcpStream, peer: Arc<Peer>) -> Self {
        Self { stream, peer }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        if self.peer.resets() {
            // Fails only on a socket that is gone already.
            let _ = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// The HTTP layer flushes when it has written all it has, which is the moment an ordered end comes.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.peer.ends() {
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::ConnectionAborted, "ended by the script")));
        }
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
