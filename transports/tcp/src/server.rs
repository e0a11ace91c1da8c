//! The server's side: connections are accepted, their calls handed to the service.

use std::collections::HashMap;
use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use runstep::Status;
use runstep::service::frame::{Assembly, Header, Kind, Limits, Outgoing};
use runstep::service::{CallOptions, Response, Service};
use runstep::tensor::{Budget, Charge};
use smol::future::FutureExt;
use smol::{Async, Task, Timer};

use crate::Spawn;
use crate::conn::Conn;
use crate::inbox::{End, Inbox};

/// How long a connection that ends is kept for the peer to read what was written.
const LINGER: Duration = Duration::from_secs(1);

/// Serves a service on a listening socket until the server is shut down or dropped.
///
/// # Errors
/// The system's, when it refuses the socket.
pub fn serve(listener: TcpListener, service: Arc<dyn Service>, limits: Limits, spawn: Spawn) -> io::Result<Server> {
    let local_addr = listener.local_addr()?;
    let listener = Async::new(listener)?;
    let shared = Arc::new(Shared {
        service,
        limits,
        spawn: spawn.clone(),
        peers: Mutex::new(Peers { next: 1, by_number: HashMap::new() }),
        stopping: AtomicBool::new(false),
        watchers: Mutex::new(Vec::new()),
    });
    let accept = spawn.spawn(shared.clone().accept(listener));
    Ok(Server { local_addr, shared, accept: Some(accept) })
}

/// A running server. Dropping it breaks all connections; [`Server::shutdown`] ends them in good order.
#[derive(Debug)]
pub struct Server {
    local_addr: SocketAddr,
    shared: Arc<Shared>,
    accept: Option<Task<()>>,
}

impl Server {
    /// The address that is listened on; its port is not 0.
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// The address as clients write it.
    pub fn url(&self) -> String {
        format!("tcp://{}", self.local_addr)
    }

    /// Bytes that unfinished calls of all clients hold.
    pub fn bytes_held(&self) -> usize {
        self.shared.peers().by_number.values().map(|(peer, _)| peer.budget.used()).sum()
    }

    /// The number of connections.
    pub fn connections(&self) -> usize {
        self.shared.peers().by_number.len()
    }

    /// Takes no new connections and calls, waits up to `grace` for the calls that run, cancels the rest with
    /// UNAVAILABLE, and closes the connections once all answers are written. The port is free afterwards.
    pub async fn shutdown(mut self, grace: Duration) {
        if let Some(accept) = self.accept.take() {
            accept.cancel().await;
        }
        self.shared.stopping.store(true, Ordering::SeqCst);
        let peers: Vec<Arc<Peer>> = self.shared.peers().by_number.values().map(|(peer, _)| peer.clone()).collect();
        for peer in &peers {
            peer.conn.control(Outgoing::control(0, Kind::Goodbye));
        }
        let quiet = self.shared.until(|| peers.iter().all(|peer| peer.calls().is_empty()));
        quiet.or(after(grace)).await;
        for peer in &peers {
            peer.abort(&Status::unavailable("the server is stopping"));
        }
        let flushed = async {
            for peer in &peers {
                peer.conn.finish().await;
            }
            self.shared.until(|| self.shared.peers().by_number.is_empty()).await;
        };
        flushed.or(after(LINGER)).await;
        self.shared.break_all();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accept = None;
        self.shared.stopping.store(true, Ordering::SeqCst);
        self.shared.break_all();
    }
}

async fn after(duration: Duration) {
    Timer::after(duration).await;
}

struct Shared {
    service: Arc<dyn Service>,
    limits: Limits,
    spawn: Spawn,
    peers: Mutex<Peers>,
    stopping: AtomicBool,
    /// Who waits for calls or connections to end.
    watchers: Mutex<Vec<Waker>>,
}

struct Peers {
    next: u64,
    by_number: HashMap<u64, (Arc<Peer>, Task<()>)>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Shared({} connections)", self.peers().by_number.len())
    }
}

impl Shared {
    fn peers(&self) -> MutexGuard<'_, Peers> {
        self.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn accept(self: Arc<Shared>, listener: Async<TcpListener>) {
        loop {
            match listener.accept().await {
                Ok((socket, _)) => self.begin(socket),
                // Out of file descriptors, mostly: those who are served may free some.
                Err(_) => after(Duration::from_millis(50)).await,
            }
        }
    }

    fn begin(self: &Arc<Shared>, socket: Async<TcpStream>) {
        let Ok(conn) = Conn::new(socket) else { return };
        let mut peers = self.peers();
        if peers.by_number.len() >= self.limits.connections_max {
            return;
        }
        let number = peers.next;
        peers.next += 1;
        let peer =
            Arc::new(Peer { conn: Arc::new(conn), budget: self.limits.budget(), calls: Mutex::new(HashMap::new()) });
        let task = self.spawn.spawn(serve_peer(self.clone(), peer.clone(), number));
        peers.by_number.insert(number, (peer, task));
    }

    fn break_all(&self) {
        let peers = std::mem::take(&mut self.peers().by_number);
        for (peer, task) in peers.into_values() {
            peer.calls().clear();
            peer.conn.close();
            drop(task);
        }
    }

    /// Waits until a condition holds that only changes together with a [`Shared::changed`].
    async fn until(&self, condition: impl Fn() -> bool) {
        poll_fn(|cx| {
            self.watchers.lock().unwrap_or_else(PoisonError::into_inner).push(cx.waker().clone());
            if condition() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    fn changed(&self) {
        if self.stopping.load(Ordering::SeqCst) {
            let watchers = std::mem::take(&mut *self.watchers.lock().unwrap_or_else(PoisonError::into_inner));
            watchers.into_iter().for_each(Waker::wake);
        }
    }
}

/// A client.
struct Peer {
    conn: Arc<Conn>,
    budget: Budget,
    /// Calls that were not ready at once.
    calls: Mutex<HashMap<u64, Task<()>>>,
}

impl Peer {
    fn calls(&self) -> MutexGuard<'_, HashMap<u64, Task<()>>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn abort(&self, status: &Status) {
        let calls = std::mem::take(&mut *self.calls());
        for (call, task) in calls {
            drop(task);
            self.conn.send(Outgoing::error(call, status));
        }
    }

    /// Sends what became of a call.
    fn answer(&self, call: u64, result: Result<Response, Status>) {
        self.conn.send(Outgoing::answer(call, result, &self.budget));
    }
}

/// The task of a connection.
async fn serve_peer(shared: Arc<Shared>, peer: Arc<Peer>, number: u64) {
    let mut inbox = Inbox::new(peer.conn.socket.clone());
    let read = async {
        match read(&shared, &peer, &mut inbox).await {
            Err(End::Wrong(status)) => Some(status),
            Err(End::Closed | End::Broken(_)) | Ok(()) => None,
        }
    };
    let tend = async {
        peer.conn.tend(&shared.limits).await;
        None
    };
    let wrong = read.or(tend).await;
    peer.calls().clear();
    if let Some(status) = wrong {
        peer.conn.control(Outgoing::error(0, &status));
        // What the peer still sends is read so that the system does not discard what it has not read yet.
        let goodbye = async {
            peer.conn.finish().await;
            let _ = inbox.skip(u64::MAX).await;
        };
        let tend = async {
            peer.conn.tend(&shared.limits).await;
        };
        goodbye.or(tend).or(after(LINGER)).await;
    }
    peer.conn.close();
    // The task must not end itself by being dropped from the table.
    let entry = shared.peers().by_number.remove(&number);
    if let Some((_, task)) = entry {
        task.detach();
    }
    shared.changed();
}

/// A request that is arriving.
struct Arriving {
    method: u8,
    options: CallOptions,
    assembly: Assembly,
}

async fn read(shared: &Arc<Shared>, peer: &Arc<Peer>, inbox: &mut Inbox) -> Result<(), End> {
    let limits = &shared.limits;
    let mut arriving: HashMap<u64, Arriving> = HashMap::new();
    loop {
        inbox.bulk = arriving.values().any(|request| request.assembly.left() > crate::FRAME_LEN / 4);
        let (Header { call, kind }, len) = inbox.header(limits).await?;
        peer.conn.heard();
        match kind {
            Kind::Request { method, timeout_ms, parts } => {
                let live = peer.calls().len() + arriving.len();
                if call == 0 || arriving.contains_key(&call) || peer.calls().contains_key(&call) {
                    return Err(Status::invalid_argument(format_args!("the call {call} is not answered yet")).into());
                }
                let admitted = if shared.stopping.load(Ordering::SeqCst) {
                    Err(Status::unavailable("the server is stopping"))
                } else if live >= limits.calls_per_connection_max {
                    Err(Status::resource_exhausted(format_args!(
                        "{live} calls of this connection are not answered yet"
                    )))
                } else {
                    Assembly::new(&parts, limits, &peer.budget)
                };
                match admitted {
                    Ok(mut assembly) => {
                        inbox.body(&mut assembly, len).await?;
                        let request = Arriving { method, options: CallOptions { timeout_ms }, assembly };
                        arrived(shared, peer, call, request, &mut arriving);
                    }
                    Err(status) => {
                        peer.conn.send(Outgoing::error(call, &status));
                        inbox.skip(len).await?;
                    }
                }
            }
            Kind::More => match arriving.remove(&call) {
                Some(mut request) => {
                    inbox.bulk = request.assembly.left() > crate::FRAME_LEN / 4;
                    inbox.body(&mut request.assembly, len).await?;
                    arrived(shared, peer, call, request, &mut arriving);
                }
                // Of a request that was refused or cancelled while it arrived.
                None => inbox.skip(len).await?,
            },
            Kind::Cancel => {
                inbox.skip(len).await?;
                arriving.remove(&call);
                let task = peer.calls().remove(&call);
                drop(task);
                shared.changed();
            }
            Kind::Ping => {
                inbox.skip(len).await?;
                peer.conn.control(Outgoing::control(0, Kind::Pong));
            }
            Kind::Pong | Kind::Goodbye => inbox.skip(len).await?,
            Kind::Reply { .. } | Kind::Error(_) => {
                return Err(Status::invalid_argument("a client sent what only servers may").into());
            }
        }
        if peer.conn.waiting() > limits.calls_per_connection_max.saturating_add(64) {
            return Err(Status::resource_exhausted("answers are not taken").into());
        }
    }
}

fn arrived(
    shared: &Arc<Shared>,
    peer: &Arc<Peer>,
    call: u64,
    request: Arriving,
    arriving: &mut HashMap<u64, Arriving>,
) {
    if request.assembly.left() > 0 {
        arriving.insert(call, request);
    } else if let Err(status) = begin(shared, peer, call, request) {
        peer.conn.send(Outgoing::error(call, &status));
    }
}

/// Hands a request to the service; answers at once when it is ready at once.
fn begin(shared: &Arc<Shared>, peer: &Arc<Peer>, call: u64, request: Arriving) -> Result<(), Status> {
    let Arriving { method, options, assembly } = request;
    let (request, charge) = assembly.finish()?.into_request(method, &shared.limits, &peer.budget)?;
    let mut work = Box::pin(AssertUnwindSafe(shared.service.call(request, options)).catch_unwind());
    // Most calls are: no task, no timer, no hand-over. One that is not is polled again by its own task.
    if let Poll::Ready(result) = work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        drop(charge);
        peer.answer(call, flat(result));
        return Ok(());
    }
    let mut calls = peer.calls();
    let task = shared.spawn.spawn(finish(shared.clone(), peer.clone(), call, options, work, charge));
    calls.insert(call, task);
    Ok(())
}

type Work<T> = Pin<Box<T>>;

async fn finish<T>(shared: Arc<Shared>, peer: Arc<Peer>, call: u64, options: CallOptions, work: Work<T>, charge: Charge)
where
    T: Future<Output = std::thread::Result<Result<Response, Status>>>,
{
    let result = match options.timeout_ms {
        Some(ms) => {
            let late = async {
                after(Duration::from_millis(ms)).await;
                Ok(Err(Status::deadline_exceeded(format_args!("the call took longer than {ms} ms"))))
            };
            work.or(late).await
        }
        None => work.await,
    };
    drop(charge);
    // Cancelled calls are not in the table any more and are not answered. The answer goes first: once the table is
    // empty, a server that stops takes it that nothing more is to be sent.
    if peer.calls().contains_key(&call) {
        peer.answer(call, flat(result));
    }
    let task = peer.calls().remove(&call);
    if let Some(task) = task {
        task.detach();
    }
    shared.changed();
}

fn flat(result: std::thread::Result<Result<Response, Status>>) -> Result<Response, Status> {
    result.unwrap_or_else(|_| Err(Status::internal("the service panicked")))
}
