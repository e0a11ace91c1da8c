//! Puts together a message and its payloads from the bodies of frames.

use alloc::vec::Vec;

use super::payload::Payload;
use super::{Limits, Parts};
use crate::Status;
use crate::status::OUT_OF_MEMORY;
use crate::tensor::{Budget, Charge};
use crate::wire::Encoded;

/// A message grows by at most this many bytes ahead of what has arrived.
const GROWTH_MAX: usize = 1 << 20;

/// A message and payloads that are arriving. The caller writes into [`Assembly::space`] and says how much.
#[derive(Debug)]
pub struct Assembly {
    message: Vec<u8>,
    message_len: usize,
    lens: Vec<usize>,
    payloads: Vec<Payload>,
    /// Bytes that have arrived of the part that is arriving.
    filled: usize,
    left: u64,
    charge: Charge,
}

/// A message and payloads that have arrived.
#[derive(Debug)]
pub struct Assembled {
    /// Message and payloads; each payload is aligned to 64.
    pub encoded: Encoded,
    /// For their bytes; keep it as long as the call.
    pub charge: Charge,
}

impl Assembly {
    /// Checks the announced sizes and charges them; takes no memory for them yet.
    ///
    /// # Errors
    /// RESOURCE_EXHAUSTED beyond a limit or the budget.
    pub fn new(parts: &Parts, limits: &Limits, budget: &Budget) -> Result<Assembly, Status> {
        let too_large = |what: &str, len: u64, limit: u64| {
            Status::resource_exhausted(format_args!("a {what} of {len} bytes; the limit is {limit}"))
        };
        if parts.message > limits.message_len_max {
            return Err(too_large("message", parts.message, limits.message_len_max));
        }
        if parts.payloads.len() > limits.payloads_max {
            return Err(Status::resource_exhausted(format_args!(
                "{} payloads; the limit is {}",
                parts.payloads.len(),
                limits.payloads_max
            )));
        }
        let mut left = parts.message;
        let mut lens = Vec::new();
        lens.try_reserve_exact(parts.payloads.len()).map_err(|_| Status::fixed(&OUT_OF_MEMORY))?;
        for &len in &parts.payloads {
            if len > limits.payload_len_max {
                return Err(too_large("payload", len, limits.payload_len_max));
            }
            left = left.saturating_add(len);
            lens.push(size(len)?);
        }
        if left > limits.frame_len_max {
            return Err(too_large("call", left, limits.frame_len_max));
        }
        // Each payload is rounded up to its alignment and has a small header.
        let charge = budget.charge(size(left)?.saturating_add(lens.len().saturating_mul(128)))?;
        let message_len = size(parts.message)?;
        lens.reverse();
        Ok(Assembly { message: Vec::new(), message_len, lens, payloads: Vec::new(), filled: 0, left, charge })
    }

    /// Bytes that have not arrived.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Where the next bytes go; not empty unless all have arrived. There may be more space after it.
    ///
    /// # Errors
    /// RESOURCE_EXHAUSTED when there is no memory.
    pub fn space(&mut self) -> Result<&mut [u8], Status> {
        if self.left == 0 {
            return Ok(&mut []);
        }
        if self.payloads.is_empty() && self.filled < self.message_len {
            return self.message_space();
        }
        while self.payloads.last().is_none_or(|payload| self.filled == payload.len()) {
            let Some(len) = self.lens.pop() else { return Ok(&mut []) };
            self.payloads.push(Payload::new(len)?);
            self.filled = 0;
        }
        let filled = self.filled;
        let payload = self.payloads.last_mut().map(|payload| payload.space(filled));
        Ok(payload.unwrap_or_default())
    }

    fn message_space(&mut self) -> Result<&mut [u8], Status> {
        if self.message.len() == self.filled {
            // What has arrived, again, so that copying stays linear; never much more than has arrived.
            let more = (self.message_len - self.filled).min(self.filled.clamp(4096, GROWTH_MAX));
            let exact = self.filled + more == self.message_len;
            let reserved = if exact { self.message.try_reserve_exact(more) } else { self.message.try_reserve(more) };
            reserved.map_err(|_| Status::fixed(&OUT_OF_MEMORY))?;
            self.message.resize(self.filled + more, 0);
        }
        Ok(self.message.get_mut(self.filled..).unwrap_or_default())
    }

    /// Takes note that the first `count` bytes of the space have been written.
    pub fn advance(&mut self, count: usize) {
        self.filled = self.filled.saturating_add(count);
        self.left = self.left.saturating_sub(count as u64);
    }

    /// Copies bytes in; how many there was room for.
    ///
    /// # Errors
    /// As [`Assembly::space`].
    pub fn feed(&mut self, bytes: &[u8]) -> Result<usize, Status> {
        let mut fed = 0;
        while let Some(rest) = bytes.get(fed..).filter(|rest| !rest.is_empty() && self.left > 0) {
            let space = self.space()?;
            let count = space.len().min(rest.len());
            if count == 0 {
                break;
            }
            if let (Some(to), Some(from)) = (space.get_mut(..count), rest.get(..count)) {
                to.copy_from_slice(from);
            }
            self.advance(count);
            fed += count;
        }
        Ok(fed)
    }

    /// Message and payloads.
    ///
    /// # Errors
    /// INVALID_ARGUMENT when bytes are missing; RESOURCE_EXHAUSTED when there is no memory.
    pub fn finish(mut self) -> Result<Assembled, Status> {
        if self.left > 0 {
            return Err(Status::invalid_argument(format_args!("a call ends {} bytes early", self.left)));
        }
        // Payloads without bytes were never waited for.
        while let Some(len) = self.lens.pop() {
            self.payloads.push(Payload::new(len)?);
        }
        let payloads = self.payloads.into_iter().map(Payload::into_bytes).collect();
        Ok(Assembled { encoded: Encoded { message: self.message.into(), payloads }, charge: self.charge })
    }
}

fn size(len: u64) -> Result<usize, Status> {
    usize::try_from(len).map_err(|_| Status::fixed(&OUT_OF_MEMORY))
}
