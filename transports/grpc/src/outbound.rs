//! A message on its way out: as many bytes as the peer takes, from where they lie.

use std::future::poll_fn;
use std::time::{Duration, Instant};

use bytes::Bytes;
use h2::{Reason, SendStream};
use runstep::wire::Pieces;

use crate::inbound::PREFIX_LEN;
use crate::wait::{Waited, until};

/// Bytes of a stream that h2 holds at most; the rest waits in the tensor.
pub(crate) const BUFFER_LEN: usize = 1 << 20;

/// Why a message was not sent.
#[derive(Debug)]
pub(crate) enum Unsent {
    /// The stream or the connection is gone.
    Gone,
    /// The peer took no bytes for too long.
    Stalled,
}

/// Writes flag and length into the room before a message; `None` for one that is longer than gRPC can say.
pub(crate) fn framed(mut pieces: Pieces, compressed: bool) -> Option<Pieces> {
    let len = u32::try_from(pieces.len() - PREFIX_LEN.min(pieces.len())).ok()?;
    let prefix = pieces.first.first_chunk_mut::<PREFIX_LEN>()?;
    let [a, b, c, d] = len.to_be_bytes();
    *prefix = [u8::from(compressed), a, b, c, d];
    Some(pieces)
}

/// Sends a framed message; the stream stays open.
pub(crate) async fn send(stream: &mut SendStream<Bytes>, pieces: Pieces, stall_ms_max: u64) -> Result<(), Unsent> {
    for mut piece in std::iter::once(Bytes::from(pieces.first)).chain(pieces.rest) {
        while !piece.is_empty() {
            stream.reserve_capacity(piece.len().min(BUFFER_LEN));
            let capacity = match stream.capacity() {
                0 => capacity(stream, stall_ms_max).await?,
                now => now,
            };
            let part = piece.split_to(capacity.min(piece.len()));
            stream.send_data(part, false).map_err(|_| Unsent::Gone)?;
        }
    }
    Ok(())
}

/// Hands a framed message and the end of the stream to h2, however little of it the peer takes now.
///
/// # Errors
/// That the stream takes no more.
pub(crate) fn queue(stream: &mut SendStream<Bytes>, pieces: Pieces) -> Result<(), h2::Error> {
    stream.send_data(pieces.first.into(), pieces.rest.is_empty())?;
    let mut rest = pieces.rest.into_iter().peekable();
    while let Some(piece) = rest.next() {
        stream.send_data(piece, rest.peek().is_none())?;
    }
    Ok(())
}

/// Waits until the peer takes bytes.
async fn capacity(stream: &mut SendStream<Bytes>, stall_ms_max: u64) -> Result<usize, Unsent> {
    let deadline = Instant::now().checked_add(Duration::from_millis(stall_ms_max));
    loop {
        match until(deadline, poll_fn(|cx| stream.poll_capacity(cx))).await {
            Waited::Done(Some(Ok(0))) => {}
            Waited::Done(Some(Ok(count))) => return Ok(count),
            Waited::Done(Some(Err(_)) | None) => return Err(Unsent::Gone),
            Waited::Late => {
                stream.send_reset(Reason::CANCEL);
                return Err(Unsent::Stalled);
            }
        }
    }
}
