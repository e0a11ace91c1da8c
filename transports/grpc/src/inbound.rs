//! A message as it arrives in the frames of a stream: a flag, a length, and so many bytes.

use std::future::poll_fn;

use bytes::Bytes;
use h2::RecvStream;
use runstep::Status;
use runstep::service::Method;
use runstep::service::frame::Limits;
use runstep::service::whole::Gather;
use runstep::tensor::Budget;

use crate::encoding::{Encoding, Inflate, inflated_len_max};

/// Bytes before a message.
pub(crate) const PREFIX_LEN: usize = 5;

/// Which way a message goes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Direction {
    Request,
    Response,
}

/// What a message is to become, and what it may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected<'a> {
    pub(crate) direction: Direction,
    pub(crate) method: Method,
    pub(crate) encoding: Option<Encoding>,
    pub(crate) limits: &'a Limits,
    pub(crate) budget: &'a Budget,
}

/// Why no message came.
#[derive(Debug)]
pub(crate) enum End {
    /// The stream or the connection is gone.
    Gone(h2::Error),
    /// What came is refused.
    Wrong(Status),
    /// The stream ended before a message began.
    Nothing,
}

impl From<Status> for End {
    fn from(status: Status) -> End {
        End::Wrong(status)
    }
}

enum Body {
    Plain(Box<Gather>),
    Compressed(Inflate),
}

/// The one message of a stream, read to the stream's end.
pub(crate) async fn message(stream: &mut RecvStream, expected: &Expected<'_>) -> Result<Gather, End> {
    let mut prefix = [0; PREFIX_LEN];
    let mut have = 0;
    let mut body = None;
    let mut left = 0_u64;
    while let Some(data) = next(stream).await? {
        let mut bytes = &data[..];
        if let Some(missing) = prefix.get_mut(have..).filter(|missing| !missing.is_empty()) {
            let count = missing.len().min(bytes.len());
            let (these, rest) = bytes.split_at(count);
            if let Some(missing) = missing.get_mut(..count) {
                missing.copy_from_slice(these);
            }
            have += count;
            bytes = rest;
            if have == PREFIX_LEN {
                let [flag, length @ ..] = prefix;
                left = u64::from(u32::from_be_bytes(length));
                body = Some(begin(expected, flag, left)?);
            }
        }
        if bytes.len() as u64 > left {
            return Err(Status::invalid_argument("a call of one message has bytes after it").into());
        }
        left -= bytes.len() as u64;
        match &mut body {
            Some(Body::Plain(gather)) => gather.feed(bytes)?,
            Some(Body::Compressed(inflate)) => inflate.feed(bytes)?,
            None => {}
        }
        // Only now may the peer send as many again: what it sends ahead is bounded by the window.
        release(stream, data.len());
    }
    match body {
        _ if have == 0 => Err(End::Nothing),
        Some(body) if left == 0 => Ok(match body {
            Body::Plain(gather) => *gather,
            Body::Compressed(inflate) => inflate.finish()?,
        }),
        _ => {
            let missing = left.max((PREFIX_LEN - have) as u64);
            Err(Status::invalid_argument(format_args!("a message ends at least {missing} bytes early")).into())
        }
    }
}

fn begin(expected: &Expected<'_>, flag: u8, len: u64) -> Result<Body, Status> {
    let Expected { direction, method, encoding, limits, budget } = *expected;
    let gather = |announced, limits: &Limits| match direction {
        Direction::Request => Gather::request(method, announced, limits, budget),
        Direction::Response => Gather::response(method, announced, limits, budget),
    };
    match (flag, encoding) {
        (0, _) => Ok(Body::Plain(Box::new(gather(len, limits)?))),
        (1, Some(encoding)) => {
            let mut limits = limits.clone();
            limits.frame_len_max = limits.frame_len_max.min(inflated_len_max(len));
            Ok(Body::Compressed(Inflate::new(encoding, gather(0, &limits)?)))
        }
        (1, None) => Err(Status::internal("a message is compressed where no grpc-encoding is given")),
        (flag, _) => {
            Err(Status::invalid_argument(format_args!("a message begins with the flag {flag}; there are 0 and 1")))
        }
    }
}

/// The next bytes of a stream, to be [released](release) once they are used.
pub(crate) async fn next(stream: &mut RecvStream) -> Result<Option<Bytes>, End> {
    match poll_fn(|cx| stream.poll_data(cx)).await {
        None => Ok(None),
        Some(Ok(data)) => Ok(Some(data)),
        Some(Err(error)) => Err(End::Gone(error)),
    }
}

/// Lets the peer send as many bytes more.
pub(crate) fn release(stream: &mut RecvStream, count: usize) {
    // An error says that the stream is gone, which the next read says as well.
    let _ = stream.flow_control().release_capacity(count);
}

/// The bytes of a small message that is not compressed, for services other than the master's.
pub(crate) async fn small(stream: &mut RecvStream, len_max: usize) -> Result<Vec<u8>, End> {
    let mut all = Vec::new();
    while let Some(data) = next(stream).await? {
        if all.len() + data.len() > len_max + PREFIX_LEN {
            return Err(Status::resource_exhausted(format_args!("a message of more than {len_max} bytes")).into());
        }
        all.extend_from_slice(&data);
        release(stream, data.len());
    }
    match all.split_first_chunk::<PREFIX_LEN>() {
        Some(([0, length @ ..], body)) if u32::from_be_bytes(*length) as usize == body.len() => Ok(body.to_vec()),
        Some(([1, ..], _)) => Err(Status::unimplemented("compressed messages of this service").into()),
        _ => Err(Status::invalid_argument("a call of one message has less or more than that").into()),
    }
}
