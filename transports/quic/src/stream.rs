//! One frame on a stream, each way.

use std::time::Duration;

use bytes::Bytes;
use quinn::{ReadError, RecvStream, SendStream, WriteError};
use runstep::Status;
use runstep::service::frame::{Assembled, Assembly, Header, Kind, Limits, Outgoing, PREFIX_LEN, Parts, Prefix};
use runstep::tensor::Budget;
use smol::Timer;

/// Why there is no frame.
#[derive(Debug)]
pub(crate) enum End {
    /// The stream was reset or its connection lost.
    Gone(ReadError),
    /// The stream ended inside a frame.
    Early,
    /// The frame is not what it may be, or too much.
    Wrong(Status),
}

impl From<Status> for End {
    fn from(status: Status) -> End {
        End::Wrong(status)
    }
}

/// Reads a stream in the chunks that arrive; each byte is copied once, to its place.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    stream: &'a mut RecvStream,
    chunk: Bytes,
}

/// Bytes taken from quinn at once.
const CHUNK_LEN: usize = 1 << 20;

impl<'a> Reader<'a> {
    pub(crate) fn new(stream: &'a mut RecvStream) -> Reader<'a> {
        Reader { stream, chunk: Bytes::new() }
    }

    async fn fill(&mut self) -> Result<(), End> {
        while self.chunk.is_empty() {
            match self.stream.read_chunk(CHUNK_LEN, true).await {
                Ok(Some(chunk)) => self.chunk = chunk.bytes,
                Ok(None) => return Err(End::Early),
                Err(error) => return Err(End::Gone(error)),
            }
        }
        Ok(())
    }

    async fn exactly(&mut self, len: usize) -> Result<Bytes, End> {
        self.fill().await?;
        if self.chunk.len() >= len {
            return Ok(self.chunk.split_to(len));
        }
        let mut bytes = Vec::with_capacity(len);
        while bytes.len() < len {
            self.fill().await?;
            let count = self.chunk.len().min(len - bytes.len());
            bytes.extend_from_slice(&self.chunk.split_to(count));
        }
        Ok(bytes.into())
    }

    /// The header of the stream's frame and the length of the body that follows.
    pub(crate) async fn header(&mut self, limits: &Limits) -> Result<(Kind, u64), End> {
        let bytes = self.exactly(PREFIX_LEN).await?;
        let Some(prefix) = bytes.first_chunk() else { return Err(End::Early) };
        let prefix = Prefix::parse(prefix, limits)?;
        let bytes = if prefix.header_len == 0 { Bytes::new() } else { self.exactly(prefix.header_len).await? };
        Ok((Header::parse(&bytes)?.kind, prefix.body_len))
    }

    /// The body, which holds all parts.
    pub(crate) async fn body(
        &mut self,
        parts: &Parts,
        len: u64,
        limits: &Limits,
        budget: &Budget,
    ) -> Result<Assembled, End> {
        let mut assembly = Assembly::new(parts, limits, budget)?;
        if assembly.left() != len {
            let parts = assembly.left();
            return Err(Status::invalid_argument(format_args!("a body of {len} bytes for parts of {parts}")).into());
        }
        while assembly.left() > 0 {
            self.fill().await?;
            let fed = assembly.feed(&self.chunk)?;
            let _ = self.chunk.split_to(fed.min(self.chunk.len()));
        }
        Ok(assembly.finish()?)
    }
}

/// Bytes handed to quinn at once; a peer that takes none of them in time has stalled.
const PIECE_LEN: usize = 4 << 20;

/// As [`write`]; false when the peer has taken nothing for the time that the limits give it.
pub(crate) async fn write_in_time(stream: &mut SendStream, out: Outgoing, limits: &Limits) -> Result<bool, WriteError> {
    for mut rest in chunks(out)? {
        while !rest.is_empty() {
            let piece = rest.split_to(rest.len().min(PIECE_LEN));
            let written = async { stream.write_chunk(piece).await.map(|()| true) };
            let late = async {
                Timer::after(Duration::from_millis(limits.stall_ms_max)).await;
                Ok(false)
            };
            if !smol::future::or(written, late).await? {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Sends something as one frame; tensors' bytes are handed over, not copied.
pub(crate) async fn write(stream: &mut SendStream, out: Outgoing) -> Result<(), WriteError> {
    stream.write_all_chunks(&mut chunks(out)?).await
}

fn chunks(mut out: Outgoing) -> Result<Vec<Bytes>, WriteError> {
    // A header that cannot be written is one that no peer could read.
    if out.begin_frame(u64::MAX).is_err() {
        return Err(WriteError::Stopped(crate::error::CANCELLED));
    }
    let head = Bytes::copy_from_slice(out.head());
    let body = out.into_body();
    let mut chunks = Vec::with_capacity(2 + body.payloads.len());
    // A small message goes along with its header: two chunks of a stream cost more than a copy of some bytes.
    if body.message.len() <= 1024 {
        chunks.push([&head[..], &body.message[..]].concat().into());
    } else {
        chunks.push(head);
        chunks.push(body.message);
    }
    chunks.extend(body.payloads);
    chunks.retain(|chunk| !chunk.is_empty());
    Ok(chunks)
}
