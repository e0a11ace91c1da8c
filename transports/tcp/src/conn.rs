//! What both sides have of a connection: the socket, the outbox, signs of life.

use std::future::poll_fn;
use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::time::{Duration, Instant};

use runstep::Status;
use runstep::service::frame::{Kind, Limits, Outgoing};
use smol::{Async, Timer};

use crate::outbox::{Outbox, Pumped};

/// A connection, shared by its tasks and all who send.
#[derive(Debug)]
pub(crate) struct Conn {
    pub(crate) socket: Arc<Async<TcpStream>>,
    outbox: Mutex<Outbox>,
    start: Instant,
    /// Milliseconds from `start` to the last bytes received.
    heard_ms: AtomicU64,
}

impl Conn {
    pub(crate) fn new(socket: Async<TcpStream>) -> io::Result<Conn> {
        socket.get_ref().set_nodelay(true)?;
        Ok(Conn {
            socket: Arc::new(socket),
            outbox: Mutex::new(Outbox::new()),
            start: Instant::now(),
            heard_ms: AtomicU64::new(0),
        })
    }

    fn outbox(&self) -> MutexGuard<'_, Outbox> {
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a call or an answer by turns with others; never waits.
    pub(crate) fn send(&self, out: Outgoing) {
        let waker = self.outbox().send(out, false, self.socket.get_ref());
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Sends a control frame before calls and answers.
    pub(crate) fn control(&self, out: Outgoing) {
        let waker = self.outbox().send(out, true, self.socket.get_ref());
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Gives up what is left to send of a call; whether its beginning was sent.
    pub(crate) fn give_up(&self, call: u64) -> bool {
        self.outbox().give_up(call)
    }

    /// How many frames at least wait to be written.
    pub(crate) fn waiting(&self) -> usize {
        self.outbox().len()
    }

    /// Takes note of a sign of life.
    pub(crate) fn heard(&self) {
        self.heard_ms.store(self.now_ms(), Ordering::Relaxed);
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Ends the connection in both directions; its tasks see that.
    pub(crate) fn close(&self) {
        let wakers = {
            let mut outbox = self.outbox();
            outbox.fail();
            [outbox.writer.take(), outbox.drained.take()]
        };
        let _ = self.socket.get_ref().shutdown(Shutdown::Both);
        wakers.into_iter().flatten().for_each(Waker::wake);
    }

    /// Waits until all is written, then tells the peer that nothing follows.
    pub(crate) async fn finish(&self) {
        poll_fn(|cx| {
            let mut outbox = self.outbox();
            if outbox.failed || outbox.is_empty() {
                return Poll::Ready(());
            }
            outbox.drained = Some(cx.waker().clone());
            Poll::Pending
        })
        .await;
        let _ = self.socket.get_ref().shutdown(Shutdown::Write);
    }

    /// Writes what callers could not write at once; ends when the connection failed.
    fn poll_write(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let (pumped, drained) = {
                let mut outbox = self.outbox();
                if outbox.failed {
                    return Poll::Ready(Ok(()));
                }
                outbox.writer = Some(cx.waker().clone());
                let pumped = outbox.pump(self.socket.get_ref());
                match &pumped {
                    Ok(Pumped::Empty) => outbox.busy = false,
                    Ok(_) => outbox.busy = true,
                    Err(_) => outbox.fail(),
                }
                let drained = if outbox.is_empty() { outbox.drained.take() } else { None };
                (pumped, drained)
            };
            if let Some(waker) = drained {
                waker.wake();
            }
            match pumped? {
                Pumped::Empty => return Poll::Pending,
                Pumped::Blocked => ready!(self.socket.poll_writable(cx))?,
                Pumped::Enough => {
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
            }
        }
    }

    /// The connection's own task beside the one that reads: writes, asks for signs of life, and sees when there are
    /// none. Ends with the reason why the connection is no good any more; the caller closes it.
    pub(crate) async fn tend(&self, limits: &Limits) -> Status {
        let write = async {
            match poll_fn(|cx| self.poll_write(cx)).await {
                Ok(()) => Status::unavailable("the connection was closed"),
                Err(error) => Status::unavailable(format_args!("the connection broke: {error}")),
            }
        };
        smol::future::or(write, self.watch(limits)).await
    }

    async fn watch(&self, limits: &Limits) -> Status {
        let unit = Duration::from_millis(limits.ping_ms.clamp(10, 3_600_000));
        loop {
            Timer::after(unit).await;
            let silence = self.now_ms().saturating_sub(self.heard_ms.load(Ordering::Relaxed));
            if limits.silence_ms_max > 0 && silence >= limits.silence_ms_max {
                return Status::unavailable(format_args!("the peer gave no sign of life for {silence} ms"));
            }
            let stalled = {
                let outbox = self.outbox();
                !outbox.is_empty() && outbox.progress.elapsed() >= Duration::from_millis(limits.stall_ms_max)
            };
            if stalled {
                return Status::unavailable(format_args!("the peer took no bytes for {} ms", limits.stall_ms_max));
            }
            if silence >= limits.ping_ms {
                self.control(Outgoing::control(0, Kind::Ping));
            }
        }
    }
}
