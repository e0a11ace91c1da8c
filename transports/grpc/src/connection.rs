//! A client at the server: its connection, what it holds, and how long its calls take.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use h2::{Ping, PingPong};
use runstep::Status;
use runstep::tensor::Budget;
use smol::io::{AsyncRead, AsyncWrite};
use smol::{Executor, Timer};

use crate::answer::Reply;
use crate::call::{Incoming, serve};
use crate::io::{Io, Pulse};
use crate::outbound::BUFFER_LEN;
use crate::server::Shared;
use crate::{CONNECTION_WINDOW, FRAME_LEN, HEADERS_READ_MAX, STREAM_WINDOW, nested};

/// Time within which a connection must stand.
const HANDSHAKE_TIME_MAX: Duration = Duration::from_secs(10);
/// Streams that a client may open beyond the calls it may have: those are refused with a status of gRPC.
const STREAMS_MORE: usize = 256;
/// Streams that a client may open and reset before they are looked at.
const RESETS_MAX: usize = 1024;

/// A client.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) budget: Budget,
    pub(crate) pace: Pace,
    live: AtomicUsize,
}

impl Peer {
    pub(crate) fn new(budget: Budget) -> Peer {
        Peer { budget, pace: Pace::default(), live: AtomicUsize::new(0) }
    }

    /// Calls that are not answered yet.
    pub(crate) fn live(&self) -> usize {
        self.live.load(Ordering::SeqCst)
    }

    /// A place for a call; `None` where there is none.
    pub(crate) fn admit(self: &Arc<Peer>, shared: &Arc<Shared>) -> Option<Live> {
        let count = self.live.fetch_add(1, Ordering::SeqCst);
        let live = Live { peer: self.clone(), shared: shared.clone() };
        (count < shared.limits.calls_per_connection_max && !shared.is_stopping()).then_some(live)
    }

    /// Why there was no place.
    pub(crate) fn refusal(&self, shared: &Shared) -> Status {
        if shared.is_stopping() {
            return Status::unavailable("the server is stopping");
        }
        let limit = shared.limits.calls_per_connection_max;
        Status::resource_exhausted(format_args!("{limit} calls of this connection are not answered yet"))
    }
}

/// A call's place among those that are not answered yet.
pub(crate) struct Live {
    peer: Arc<Peer>,
    shared: Arc<Shared>,
}

impl Drop for Live {
    fn drop(&mut self) {
        self.peer.live.fetch_sub(1, Ordering::SeqCst);
        self.shared.changed();
    }
}

/// How long calls take: quick ones run on the connection's own task, which reads nothing meanwhile.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    /// Calls that go to other tasks before one is tried here again.
    elsewhere: AtomicU32,
}

/// What a call may take and count as quick: about as long as it takes to hand it to another thread and back.
const QUICK: Duration = Duration::from_micros(150);
/// How many calls after a slow one go to other tasks.
const ELSEWHERE: u32 = 16;

impl Pace {
    pub(crate) fn is_quick(&self) -> bool {
        self.elsewhere.load(Ordering::Relaxed) == 0
    }

    pub(crate) fn took(&self, time: Duration) {
        if time > QUICK {
            self.elsewhere.store(ELSEWHERE, Ordering::Relaxed);
        } else {
            let _ = self.elsewhere.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        }
    }
}

/// Serves a connection until it ends, breaks, or the peer gives no sign of life.
pub(crate) async fn drive<T>(shared: Arc<Shared>, peer: Arc<Peer>, socket: T)
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let pulse = Arc::new(Pulse::new());
    let streams = shared.limits.calls_per_connection_max.saturating_add(STREAMS_MORE);
    let handshake = h2::server::Builder::new()
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_frame_size(FRAME_LEN)
        .max_header_list_size(HEADERS_READ_MAX)
        .max_send_buffer_size(BUFFER_LEN)
        .max_concurrent_streams(u32::try_from(streams).unwrap_or(u32::MAX))
        .max_concurrent_reset_streams(RESETS_MAX)
        .max_pending_accept_reset_streams(RESETS_MAX)
        .handshake(Io::new(socket, pulse.clone()));
    let late = async {
        Timer::after(HANDSHAKE_TIME_MAX).await;
        None
    };
    let Some(mut connection) = smol::future::or(async { handshake.await.ok() }, late).await else { return };
    let pings = connection.ping_pong();
    let calls = Executor::new();
    let work = async {
        let mut goodbye = pin!(shared.goodbye());
        let mut said = false;
        let mut turn = Box::pin(calls.tick());
        nested::run(|cx| {
            if !said && goodbye.as_mut().poll(cx).is_ready() {
                said = true;
                connection.graceful_shutdown();
            }
            while let Poll::Ready(next) = connection.poll_accept(cx) {
                let Some(Ok((request, stream))) = next else { return Poll::Ready(()) };
                let (head, body) = request.into_parts();
                let reply = Reply { stream, encoding: None, stall_ms_max: shared.limits.stall_ms_max };
                calls.spawn(serve(shared.clone(), peer.clone(), Incoming { head, body, reply })).detach();
            }
            while turn.as_mut().poll(cx).is_ready() {
                turn = Box::pin(calls.tick());
            }
            Poll::Pending
        })
        .await;
    };
    smol::future::or(work, watch(&shared, &pulse, pings)).await;
}

/// Asks for signs of life, and ends when there are none or the peer takes no bytes.
async fn watch(shared: &Shared, pulse: &Pulse, mut pings: Option<PingPong>) {
    let limits = &shared.limits;
    let unit = Duration::from_millis(limits.ping_ms.clamp(10, 3_600_000));
    loop {
        Timer::after(unit).await;
        let silence = pulse.silence_ms();
        let dead = limits.silence_ms_max > 0 && silence >= limits.silence_ms_max;
        if dead || pulse.stall_ms() >= limits.stall_ms_max {
            return;
        }
        if silence >= limits.ping_ms
            && let Some(pings) = &mut pings
        {
            // An error says that one is under way, or that the connection is gone, which others see.
            let _ = pings.send_ping(Ping::opaque());
        }
    }
}
