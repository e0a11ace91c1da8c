//! The server's side: connections are accepted, the calls on their streams handed to the service.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use quinn::{Connection, Endpoint, Incoming, RecvStream, SendStream};
use runstep::Status;
use runstep::service::frame::{Kind, Limits, Outgoing};
use runstep::service::{CallOptions, Response, Service};
use runstep::tensor::Budget;
use smol::future::FutureExt;
use smol::{Task, Timer};

use crate::endpoint::{Closed, endpoint};
use crate::error::{CANCELLED, CLOSED};
use crate::stream::{End, Reader, write_in_time};
use crate::tls::server_config;
use crate::{ServerOptions, Spawn};

/// How long a handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long a connection that ends is kept for the peer to acknowledge what was sent.
const LINGER: Duration = Duration::from_secs(3);

/// Serves a service on a UDP address until the server is shut down or dropped.
///
/// # Errors
/// INVALID_ARGUMENT for certificates that do not serve; UNAVAILABLE when the system refuses the address.
pub fn serve(address: SocketAddr, service: Arc<dyn Service>, options: ServerOptions) -> Result<Server, Status> {
    let config = server_config(&options)?;
    let refused = |error| Status::unavailable(format_args!("{address} cannot be listened on: {error}"));
    let (endpoint, closed) = endpoint(address, Some(config)).map_err(refused)?;
    let local_addr = endpoint.local_addr().map_err(refused)?;
    let shared = Arc::new(Shared {
        service,
        limits: options.limits,
        spawn: options.spawn.clone(),
        endpoint: Mutex::new(Some(endpoint)),
        peers: Mutex::new(Table { next: 1, entries: HashMap::new() }),
        stopping: AtomicBool::new(false),
        watchers: Mutex::new(Vec::new()),
    });
    let accept = options.spawn.spawn(shared.clone().accept());
    Ok(Server { local_addr, shared, accept: Some(accept), closed })
}

/// A running server. Dropping it breaks all connections; [`Server::shutdown`] ends them in good order.
#[derive(Debug)]
pub struct Server {
    local_addr: SocketAddr,
    shared: Arc<Shared>,
    accept: Option<Task<()>>,
    closed: Closed,
}

impl Server {
    /// The address that is listened on; its port is not 0.
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// The address as clients write it.
    pub fn url(&self) -> String {
        format!("quic://{}", self.local_addr)
    }

    /// Bytes that unfinished calls of all clients hold.
    pub fn bytes_held(&self) -> usize {
        let peers = self.shared.peers();
        peers.entries.values().filter_map(|(peer, _)| peer.as_ref()).map(|peer| peer.budget.used()).sum()
    }

    /// The number of connections, handshakes included.
    pub fn connections(&self) -> usize {
        self.shared.peers().entries.len()
    }

    /// Takes no new connections and calls, waits up to `grace` for the calls that run, cancels the rest with
    /// UNAVAILABLE, and closes the connections once all answers are acknowledged. The port is free afterwards.
    pub async fn shutdown(mut self, grace: Duration) {
        if let Some(accept) = self.accept.take() {
            accept.cancel().await;
        }
        self.shared.stopping.store(true, Ordering::SeqCst);
        let Some(endpoint) = lock(&self.shared.endpoint).take() else { return };
        endpoint.set_server_config(None);
        let peers: Vec<Arc<Peer>> = self.shared.peers().entries.values().filter_map(|(peer, _)| peer.clone()).collect();
        let quiet = self.shared.until(|| peers.iter().all(|peer| peer.calls().entries.is_empty()));
        quiet.or(after(grace)).await;
        let acknowledged = async {
            for peer in &peers {
                let answered = std::mem::take(&mut *lock(&peer.answered));
                for send in answered {
                    let _ = send.stopped().await;
                }
            }
        };
        acknowledged.or(after(LINGER)).await;
        self.shared.break_all();
        drop(peers);
        let closed = async {
            endpoint.wait_idle().await;
            drop(endpoint);
            self.closed.wait().await;
        };
        closed.or(after(LINGER)).await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accept = None;
        self.shared.stopping.store(true, Ordering::SeqCst);
        self.shared.break_all();
        if let Some(endpoint) = lock(&self.shared.endpoint).take() {
            endpoint.close(CLOSED, b"the server is gone");
        }
    }
}

async fn after(duration: Duration) {
    Timer::after(duration).await;
}

/// Tasks by number.
struct Table<T> {
    next: u64,
    entries: HashMap<u64, T>,
}

struct Shared {
    service: Arc<dyn Service>,
    limits: Limits,
    spawn: Spawn,
    /// Until the server stops.
    endpoint: Mutex<Option<Endpoint>>,
    /// Connections; without a peer while the handshake is going on.
    peers: Mutex<Table<(Option<Arc<Peer>>, Task<()>)>>,
    stopping: AtomicBool,
    /// Who waits for calls to end.
    watchers: Mutex<Vec<Waker>>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Shared({} connections)", self.peers().entries.len())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn peers(&self) -> MutexGuard<'_, Table<(Option<Arc<Peer>>, Task<()>)>> {
        lock(&self.peers)
    }

    async fn accept(self: Arc<Shared>) {
        let Some(endpoint) = lock(&self.endpoint).clone() else { return };
        while let Some(incoming) = endpoint.accept().await {
            let mut peers = self.peers();
            if peers.entries.len() >= self.limits.connections_max {
                incoming.refuse();
                continue;
            }
            let number = peers.next;
            peers.next += 1;
            let task = self.spawn.spawn(serve_peer(self.clone(), incoming, number));
            peers.entries.insert(number, (None, task));
        }
    }

    /// Ends all calls and connections.
    fn break_all(&self) {
        let entries = std::mem::take(&mut self.peers().entries);
        for (peer, task) in entries.into_values() {
            drop(task);
            if let Some(peer) = peer {
                peer.calls().entries.clear();
                peer.connection.close(CLOSED, b"the server is stopping");
            }
        }
    }

    /// Waits until a condition holds that only changes together with a [`Shared::changed`].
    async fn until(&self, condition: impl Fn() -> bool) {
        poll_fn(|cx| {
            lock(&self.watchers).push(cx.waker().clone());
            if condition() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    fn changed(&self) {
        if self.stopping.load(Ordering::SeqCst) {
            let watchers = std::mem::take(&mut *lock(&self.watchers));
            watchers.into_iter().for_each(Waker::wake);
        }
    }
}

/// A client.
struct Peer {
    connection: Connection,
    budget: Budget,
    /// Calls that were not answered at once.
    calls: Mutex<Table<Task<()>>>,
    /// Streams of answers that may not be acknowledged yet, oldest first. The peer gets no new streams for these, so
    /// their number is bounded.
    answered: Mutex<VecDeque<SendStream>>,
}

impl Peer {
    fn calls(&self) -> MutexGuard<'_, Table<Task<()>>> {
        lock(&self.calls)
    }

    /// Keeps the stream of an answer until the answer is acknowledged.
    fn keep(&self, send: SendStream) {
        let mut answered = lock(&self.answered);
        answered.push_back(send);
        while let Some(oldest) = answered.front() {
            let acknowledged = std::pin::pin!(oldest.stopped());
            if acknowledged.poll(&mut Context::from_waker(Waker::noop())).is_pending() {
                break;
            }
            answered.pop_front();
        }
    }
}

/// The task of a connection.
async fn serve_peer(shared: Arc<Shared>, incoming: Incoming, number: u64) {
    let handshake = async {
        match incoming.accept() {
            Ok(connecting) => connecting.await.ok(),
            Err(_) => None,
        }
    };
    let late = async {
        after(HANDSHAKE).await;
        None
    };
    if let Some(connection) = handshake.or(late).await {
        let calls = Mutex::new(Table { next: 1, entries: HashMap::new() });
        let answered = Mutex::new(VecDeque::new());
        let peer = Arc::new(Peer { connection, budget: shared.limits.budget(), calls, answered });
        if let Some((place, _)) = shared.peers().entries.get_mut(&number) {
            *place = Some(peer.clone());
        }
        while let Ok((send, recv)) = peer.connection.accept_bi().await {
            begin(&shared, &peer, send, recv);
        }
        peer.calls().entries.clear();
    }
    // The task must not end itself by being dropped from the table.
    let entry = shared.peers().entries.remove(&number);
    if let Some((_, task)) = entry {
        task.detach();
    }
    shared.changed();
}

/// Serves a call at once as far as it goes, then in a task of its own.
fn begin(shared: &Arc<Shared>, peer: &Arc<Peer>, send: SendStream, recv: RecvStream) {
    let mut calls = peer.calls();
    let number = calls.next;
    calls.next += 1;
    drop(calls);
    let mut work: Pin<Box<dyn Future<Output = ()> + Send>> =
        Box::pin(serve_call(shared.clone(), peer.clone(), send, recv, number));
    // A short request has come together with its stream, and most calls are ready at once. What is not is polled again
    // by its own task.
    if work.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
        let mut calls = peer.calls();
        let task = shared.spawn.spawn(work);
        calls.entries.insert(number, task);
    }
}

async fn serve_call(shared: Arc<Shared>, peer: Arc<Peer>, mut send: SendStream, mut recv: RecvStream, number: u64) {
    // Ends when the client resets the stream, or takes all of the answer, or is gone.
    let stopped = send.stopped();
    let result = {
        let gone = async {
            let _ = stopped.await;
            None
        };
        answer(&shared, &peer, &mut recv).or(gone).await
    };
    if let Some(result) = result {
        let out = Outgoing::answer(1, result, &peer.budget);
        // What is left of a request that was refused is of no use.
        let _ = recv.stop(CLOSED);
        // One that does not take its answer in time is no use to anybody: nothing is kept for it.
        match write_in_time(&mut send, out, &shared.limits).await {
            Ok(true) if send.finish().is_ok() => peer.keep(send),
            _ => {
                let _ = send.reset(CANCELLED);
            }
        }
    } else {
        let _ = send.reset(CANCELLED);
    }
    let task = peer.calls().entries.remove(&number);
    if let Some(task) = task {
        task.detach();
    }
    shared.changed();
}

/// What becomes of a call; `None` when nobody waits for it.
async fn answer(shared: &Shared, peer: &Peer, recv: &mut RecvStream) -> Option<Result<Response, Status>> {
    let limits = &shared.limits;
    let mut reader = Reader::new(recv);
    let read = async {
        let (kind, len) = reader.header(limits).await?;
        let Kind::Request { method, timeout_ms, parts } = kind else {
            return Err(End::Wrong(Status::invalid_argument("a stream begins with a request")));
        };
        if shared.stopping.load(Ordering::SeqCst) {
            return Err(End::Wrong(Status::unavailable("the server is stopping")));
        }
        let all = reader.body(&parts, len, limits, &peer.budget).await?;
        let (request, charge) = all.into_request(method, limits, &peer.budget)?;
        Ok((request, CallOptions { timeout_ms }, charge))
    };
    let (request, options, _charge) = match read.await {
        Ok(read) => read,
        Err(End::Gone(_)) => return None,
        Err(End::Early) => return Some(Err(Status::invalid_argument("a request ends early"))),
        Err(End::Wrong(status)) => return Some(Err(status)),
    };
    let work = AssertUnwindSafe(shared.service.call(request, options)).catch_unwind();
    let work = async {
        let panicked = |_| Err(Status::internal("the service panicked"));
        work.await.unwrap_or_else(panicked)
    };
    Some(match options.timeout_ms {
        Some(ms) => {
            let late = async {
                after(Duration::from_millis(ms)).await;
                Err(Status::deadline_exceeded(format_args!("the call took longer than {ms} ms")))
            };
            work.or(late).await
        }
        None => work.await,
    })
}
