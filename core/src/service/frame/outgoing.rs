//! The bytes of a call or an answer on their way out, cut into frames.

use alloc::vec::Vec;

use bytes::Bytes;

use super::{Header, Kind, PAYLOADS_MAX, Parts};
use crate::Status;
use crate::service::{CallOptions, Request, Response};
use crate::tensor::{Budget, Charge};
use crate::wire::{Encoded, Layout, encode_request, encode_response};

/// The most slices that `Outgoing::slices` gives at once.
const SLICES_MAX: usize = 8;

/// Something to be sent, and how much of it has been. Tensors are sent from where they lie.
#[derive(Debug)]
pub struct Outgoing {
    call: u64,
    /// The header of the first frame until that begins.
    first: Option<Kind>,
    body: Encoded,
    /// Bytes of message and payloads that no frame has begun to send.
    uncut: u64,
    /// Prefix and header of the frame that is being sent, and how much of them has been.
    head: Vec<u8>,
    head_sent: usize,
    /// Bytes of the frame's body that have not been sent.
    body_left: u64,
    /// The part that is being sent (0 for the message, then payloads), and how much of it has been.
    part: usize,
    part_sent: usize,
    /// Held until all is sent.
    charge: Option<Charge>,
}

impl Outgoing {
    /// A request.
    ///
    /// # Errors
    /// As [`encode_request`]; RESOURCE_EXHAUSTED for more large tensors than a call may have.
    pub fn request(call: u64, request: &Request, options: CallOptions) -> Result<Outgoing, Status> {
        let encoded = encode_request(request, Layout::Apart)?;
        let parts = parts(&encoded)?;
        let kind = Kind::Request { method: request.method() as u8, timeout_ms: options.timeout_ms, parts };
        Ok(Outgoing::new(call, kind, encoded))
    }

    /// What became of a call: its answer, whose bytes are charged to `budget` until they are sent, or an error, also
    /// when the answer cannot be sent.
    pub fn answer(call: u64, result: Result<Response, Status>, budget: &Budget) -> Outgoing {
        let answer = result.and_then(|response| {
            let encoded = encode_response(&response, Layout::Apart)?;
            let parts = parts(&encoded)?;
            let mut out = Outgoing::new(call, Kind::Reply { method: response.method() as u8, parts }, encoded);
            out.charge = Some(budget.charge(usize::try_from(out.uncut).unwrap_or(usize::MAX))?);
            Ok(out)
        });
        answer.unwrap_or_else(|status| Outgoing::error(call, &status))
    }

    /// An error.
    pub fn error(call: u64, status: &Status) -> Outgoing {
        Outgoing::new(call, Kind::Error(status.into()), Encoded::default())
    }

    /// A frame without a body.
    pub fn control(call: u64, kind: Kind) -> Outgoing {
        Outgoing::new(call, kind, Encoded::default())
    }

    fn new(call: u64, kind: Kind, body: Encoded) -> Outgoing {
        let payloads = body.payloads.iter().map(|payload| payload.len() as u64);
        let uncut = payloads.fold(body.message.len() as u64, u64::saturating_add);
        Outgoing {
            call,
            first: Some(kind),
            body,
            uncut,
            head: Vec::new(),
            head_sent: 0,
            body_left: 0,
            part: 0,
            part_sent: 0,
            charge: None,
        }
    }

    /// The call.
    pub fn call(&self) -> u64 {
        self.call
    }

    /// Numbers the call; to be called before a frame begins.
    pub fn set_call(&mut self, call: u64) {
        self.call = call;
    }

    /// Whether the frame that was begun is sent.
    pub fn between_frames(&self) -> bool {
        self.head_sent == self.head.len() && self.body_left == 0
    }

    /// Whether all is sent.
    pub fn is_done(&self) -> bool {
        self.first.is_none() && self.uncut == 0 && self.between_frames()
    }

    /// Whether a frame of this has begun.
    pub fn has_begun(&self) -> bool {
        self.first.is_none()
    }

    /// Begins the next frame with at most `len_max` bytes of body. To be called between frames.
    ///
    /// # Errors
    /// INTERNAL for a header that cannot be written, which none made here is.
    pub fn begin_frame(&mut self, len_max: u64) -> Result<(), Status> {
        let body = self.uncut.min(len_max);
        let kind = self.first.take().unwrap_or(Kind::More);
        self.head = Header { call: self.call, kind }.to_bytes(body)?;
        self.head_sent = 0;
        self.body_left = body;
        self.uncut -= body;
        Ok(())
    }

    /// The next bytes of the frame that was begun, in order, the first so many of the array.
    pub fn slices(&self) -> ([&[u8]; SLICES_MAX], usize) {
        let mut slices: [&[u8]; SLICES_MAX] = [&[]; SLICES_MAX];
        let mut count = 0;
        let mut add = |slice: &mut core::slice::IterMut<'_, _>, bytes| {
            if let Some(to) = slice.next() {
                *to = bytes;
                count += 1;
            }
        };
        let mut to = slices.iter_mut();
        if let Some(head) = self.head.get(self.head_sent..).filter(|head| !head.is_empty()) {
            add(&mut to, head);
        }
        let mut left = usize::try_from(self.body_left).unwrap_or(usize::MAX);
        let mut from = self.part_sent;
        for part in self.part.. {
            if left == 0 || to.len() == 0 {
                break;
            }
            let Some(bytes) = self.bytes_of(part) else { break };
            let rest = bytes.get(from..).unwrap_or_default();
            let rest = rest.get(..left).unwrap_or(rest);
            if !rest.is_empty() {
                add(&mut to, rest);
            }
            left -= rest.len();
            from = 0;
        }
        (slices, count)
    }

    fn bytes_of(&self, part: usize) -> Option<&[u8]> {
        match part.checked_sub(1) {
            None => Some(&self.body.message),
            Some(payload) => self.body.payloads.get(payload).map(Bytes::as_ref),
        }
    }

    /// Takes note that the first `count` bytes of the slices were sent.
    pub fn advance(&mut self, mut count: usize) {
        let head = (self.head.len() - self.head_sent).min(count);
        self.head_sent += head;
        count -= head;
        self.body_left = self.body_left.saturating_sub(count as u64);
        while let Some(len) = self.bytes_of(self.part).map(<[u8]>::len) {
            let step = count.min(len - self.part_sent);
            self.part_sent += step;
            count -= step;
            if self.part_sent < len {
                break;
            }
            self.part += 1;
            self.part_sent = 0;
        }
    }

    /// Gives up what no frame has begun to send. The receiver is told by other means.
    pub fn cut_short(&mut self) {
        self.first = None;
        self.uncut = 0;
    }

    /// Message and payloads, for transports that send whole buffers.
    pub fn into_body(self) -> Encoded {
        self.body
    }

    /// Prefix and header of the frame that was begun.
    pub fn head(&self) -> &[u8] {
        &self.head
    }
}

fn parts(encoded: &Encoded) -> Result<Parts, Status> {
    if encoded.payloads.len() > PAYLOADS_MAX {
        let count = encoded.payloads.len();
        return Err(Status::resource_exhausted(format_args!(
            "{count} large tensors; a call has at most {PAYLOADS_MAX}"
        )));
    }
    let payloads = encoded.payloads.iter().map(|payload| payload.len() as u64).collect();
    Ok(Parts { message: encoded.message.len() as u64, payloads })
}
