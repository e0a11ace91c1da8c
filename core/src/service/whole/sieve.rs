//! Takes the contents of large tensors out of a message while its bytes arrive.
//!
//! A run's tensors lie at a known path of fields. The sieve follows that path through the encoding, copies all else, and
//! puts each content that is not small into memory of its own, aligned to 64, of which the tensor is made. In its place
//! it leaves a token, and it corrects the lengths of the messages around it.

use alloc::vec::Vec;

use crate::Status;
use crate::service::Method;
use crate::service::frame::{Limits, Payload};
use crate::status::OUT_OF_MEMORY;
use crate::wire::{Encoded, TOKEN_LEN, token};

/// Bytes that a corrected length is written with, as a varint with leading zeros.
const LENGTH_LEN: usize = 5;
/// More than a varint of so many bytes holds.
const LENGTH_END: u64 = 1 << (7 * LENGTH_LEN);
/// Messages inside each other on the longest path.
const DEPTH_MAX: usize = 2;

/// The fields that lead to the contents of a request's tensors; empty where it has none.
pub(super) fn request_path(method: Method) -> &'static [u64] {
    match method {
        Method::RunStep => &[2, 2, 4],
        Method::RunCallable => &[3, 4],
        _ => &[],
    }
}

/// The same of a response.
pub(super) fn response_path(method: Method) -> &'static [u64] {
    match method {
        Method::RunStep => &[1, 2, 4],
        Method::RunCallable => &[1, 4],
        _ => &[],
    }
}

/// A message that is arriving.
#[derive(Debug)]
pub(super) struct Sieve {
    path: &'static [u64],
    /// The messages on the path that are open, outermost first.
    open: [Open; DEPTH_MAX],
    depth: usize,
    /// Where the whole message ends at the latest.
    end: u64,
    state: State,
    /// Bytes that have arrived.
    position: u64,
    message: Vec<u8>,
    payloads: Vec<Payload>,
    message_len_max: u64,
    payload_len_max: u64,
    payloads_max: usize,
}

/// A message on the path.
#[derive(Clone, Copy, Debug, Default)]
struct Open {
    /// Where it ends, in bytes that arrive.
    end: u64,
    /// Where its length stands in what is kept.
    length_at: usize,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// Reading the tag of a field, of which so much is there.
    Tag(Varint),
    /// Copying a number.
    Number(u8),
    /// Reading the length of the field with the number.
    Length(u64, Varint),
    /// Copying so many bytes.
    Copy(u64),
    /// So many bytes of the last payload are there.
    Payload(usize),
}

#[derive(Clone, Copy, Debug, Default)]
struct Varint {
    value: u64,
    len: u8,
}

impl Varint {
    /// Adds a byte; the value when that was the last.
    fn add(&mut self, byte: u8) -> Result<Option<u64>, Status> {
        if self.len >= 10 {
            return Err(malformed("a number is longer than 10 bytes"));
        }
        self.value |= u64::from(byte & 0x7f).checked_shl(7 * u32::from(self.len)).unwrap_or(0);
        self.len += 1;
        Ok((byte < 0x80).then_some(self.value))
    }
}

impl Sieve {
    /// A message of at most `end` bytes.
    pub(super) fn new(path: &'static [u64], end: u64, limits: &Limits) -> Sieve {
        Sieve {
            path,
            open: [Open::default(); DEPTH_MAX],
            depth: 0,
            end,
            state: if path.is_empty() { State::Copy(u64::MAX) } else { State::Tag(Varint::default()) },
            position: 0,
            message: Vec::new(),
            payloads: Vec::new(),
            message_len_max: limits.message_len_max,
            payload_len_max: limits.payload_len_max,
            payloads_max: limits.payloads_max,
        }
    }

    /// Takes the next bytes.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for what is no message; RESOURCE_EXHAUSTED beyond a limit or when there is no memory.
    pub(super) fn feed(&mut self, mut bytes: &[u8]) -> Result<(), Status> {
        while let Some((&byte, rest)) = bytes.split_first() {
            match self.state {
                State::Tag(mut tag) => {
                    self.keep(&[byte])?;
                    bytes = rest;
                    self.position = self.position.saturating_add(1);
                    match tag.add(byte)? {
                        None => self.state = State::Tag(tag),
                        Some(tag) => self.field(tag)?,
                    }
                }
                State::Number(len) => {
                    self.keep(&[byte])?;
                    bytes = rest;
                    self.position = self.position.saturating_add(1);
                    match (byte < 0x80, len) {
                        (true, _) => self.next()?,
                        (false, 0..9) => self.state = State::Number(len + 1),
                        (false, _) => return Err(malformed("a number is longer than 10 bytes")),
                    }
                }
                State::Length(field, mut length) => {
                    bytes = rest;
                    self.position = self.position.saturating_add(1);
                    match length.add(byte)? {
                        None => self.state = State::Length(field, length),
                        Some(length) => self.body(field, length)?,
                    }
                }
                State::Copy(left) => {
                    let count = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
                    let (these, rest) = bytes.split_at(count);
                    self.keep(these)?;
                    bytes = rest;
                    self.position = self.position.saturating_add(count as u64);
                    match left - count as u64 {
                        0 => self.next()?,
                        left => self.state = State::Copy(left),
                    }
                }
                State::Payload(filled) => {
                    let Some(payload) = self.payloads.last_mut() else { return Err(malformed("no payload")) };
                    let space = payload.space(filled);
                    let count = space.len().min(bytes.len());
                    let (these, rest) = bytes.split_at(count);
                    if let Some(space) = space.get_mut(..count) {
                        space.copy_from_slice(these);
                    }
                    let done = filled + count == payload.len();
                    bytes = rest;
                    self.position = self.position.saturating_add(count as u64);
                    if done {
                        self.next()?;
                    } else {
                        self.state = State::Payload(filled + count);
                    }
                }
            }
        }
        Ok(())
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), Status> {
        let len = self.message.len().saturating_add(bytes.len());
        if len as u64 > self.message_len_max {
            let limit = self.message_len_max;
            return Err(Status::resource_exhausted(format_args!(
                "a message of more than {limit} bytes beside its tensors, which is the limit"
            )));
        }
        self.message.try_reserve(bytes.len()).map_err(|_| Status::fixed(&OUT_OF_MEMORY))?;
        self.message.extend_from_slice(bytes);
        Ok(())
    }

    /// A tag has been read.
    fn field(&mut self, tag: u64) -> Result<(), Status> {
        self.state = match tag & 7 {
            0 => State::Number(0),
            1 => State::Copy(8),
            2 => State::Length(tag >> 3, Varint::default()),
            5 => State::Copy(4),
            other => return Err(malformed(format_args!("a field of wire type {other}"))),
        };
        Ok(())
    }

    /// The length of a field has been read.
    fn body(&mut self, field: u64, len: u64) -> Result<(), Status> {
        let end = self.position.saturating_add(len);
        let around = self.depth.checked_sub(1).and_then(|at| self.open.get(at));
        if end > around.map_or(self.end, |open| open.end) {
            return Err(malformed("a field is longer than the message that it is part of"));
        }
        let on_path = self.path.get(self.depth) == Some(&field);
        let is_content = self.depth + 1 == self.path.len();
        if on_path && !is_content {
            if len >= LENGTH_END {
                return Err(malformed(format_args!("a field of {len} bytes")));
            }
            let length_at = self.message.len();
            self.keep(&[0; LENGTH_LEN])?;
            if let Some(open) = self.open.get_mut(self.depth) {
                *open = Open { end, length_at };
                self.depth += 1;
            }
            self.next()
        } else if on_path && len >= TOKEN_LEN as u64 {
            self.content(len)
        } else {
            let mut length = [0; 10];
            self.keep(varint(len, &mut length))?;
            if len == 0 {
                return self.next();
            }
            self.state = State::Copy(len);
            Ok(())
        }
    }

    /// A content that is not small begins.
    fn content(&mut self, len: u64) -> Result<(), Status> {
        if len > self.payload_len_max {
            let limit = self.payload_len_max;
            return Err(Status::resource_exhausted(format_args!("a tensor of {len} bytes; the limit is {limit}")));
        }
        if self.payloads.len() >= self.payloads_max {
            let limit = self.payloads_max;
            return Err(Status::resource_exhausted(format_args!("more large tensors in a call than {limit}")));
        }
        let len = usize::try_from(len).map_err(|_| Status::fixed(&OUT_OF_MEMORY))?;
        let mut length = [0; 10];
        self.keep(varint(TOKEN_LEN as u64, &mut length))?;
        self.keep(&token(self.payloads.len()))?;
        self.payloads.push(Payload::new(len)?);
        self.state = State::Payload(0);
        Ok(())
    }

    /// A field has ended: closes the messages that end with it.
    fn next(&mut self) -> Result<(), Status> {
        self.state = State::Tag(Varint::default());
        while let Some(open) = self.depth.checked_sub(1).and_then(|at| self.open.get(at)).copied() {
            if self.position < open.end {
                return Ok(());
            }
            if self.position > open.end {
                return Err(malformed("a field is longer than the message that it is part of"));
            }
            let body = self.message.len().saturating_sub(open.length_at + LENGTH_LEN);
            let place = self.message.get_mut(open.length_at..).and_then(|rest| rest.first_chunk_mut::<LENGTH_LEN>());
            if let Some(place) = place {
                *place = padded(body as u64);
            }
            self.depth -= 1;
        }
        Ok(())
    }

    /// The message with tokens, and the payloads they name.
    ///
    /// # Errors
    /// INVALID_ARGUMENT where the message ends inside a field.
    pub(super) fn finish(self) -> Result<Encoded, Status> {
        let between = matches!(self.state, State::Tag(Varint { len: 0, .. })) && self.depth == 0;
        if !between && !self.path.is_empty() {
            return Err(malformed("it ends inside a field"));
        }
        let payloads = self.payloads.into_iter().map(Payload::into_bytes).collect();
        Ok(Encoded { message: self.message.into(), payloads })
    }
}

fn malformed(what: impl core::fmt::Display) -> Status {
    Status::invalid_argument(format_args!("malformed message: {what}"))
}

/// A varint of a fixed length.
fn padded(value: u64) -> [u8; LENGTH_LEN] {
    let mut bytes = [0; LENGTH_LEN];
    for (i, byte) in bytes.iter_mut().enumerate() {
        let more = if i + 1 < LENGTH_LEN { 0x80 } else { 0 };
        *byte = (value >> (7 * i) & 0x7f) as u8 | more;
    }
    bytes
}

/// A varint of the least length.
fn varint(mut value: u64, to: &mut [u8; 10]) -> &[u8] {
    let mut len = 0;
    for byte in to.iter_mut() {
        len += 1;
        *byte = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            break;
        }
        *byte |= 0x80;
    }
    to.get(..len).unwrap_or_default()
}
