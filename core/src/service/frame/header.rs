//! The prefix and the header of a frame.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::Limits;
use crate::{Code, Status};

/// The version of the frames.
pub const VERSION: u8 = 1;

/// Bytes of a prefix.
pub const PREFIX_LEN: usize = 12;

/// Bytes that a header has at most.
pub const HEADER_LEN_MAX: usize = u16::MAX as usize;

const MAGIC: u8 = b'R';

/// How long header and body of a frame are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// Bytes of the header.
    pub header_len: usize,
    /// Bytes of the body.
    pub body_len: u64,
}

impl Prefix {
    /// Reads a prefix.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for bytes that begin no frame; UNIMPLEMENTED for another version; RESOURCE_EXHAUSTED for a
    /// body beyond the limit.
    pub fn parse(bytes: &[u8; PREFIX_LEN], limits: &Limits) -> Result<Prefix, Status> {
        let prefix = Prefix::of_any_length(bytes)?;
        if prefix.body_len > limits.frame_len_max {
            return Err(Status::resource_exhausted(format_args!(
                "a frame of {} bytes; the limit is {}",
                prefix.body_len, limits.frame_len_max
            )));
        }
        Ok(prefix)
    }

    pub(super) fn of_any_length(bytes: &[u8; PREFIX_LEN]) -> Result<Prefix, Status> {
        let [magic, version, h0, h1, body @ ..] = *bytes;
        if magic != MAGIC {
            return Err(Status::invalid_argument("these bytes are no frame"));
        }
        if version != VERSION {
            return Err(Status::unimplemented(format_args!("frames of version {version}; this is version {VERSION}")));
        }
        Ok(Prefix { header_len: u16::from_le_bytes([h0, h1]).into(), body_len: u64::from_le_bytes(body) })
    }
}

/// What a frame is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The call, chosen by the caller, unlike all of the connection's that are not answered. 0 is the connection itself.
    pub call: u64,
    /// What is said about it.
    pub kind: Kind,
}

/// The kinds of frames.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// Begins a call; the body is (the first part of) message and payloads.
    Request {
        /// The number of the method.
        method: u8,
        /// Milliseconds until the caller gives up.
        timeout_ms: Option<u64>,
        /// What the bodies of this call hold.
        parts: Parts,
    },
    /// Answers a call; the body is (the first part of) message and payloads.
    Reply {
        /// The number of the method.
        method: u8,
        /// What the bodies of this answer hold.
        parts: Parts,
    },
    /// The call failed. With the call 0: the connection failed, and will be closed.
    Error(Wrong),
    /// The body goes on with the message and payloads of an earlier frame.
    More,
    /// The caller has lost interest; there will be no answer.
    Cancel,
    /// Asks for a pong.
    Ping,
    /// Tells that this side lives.
    Pong,
    /// No new calls are taken; those that run are answered still.
    Goodbye,
}

/// The lengths of a call's message and payloads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parts {
    /// Bytes of the message.
    pub message: u64,
    /// Bytes of each payload.
    pub payloads: Vec<u64>,
}

/// A status on its way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wrong {
    code: u8,
    message: String,
    node: Option<String>,
    payloads: Vec<(String, Vec<u8>)>,
}

impl From<&Status> for Wrong {
    /// Of a status, what fits into a header: payloads are left out when they are too long.
    fn from(status: &Status) -> Wrong {
        let mut room = HEADER_LEN_MAX / 2;
        let mut payloads = Vec::new();
        for (url, bytes) in status.payloads() {
            let Some(left) = room.checked_sub(url.len().saturating_add(bytes.len()).saturating_add(20)) else {
                continue;
            };
            room = left;
            payloads.push((url.to_string(), bytes.to_vec()));
        }
        Wrong {
            code: status.code() as u8,
            message: status.message().into(),
            node: status.node().filter(|node| node.len() < HEADER_LEN_MAX / 4).map(String::from),
            payloads,
        }
    }
}

impl From<Wrong> for Status {
    fn from(wrong: Wrong) -> Status {
        let code = match Code::from_i32(wrong.code.into()) {
            Code::Ok => Code::Unknown,
            code => code,
        };
        let mut status = Status::from_parts(code, &wrong.message, wrong.node.as_deref());
        for (url, bytes) in wrong.payloads {
            status = status.with_payload(&url, &bytes);
        }
        status
    }
}

impl Header {
    /// Reads a header.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for bytes that are no header, or more than one.
    pub fn parse(bytes: &[u8]) -> Result<Header, Status> {
        match postcard::take_from_bytes(bytes) {
            Ok((header, [])) => Ok(header),
            Ok((_, rest)) => {
                Err(Status::invalid_argument(format_args!("{} bytes after the header of a frame", rest.len())))
            }
            Err(error) => Err(Status::invalid_argument(format_args!("malformed header of a frame: {error}"))),
        }
    }

    /// Prefix and header of a frame with a body of `body_len` bytes.
    ///
    /// # Errors
    /// INTERNAL for a header that is too long, which none made by this crate is.
    pub fn to_bytes(&self, body_len: u64) -> Result<Vec<u8>, Status> {
        let start = alloc::vec![0; PREFIX_LEN];
        let mut bytes = postcard::to_extend(self, start)
            .map_err(|error| Status::internal(format_args!("the header of a frame cannot be written: {error}")))?;
        let header_len = u16::try_from(bytes.len().saturating_sub(PREFIX_LEN))
            .map_err(|_| Status::internal("the header of a frame is too long"))?;
        if let Some(prefix) = bytes.first_chunk_mut::<PREFIX_LEN>() {
            let [h0, h1] = header_len.to_le_bytes();
            let [b0, b1, b2, b3, b4, b5, b6, b7] = body_len.to_le_bytes();
            *prefix = [MAGIC, VERSION, h0, h1, b0, b1, b2, b3, b4, b5, b6, b7];
        }
        Ok(bytes)
    }
}
