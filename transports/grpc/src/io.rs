//! A socket as h2 wants it: smol's reads and writes under tokio's traits, with a note of the last signs of life.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Instant;

use smol::io::{AsyncRead, AsyncWrite};
use tokio::io::ReadBuf;

/// Bytes read at once. The space for them is filled with zeros first, so that there is no use in more of it.
const READ_LEN: usize = 128 << 10;

/// When bytes came and went, in milliseconds from the connection's start.
#[derive(Debug)]
pub(crate) struct Pulse {
    start: Instant,
    heard: AtomicU64,
    /// Since when the peer has taken no bytes, plus one; 0 while it takes them.
    blocked: AtomicU64,
}

impl Pulse {
    pub(crate) fn new() -> Pulse {
        Pulse { start: Instant::now(), heard: AtomicU64::new(0), blocked: AtomicU64::new(0) }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Milliseconds without a byte from the peer.
    pub(crate) fn silence_ms(&self) -> u64 {
        self.now().saturating_sub(self.heard.load(Ordering::Relaxed))
    }

    /// Milliseconds for which bytes have waited that the peer does not take.
    pub(crate) fn stall_ms(&self) -> u64 {
        match self.blocked.load(Ordering::Relaxed) {
            0 => 0,
            since => self.now().saturating_sub(since - 1),
        }
    }
}

/// A socket and its pulse.
#[derive(Debug)]
pub(crate) struct Io<T> {
    socket: T,
    pulse: Arc<Pulse>,
}

impl<T> Io<T> {
    pub(crate) fn new(socket: T, pulse: Arc<Pulse>) -> Io<T> {
        Io { socket, pulse }
    }

    fn wrote(&self, result: &Poll<io::Result<usize>>) {
        let blocked = &self.pulse.blocked;
        match result {
            Poll::Pending if blocked.load(Ordering::Relaxed) == 0 => {
                blocked.store(self.pulse.now() + 1, Ordering::Relaxed);
            }
            Poll::Ready(_) if blocked.load(Ordering::Relaxed) != 0 => blocked.store(0, Ordering::Relaxed),
            _ => {}
        }
    }
}

impl<T: AsyncRead + Unpin> tokio::io::AsyncRead for Io<T> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, to: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let space = to.initialize_unfilled_to(to.remaining().min(READ_LEN));
        let count = ready!(Pin::new(&mut self.socket).poll_read(cx, space))?;
        to.advance(count);
        self.pulse.heard.store(self.pulse.now(), Ordering::Relaxed);
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite + Unpin> tokio::io::AsyncWrite for Io<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.socket).poll_write(cx, bytes);
        self.wrote(&result);
        result
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.socket).poll_write_vectored(cx, slices);
        self.wrote(&result);
        result
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_close(cx)
    }
}
