//! UDP sockets as quinn wants them, which tell when they are closed.

use std::fmt;
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, Endpoint, EndpointConfig, Runtime, ServerConfig, SmolRuntime, UdpPoller};
use smol::channel::{Receiver, Sender, bounded};
use socket2::{Domain, Protocol, Socket, Type};

/// Bytes of the system's buffers: with its defaults datagrams are lost while a busy reader waits for a processor. The
/// system gives what its own limit allows.
const SOCKET_BUFFER: usize = 4 << 20;

/// Ends once a socket is closed.
#[derive(Clone, Debug)]
pub(crate) struct Closed(Receiver<()>);

impl Closed {
    pub(crate) async fn wait(&self) {
        // Nothing is ever sent: the channel ends with the socket.
        let _ = self.0.recv().await;
    }
}

/// An endpoint on an address; with a configuration, one that takes connections. quinn closes the socket some time after
/// the endpoint and all its connections are dropped.
pub(crate) fn endpoint(address: SocketAddr, server: Option<ServerConfig>) -> io::Result<(Endpoint, Closed)> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    let _ = socket.set_recv_buffer_size(SOCKET_BUFFER);
    let _ = socket.set_send_buffer_size(SOCKET_BUFFER);
    socket.bind(&address.into())?;
    let inner = SmolRuntime.wrap_udp_socket(UdpSocket::from(socket))?;
    let (open, closed) = bounded(1);
    let socket = Arc::new(Watched { inner, _open: open });
    let config = EndpointConfig::default();
    Ok((Endpoint::new_with_abstract_socket(config, server, socket, Arc::new(SmolRuntime))?, Closed(closed)))
}

/// A socket that says when it is closed. Fields are dropped in order: the socket before the word of it.
struct Watched {
    inner: Arc<dyn AsyncUdpSocket>,
    _open: Sender<()>,
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl AsyncUdpSocket for Watched {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Box::pin(Poller { inner: self.inner.clone().create_io_poller(), _socket: self })
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        self.inner.try_send(transmit)
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        self.inner.poll_recv(cx, bufs, meta)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        self.inner.max_transmit_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.inner.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.inner.may_fragment()
    }
}

/// A poller holds the socket too.
#[derive(Debug)]
struct Poller {
    inner: Pin<Box<dyn UdpPoller>>,
    _socket: Arc<Watched>,
}

impl UdpPoller for Poller {
    fn poll_writable(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner.as_mut().poll_writable(cx)
    }
}
