//! Reading frames from a socket: small ones through a buffer, large bodies straight into their place.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;

use runstep::Status;
use runstep::service::frame::{Assembly, HEADER_LEN_MAX, Header, Limits, PREFIX_LEN, Prefix};
use smol::Async;
use smol::io::AsyncReadExt;

/// Bytes of the buffer: the longest prefix and header fit.
const BUFFER_LEN: usize = PREFIX_LEN + HEADER_LEN_MAX + 1;

/// Below this many bytes it is cheaper to read ahead into the buffer than to read exactly.
const DIRECT_LEN_MIN: usize = 16 << 10;

/// Enough for the prefix and header of a frame that goes on; reading no more keeps the body out of the buffer.
const HEAD_LEN: usize = 24;

/// The reading half of a connection.
#[derive(Debug)]
pub(crate) struct Inbox {
    socket: Arc<Async<TcpStream>>,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    /// A long body is arriving, so what follows a frame is most likely more of it.
    pub(crate) bulk: bool,
}

/// Why reading ended.
#[derive(Debug)]
pub(crate) enum End {
    /// The peer closed the connection between frames.
    Closed,
    /// The connection broke.
    Broken(io::Error),
    /// The peer sent what it may not.
    Wrong(Status),
}

impl From<io::Error> for End {
    fn from(error: io::Error) -> End {
        End::Broken(error)
    }
}

impl From<Status> for End {
    fn from(status: Status) -> End {
        End::Wrong(status)
    }
}

impl Inbox {
    pub(crate) fn new(socket: Arc<Async<TcpStream>>) -> Inbox {
        Inbox { socket, buffer: vec![0; BUFFER_LEN].into(), start: 0, end: 0, bulk: false }
    }

    fn buffered(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// All that was read has been taken.
    pub(crate) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Reads until at least `len` bytes are in the buffer.
    async fn fill(&mut self, len: usize) -> Result<(), End> {
        while self.end - self.start < len {
            if self.start > 0 && self.start + len > self.buffer.len() {
                self.buffer.copy_within(self.start..self.end, 0);
                self.end -= self.start;
                self.start = 0;
            }
            let wanted =
                if self.bulk { (self.start + len.max(HEAD_LEN)).min(self.buffer.len()) } else { self.buffer.len() };
            let Some(space) = self.buffer.get_mut(self.end..wanted).filter(|space| !space.is_empty()) else {
                return Err(Status::internal("a header is longer than the buffer for it").into());
            };
            match (&*self.socket).read(space).await? {
                0 if self.start == self.end => return Err(End::Closed),
                0 => return Err(End::Broken(io::ErrorKind::UnexpectedEof.into())),
                count => self.end += count,
            }
        }
        Ok(())
    }

    fn consume(&mut self, len: usize) {
        self.start = (self.start + len).min(self.end);
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
        }
    }

    /// The header of the next frame and the length of its body, which is to be read next.
    pub(crate) async fn header(&mut self, limits: &Limits) -> Result<(Header, u64), End> {
        self.fill(PREFIX_LEN).await?;
        let Some(prefix) = self.buffered().first_chunk() else { return Err(End::Closed) };
        let prefix = Prefix::parse(prefix, limits)?;
        self.fill(PREFIX_LEN + prefix.header_len).await?;
        let bytes = self.buffered().get(PREFIX_LEN..PREFIX_LEN + prefix.header_len).unwrap_or_default();
        let header = Header::parse(bytes)?;
        self.consume(PREFIX_LEN + prefix.header_len);
        Ok((header, prefix.body_len))
    }

    /// Reads a frame's body into its place.
    pub(crate) async fn body(&mut self, assembly: &mut Assembly, len: u64) -> Result<(), End> {
        if len > assembly.left() {
            let left = assembly.left();
            return Err(
                Status::invalid_argument(format_args!("a frame of {len} bytes where {left} are missing")).into()
            );
        }
        let mut left = len;
        while left > 0 {
            let limit = usize::try_from(left).unwrap_or(usize::MAX);
            let count = if self.start < self.end {
                let bytes = self.buffered();
                let count = assembly.feed(bytes.get(..limit).unwrap_or(bytes))?;
                self.consume(count);
                count
            } else {
                let space = assembly.space()?;
                let space_len = space.len().min(limit);
                if space_len < DIRECT_LEN_MIN && !self.bulk {
                    self.fill(1).await.map_err(in_frame)?;
                    continue;
                }
                let Some(space) = space.get_mut(..space_len) else { continue };
                let count = (&*self.socket).read(space).await?;
                assembly.advance(count);
                count
            };
            if count == 0 {
                return Err(End::Broken(io::ErrorKind::UnexpectedEof.into()));
            }
            left = left.saturating_sub(count as u64);
        }
        Ok(())
    }

    /// Reads a frame's body and forgets it.
    pub(crate) async fn skip(&mut self, len: u64) -> Result<(), End> {
        let mut left = len;
        while left > 0 {
            if self.start == self.end {
                self.bulk = false;
                self.fill(1).await.map_err(in_frame)?;
            }
            let count = self.buffered().len().min(usize::try_from(left).unwrap_or(usize::MAX));
            self.consume(count);
            left = left.saturating_sub(count as u64);
        }
        Ok(())
    }
}

/// Inside a frame, an end is no end between frames.
fn in_frame(end: End) -> End {
    match end {
        End::Closed => End::Broken(io::ErrorKind::UnexpectedEof.into()),
        end => end,
    }
}
