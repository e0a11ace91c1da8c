//! The server's side: connections are accepted, and ended in good order.

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use runstep::service::Service;
use runstep::service::frame::Limits;
use smol::channel::{Receiver, Sender, bounded};
use smol::future::FutureExt;
use smol::{Async, Task, Timer};

use crate::Spawn;
use crate::connection::{Peer, drive};

/// How long a connection that ends is kept for the peer to read what was written.
const LINGER: Duration = Duration::from_secs(1);

/// What a server is to be.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ServerOptions {
    /// What a client may make it hold. A message is one whole here: [`Limits::message_len_max`] bounds it without the
    /// contents of a run's large tensors.
    pub limits: Limits,
    /// Where its tasks run.
    pub spawn: Spawn,
}

/// Serves a service on a listening socket until the server is shut down or dropped.
///
/// # Errors
/// The system's, when it refuses the socket.
pub fn serve(listener: TcpListener, service: Arc<dyn Service>, options: ServerOptions) -> io::Result<Server> {
    let local_addr = listener.local_addr()?;
    let listener = Async::new(listener)?;
    let (goodbye, goodbyes) = bounded(1);
    let (abort, aborts) = bounded(1);
    let shared = Arc::new(Shared {
        service,
        limits: options.limits,
        spawn: options.spawn,
        peers: Mutex::new(Peers { next: 1, by_number: HashMap::new() }),
        stopping: AtomicBool::new(false),
        goodbyes,
        aborts,
        watchers: Mutex::new(Vec::new()),
    });
    let accept = shared.spawn.spawn(shared.clone().accept(listener));
    Ok(Server { local_addr, shared, accept: Some(accept), goodbye: Some(goodbye), abort: Some(abort) })
}

/// A running server. Dropping it breaks all connections; [`Server::shutdown`] ends them in good order.
#[derive(Debug)]
pub struct Server {
    local_addr: SocketAddr,
    shared: Arc<Shared>,
    accept: Option<Task<()>>,
    /// Dropped to have connections say that they take no more calls.
    goodbye: Option<Sender<Infallible>>,
    /// Dropped to end all calls.
    abort: Option<Sender<Infallible>>,
}

impl Server {
    /// The address that is listened on; its port is not 0.
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// The address as clients write it.
    pub fn url(&self) -> String {
        format!("grpc://{}", self.local_addr)
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
        self.goodbye = None;
        let peers: Vec<Arc<Peer>> = self.shared.peers().by_number.values().map(|(peer, _)| peer.clone()).collect();
        let quiet = || peers.iter().all(|peer| peer.live() == 0);
        self.shared.until(quiet).or(after(grace)).await;
        self.abort = None;
        self.shared.until(quiet).or(after(LINGER)).await;
        self.shared.until(|| self.shared.peers().by_number.is_empty()).or(after(LINGER)).await;
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

/// What connections and calls share.
pub(crate) struct Shared {
    pub(crate) service: Arc<dyn Service>,
    pub(crate) limits: Limits,
    pub(crate) spawn: Spawn,
    peers: Mutex<Peers>,
    stopping: AtomicBool,
    goodbyes: Receiver<Infallible>,
    aborts: Receiver<Infallible>,
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

    /// Whether no more calls are taken.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    /// Waits until the server begins to stop.
    pub(crate) async fn goodbye(&self) {
        // Nothing is ever sent: it ends when the sender is dropped.
        let _ = self.goodbyes.recv().await;
    }

    /// Waits until the server ends its calls.
    pub(crate) async fn aborted(&self) {
        let _ = self.aborts.recv().await;
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
        if socket.get_ref().set_nodelay(true).is_err() {
            return;
        }
        let mut peers = self.peers();
        if peers.by_number.len() >= self.limits.connections_max {
            return;
        }
        let number = peers.next;
        peers.next += 1;
        let peer = Arc::new(Peer::new(self.limits.budget()));
        let task = self.spawn.spawn(self.clone().serve_peer(peer.clone(), number, socket));
        peers.by_number.insert(number, (peer, task));
    }

    async fn serve_peer(self: Arc<Shared>, peer: Arc<Peer>, number: u64, socket: Async<TcpStream>) {
        drive(self.clone(), peer, socket).await;
        // The task must not end itself by being dropped from the table.
        let entry = self.peers().by_number.remove(&number);
        if let Some((_, task)) = entry {
            task.detach();
        }
        self.changed();
    }

    fn break_all(&self) {
        let peers = std::mem::take(&mut self.peers().by_number);
        drop(peers);
    }

    /// Waits until a condition holds that only changes together with a [`Shared::changed`].
    async fn until(&self, condition: impl Fn() -> bool) {
        poll_fn(|cx| {
            self.watchers.lock().unwrap_or_else(PoisonError::into_inner).push(cx.waker().clone());
            if condition() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    /// Tells those who wait for a stop that a call or a connection has ended.
    pub(crate) fn changed(&self) {
        if self.is_stopping() {
            let watchers = std::mem::take(&mut *self.watchers.lock().unwrap_or_else(PoisonError::into_inner));
            watchers.into_iter().for_each(Waker::wake);
        }
    }
}
