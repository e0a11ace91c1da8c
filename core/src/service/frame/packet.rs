//! A call in one packet: for transports whose packets arrive whole, and the steps that all transports share.

use alloc::vec::Vec;

use super::{Assembled, Assembly, Header, Limits, Outgoing, PREFIX_LEN, Parts, Prefix};
use crate::Status;
use crate::service::{Method, Request, Response};
use crate::tensor::{Budget, Charge};
use crate::wire::{Layout, decode_request, decode_response};

impl Header {
    /// The header and the body of a packet that holds one frame. Its length is no matter here: it has arrived.
    ///
    /// # Errors
    /// As [`Prefix::parse`] and [`Header::parse`]; INVALID_ARGUMENT when the packet is longer or shorter than its frame.
    pub fn of_packet(packet: &[u8]) -> Result<(Header, &[u8]), Status> {
        let wrong = || Status::invalid_argument(format_args!("a packet of {} bytes is no frame", packet.len()));
        let (prefix, rest) = packet.split_first_chunk::<PREFIX_LEN>().ok_or_else(wrong)?;
        let prefix = Prefix::of_any_length(prefix)?;
        let (header, body) = rest.split_at_checked(prefix.header_len).ok_or_else(wrong)?;
        if body.len() as u64 != prefix.body_len {
            return Err(wrong());
        }
        Ok((Header::parse(header)?, body))
    }
}

impl Assembled {
    /// Message and payloads of a body that holds them all.
    ///
    /// # Errors
    /// As [`Assembly::new`]; INVALID_ARGUMENT when the body is longer or shorter than its parts.
    pub fn of_body(parts: &Parts, body: &[u8], limits: &Limits, budget: &Budget) -> Result<Assembled, Status> {
        let mut assembly = Assembly::new(parts, limits, budget)?;
        if assembly.feed(body)? != body.len() {
            return Err(Status::invalid_argument("a body is longer than its parts"));
        }
        assembly.finish()
    }

    /// The request that has arrived, and the charge for its bytes: keep it as long as the call runs.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for an unknown method; as [`decode_request`].
    pub fn into_request(self, method: u8, limits: &Limits, budget: &Budget) -> Result<(Request, Charge), Status> {
        let method = Method::from_number(method)
            .ok_or_else(|| Status::invalid_argument(format_args!("there is no method {method}")))?;
        let request = decode_request(method, self.encoded, Layout::Apart, &limits.allowance(budget))?;
        Ok((request, self.charge))
    }

    /// The answer to a call of `method` that has arrived as one of the method with the number.
    ///
    /// # Errors
    /// INTERNAL when the methods differ; as [`decode_response`].
    pub fn into_response(
        self,
        method: Method,
        number: u8,
        limits: &Limits,
        budget: &Budget,
    ) -> Result<Response, Status> {
        if number != method as u8 {
            return Err(Status::internal(format_args!("the answer to {method:?} is of method {number}")));
        }
        decode_response(method, self.encoded, Layout::Apart, &limits.allowance(budget))
    }
}

impl Outgoing {
    /// All of it as one frame.
    ///
    /// # Errors
    /// As [`Outgoing::begin_frame`].
    pub fn into_packet(mut self) -> Result<Vec<u8>, Status> {
        self.begin_frame(u64::MAX)?;
        let mut packet = Vec::new();
        while !self.is_done() {
            let (slices, count) = self.slices();
            let before = packet.len();
            slices.iter().take(count).for_each(|slice| packet.extend_from_slice(slice));
            let sent = packet.len() - before;
            self.advance(sent);
        }
        Ok(packet)
    }
}
