//! Calls as whole messages in pieces: what lies between the contents of large tensors, and those contents themselves.
//!
//! The pieces end to end are the message, as TensorFlow has it; contents are sent from where the tensors lie.

use alloc::string::String;
use alloc::vec::Vec;

use bytes::Bytes;
use prost::Message as _;
use prost::encoding::{encode_varint, encoded_len_varint};

use super::call::{
    Layout, encode_request, encode_response, run_callable_request, run_callable_response, run_step_request,
    run_step_response,
};
use super::message::Message;
use super::tensor::tensor_to_proto;
use crate::Status;
use crate::service::{Request, Response};
use crate::tensor::Tensor;

/// Contents below this many bytes are copied into the piece around them: a piece of its own costs more.
const PIECE_LEN_MIN: usize = 16 << 10;

/// The wire type of messages, text and bytes.
const LENGTH_DELIMITED: u64 = 2;

/// A message in pieces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pieces {
    /// The room that was asked for, as zeros, and the first piece.
    pub first: Vec<u8>,
    /// The others, in order.
    pub rest: Vec<Bytes>,
}

impl Pieces {
    /// Bytes of room and message.
    pub fn len(&self) -> usize {
        self.rest.iter().fold(self.first.len(), |sum, piece| sum.saturating_add(piece.len()))
    }

    /// Whether there are no bytes at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A request in pieces, with `room` zeros before it for what a transport puts there.
///
/// # Errors
/// UNIMPLEMENTED for a tensor that cannot be sent.
pub fn request_pieces(request: &Request, room: usize) -> Result<Pieces, Status> {
    let mut out = Writer::new(room);
    match request {
        Request::RunStep(r) => {
            out.message(&run_step_request(r, Vec::new()))?;
            out.named(2, &r.feeds)?;
        }
        Request::RunCallable(r) => {
            out.message(&run_callable_request(r, Vec::new()))?;
            out.tensors(3, &r.feeds)?;
        }
        other => out.current.extend_from_slice(&encode_request(other, Layout::Whole)?.message),
    }
    Ok(out.finish())
}

/// A response in pieces, with `room` zeros before it for what a transport puts there.
///
/// # Errors
/// UNIMPLEMENTED for a tensor that cannot be sent.
pub fn response_pieces(response: &Response, room: usize) -> Result<Pieces, Status> {
    let mut out = Writer::new(room);
    match response {
        Response::RunStep(r) => {
            out.message(&run_step_response(r, Vec::new())?)?;
            out.named(1, &r.tensors)?;
        }
        Response::RunCallable(r) => {
            out.message(&run_callable_response(r, Vec::new())?)?;
            out.tensors(1, &r.fetches)?;
        }
        other => out.current.extend_from_slice(&encode_response(other, Layout::Whole)?.message),
    }
    Ok(out.finish())
}

struct Writer {
    current: Vec<u8>,
    done: Vec<Bytes>,
    first: Option<Vec<u8>>,
}

impl Writer {
    fn new(room: usize) -> Writer {
        let mut current = Vec::with_capacity(room.saturating_add(250));
        current.resize(room, 0);
        Writer { current, done: Vec::new(), first: None }
    }

    fn message<M: Message>(&mut self, message: &M) -> Result<(), Status> {
        message
            .encode(&mut self.current)
            .map_err(|error| Status::internal(format_args!("a message could not be written: {error}")))
    }

    fn field(&mut self, number: u64, len: usize) {
        encode_varint(number << 3 | LENGTH_DELIMITED, &mut self.current);
        encode_varint(len as u64, &mut self.current);
    }

    fn named(&mut self, number: u64, tensors: &[(String, Tensor)]) -> Result<(), Status> {
        for (name, tensor) in tensors {
            let parts = Parts::of(tensor).map_err(|error| error.context(format_args!("tensor '{name}'")))?;
            self.field(number, field_len(name.len()) + field_len(parts.len));
            self.field(1, name.len());
            self.current.extend_from_slice(name.as_bytes());
            self.field(2, parts.len);
            self.tensor(parts)?;
        }
        Ok(())
    }

    fn tensors(&mut self, number: u64, tensors: &[Tensor]) -> Result<(), Status> {
        for tensor in tensors {
            let parts = Parts::of(tensor)?;
            self.field(number, parts.len);
            self.tensor(parts)?;
        }
        Ok(())
    }

    /// The body of a tensor's message, its content last.
    fn tensor(&mut self, parts: Parts) -> Result<(), Status> {
        self.message(&parts.head)?;
        if parts.content.is_empty() {
            return Ok(());
        }
        self.field(4, parts.content.len());
        if parts.content.len() < PIECE_LEN_MIN {
            self.current.extend_from_slice(&parts.content);
        } else {
            self.end_piece();
            self.done.push(parts.content);
        }
        Ok(())
    }

    fn end_piece(&mut self) {
        let piece = core::mem::take(&mut self.current);
        if self.first.is_none() {
            self.first = Some(piece);
        } else if !piece.is_empty() {
            self.done.push(piece.into());
        }
    }

    fn finish(mut self) -> Pieces {
        self.end_piece();
        Pieces { first: self.first.unwrap_or_default(), rest: self.done }
    }
}

/// A tensor's message without its content, the content, and the length of both together.
struct Parts {
    head: super::generated::TensorProto,
    content: Bytes,
    len: usize,
}

impl Parts {
    fn of(tensor: &Tensor) -> Result<Parts, Status> {
        let mut head = tensor_to_proto(tensor)?;
        let content = core::mem::take(&mut head.tensor_content);
        let content_len = if content.is_empty() { 0 } else { field_len(content.len()) };
        let len = head.encoded_len() + content_len;
        Ok(Parts { head, content, len })
    }
}

/// Bytes of a field whose number is below 16 and whose body has `len` bytes.
fn field_len(len: usize) -> usize {
    1 + encoded_len_varint(len as u64) + len
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::vec;

    use super::super::{Allowance, Encoded, decode_request, decode_response};
    use super::*;
    use crate::service::{Method, RunCallableRequest, RunMetadata, RunStepRequest, RunStepResponse};

    /// The pieces end to end are a message that reads as what was sent, and large contents are not copied.
    #[test]
    fn pieces_are_the_message() {
        let large = Tensor::from_slice(&[3, 5000], &vec![7i32; 15_000]).unwrap();
        let tensors = vec![
            ("small:0".into(), Tensor::scalar(1.5f32)),
            ("large:0".into(), large.clone()),
            ("empty:0".into(), Tensor::from_slice::<f32>(&[0], &[]).unwrap()),
            ("again:0".into(), large.clone()),
        ];
        let response = Response::RunStep(RunStepResponse {
            tensors: tensors.clone(),
            metadata: RunMetadata::default(),
            error: Some((crate::Code::Aborted, "why".into())),
        });
        let request = Request::RunStep(RunStepRequest {
            session_handle: "s".into(),
            feeds: tensors.clone(),
            fetches: vec!["f:0".into()],
            request_id: 5,
            ..Default::default()
        });
        let feeds = tensors.into_iter().map(|(_, tensor)| tensor).collect();
        let callable = Request::RunCallable(RunCallableRequest { handle: 3, feeds, ..Default::default() });
        let whole = |pieces: Pieces| {
            assert_eq!(pieces.first[..5], [0; 5]);
            assert!(pieces.rest.iter().any(|piece| piece.as_ptr() == large.bytes().as_ptr()));
            let mut all = pieces.first[5..].to_vec();
            pieces.rest.iter().for_each(|piece| all.extend_from_slice(piece));
            assert_eq!(all.len() + 5, pieces.len());
            Encoded { message: all.into(), payloads: Vec::new() }
        };
        let back = whole(response_pieces(&response, 5).unwrap());
        let back = decode_response(Method::RunStep, back, Layout::Whole, &Allowance::default()).unwrap();
        assert_eq!(format!("{back:?}"), format!("{response:?}"));
        for request in [request, callable] {
            let back = whole(request_pieces(&request, 5).unwrap());
            let back = decode_request(request.method(), back, Layout::Whole, &Allowance::default()).unwrap();
            assert_eq!(format!("{back:?}"), format!("{request:?}"));
        }
    }
}
