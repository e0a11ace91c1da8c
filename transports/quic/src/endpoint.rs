//! UDP sockets as quinn wants them.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;

use quinn::{Endpoint, EndpointConfig, ServerConfig, SmolRuntime};
use socket2::{Domain, Protocol, Socket, Type};

/// Bytes of the system's buffers: with its defaults datagrams are lost while a busy reader waits for a processor. The
/// system gives what its own limit allows.
const SOCKET_BUFFER: usize = 4 << 20;

/// An endpoint on an address; with a configuration, one that takes connections.
pub(crate) fn endpoint(address: SocketAddr, server: Option<ServerConfig>) -> io::Result<Endpoint> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    let _ = socket.set_recv_buffer_size(SOCKET_BUFFER);
    let _ = socket.set_send_buffer_size(SOCKET_BUFFER);
    socket.bind(&address.into())?;
    Endpoint::new(EndpointConfig::default(), server, UdpSocket::from(socket), Arc::new(SmolRuntime))
}
