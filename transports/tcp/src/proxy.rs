//! Trouble on the way: a proxy that cuts, damages, stalls or chops the bytes that pass through it.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use smol::io::{AsyncReadExt, AsyncWriteExt};
use smol::{Async, Task, Timer};

use crate::Spawn;

/// What happens to the bytes of one direction; positions count from the start of each connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trouble {
    /// The connection is closed after so many bytes.
    pub cut_after: Option<u64>,
    /// Nothing is passed on after so many bytes, and the connection stays open.
    pub stall_after: Option<u64>,
    /// This bit is turned over.
    pub flip_bit: Option<u64>,
    /// Bytes are passed on in pieces of at most so many; 0 for as they come.
    pub piece_len: usize,
    /// Each piece waits so long.
    pub delay: Duration,
}

/// Passes connections on to a server, with trouble. Dropping it closes them.
#[derive(Debug)]
pub struct Proxy {
    local_addr: SocketAddr,
    _accept: Task<()>,
}

impl Proxy {
    /// Listens on a port of this machine and connects to `target` for each connection.
    ///
    /// # Errors
    /// The system's, when it gives no port.
    pub fn start(target: SocketAddr, to_server: Trouble, to_client: Trouble, spawn: Spawn) -> io::Result<Proxy> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let local_addr = listener.local_addr()?;
        let listener = Async::new(listener)?;
        let spawner = spawn.clone();
        let accept = async move {
            let mut passing = Vec::new();
            while let Ok((client, _)) = listener.accept().await {
                passing.retain(|task: &Task<io::Result<()>>| !task.is_finished());
                passing.push(spawn.spawn(pass(client, target, to_server, to_client)));
            }
        };
        Ok(Proxy { local_addr, _accept: spawner.spawn(accept) })
    }

    /// The address as clients write it.
    pub fn url(&self) -> String {
        format!("tcp://{}", self.local_addr)
    }
}

async fn pass(client: Async<TcpStream>, target: SocketAddr, up: Trouble, down: Trouble) -> io::Result<()> {
    let server = Async::<TcpStream>::connect(target).await?;
    client.get_ref().set_nodelay(true)?;
    server.get_ref().set_nodelay(true)?;
    smol::future::or(flow(&client, &server, up), flow(&server, &client, down)).await
}

async fn flow(mut from: &Async<TcpStream>, mut to: &Async<TcpStream>, trouble: Trouble) -> io::Result<()> {
    let mut buffer = vec![0; 64 << 10];
    let mut passed = 0_u64;
    let piece = if trouble.piece_len == 0 { buffer.len() } else { trouble.piece_len.min(buffer.len()) };
    loop {
        let until = trouble.cut_after.unwrap_or(u64::MAX).min(trouble.stall_after.unwrap_or(u64::MAX));
        let room = usize::try_from(until.saturating_sub(passed)).unwrap_or(usize::MAX).min(piece);
        if room == 0 && trouble.stall_after == Some(passed) {
            smol::future::pending::<()>().await;
        }
        let Some(space) = buffer.get_mut(..room).filter(|space| !space.is_empty()) else { return Ok(()) };
        let count = from.read(space).await?;
        let Some(bytes) = buffer.get_mut(..count).filter(|bytes| !bytes.is_empty()) else { return Ok(()) };
        if let Some(bit) = trouble.flip_bit
            && let Ok(at) = usize::try_from((bit / 8).wrapping_sub(passed))
            && let Some(byte) = bytes.get_mut(at)
        {
            *byte ^= 1 << (bit % 8);
        }
        if !trouble.delay.is_zero() {
            Timer::after(trouble.delay).await;
        }
        to.write_all(bytes).await?;
        passed += count as u64;
    }
}
