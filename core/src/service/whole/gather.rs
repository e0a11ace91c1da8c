//! A message of announced length that becomes a request or a response.

use super::sieve::{Sieve, request_path, response_path};
use crate::Status;
use crate::service::frame::Limits;
use crate::service::{Method, Request, Response};
use crate::tensor::{Budget, Charge};
use crate::wire::{Layout, decode_request, decode_response};

/// A message that is arriving. What it will take is charged when it is announced, or else as it arrives.
#[derive(Debug)]
pub struct Gather {
    method: Method,
    sieve: Sieve,
    arrived: u64,
    charged: u64,
    len_max: u64,
    charge: Charge,
}

impl Gather {
    /// A request of `announced` bytes; 0 where that is not known, as of bytes that are compressed.
    ///
    /// # Errors
    /// RESOURCE_EXHAUSTED beyond the limits or the budget.
    pub fn request(method: Method, announced: u64, limits: &Limits, budget: &Budget) -> Result<Gather, Status> {
        Gather::new(method, request_path(method), announced, limits, budget)
    }

    /// A response to a call of `method`; as [`Gather::request`].
    ///
    /// # Errors
    /// As [`Gather::request`].
    pub fn response(method: Method, announced: u64, limits: &Limits, budget: &Budget) -> Result<Gather, Status> {
        Gather::new(method, response_path(method), announced, limits, budget)
    }

    fn new(
        method: Method,
        path: &'static [u64],
        announced: u64,
        limits: &Limits,
        budget: &Budget,
    ) -> Result<Gather, Status> {
        check(announced, limits.frame_len_max)?;
        let charge = budget.charge(usize::try_from(announced).unwrap_or(usize::MAX))?;
        let end = if announced == 0 { limits.frame_len_max } else { announced };
        let sieve = Sieve::new(path, end, limits);
        Ok(Gather { method, sieve, arrived: 0, charged: announced, len_max: limits.frame_len_max, charge })
    }

    /// Takes the next bytes.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for what is no message; RESOURCE_EXHAUSTED beyond a limit or the budget.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), Status> {
        self.arrived = self.arrived.saturating_add(bytes.len() as u64);
        if self.arrived > self.charged {
            check(self.arrived, self.len_max)?;
            self.charge.grow(usize::try_from(self.arrived - self.charged).unwrap_or(usize::MAX))?;
            self.charged = self.arrived;
        }
        self.sieve.feed(bytes)
    }

    /// Bytes that have arrived.
    pub fn arrived(&self) -> u64 {
        self.arrived
    }

    /// The request, and the charge for its bytes: keep it as long as the call runs.
    ///
    /// # Errors
    /// As [`decode_request`].
    pub fn into_request(self, limits: &Limits, budget: &Budget) -> Result<(Request, Charge), Status> {
        let encoded = self.sieve.finish()?;
        let request = decode_request(self.method, encoded, Layout::Sieved, &limits.allowance(budget))?;
        Ok((request, self.charge))
    }

    /// The response.
    ///
    /// # Errors
    /// As [`decode_response`].
    pub fn into_response(self, limits: &Limits, budget: &Budget) -> Result<Response, Status> {
        let encoded = self.sieve.finish()?;
        decode_response(self.method, encoded, Layout::Sieved, &limits.allowance(budget))
    }
}

fn check(len: u64, limit: u64) -> Result<(), Status> {
    if len > limit {
        return Err(Status::resource_exhausted(format_args!("a message of {len} bytes; the limit is {limit}")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::String;
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;
    use crate::Code;
    use crate::service::{RunCallableRequest, RunStepRequest, RunStepResponse};
    use crate::tensor::{DType, Shape, Str, Tensor};
    use crate::wire::{encode_request, encode_response};

    fn tensors() -> Vec<(String, Tensor)> {
        let strings = vec![Str::from_static(b"a"), Str::from(vec![b'b'; 5000])];
        vec![
            ("scalar:0".into(), Tensor::scalar(1.5f32)),
            ("large:0".into(), Tensor::from_slice(&[2, 500], &[7i64; 1000]).unwrap()),
            ("empty:0".into(), Tensor::from_slice::<f32>(&[0, 9000], &[]).unwrap()),
            ("strings:0".into(), Tensor::from_strings(Shape::new(&[2]).unwrap(), strings).unwrap()),
            ("larger:0".into(), Tensor::from_slice(&[40_000], &[0.5f32; 40_000]).unwrap()),
            ("bytes:0".into(), Tensor::from_slice(&[1024], &[3u8; 1024]).unwrap()),
            ("fewer:0".into(), Tensor::from_slice(&[1023], &[3u8; 1023]).unwrap()),
        ]
    }

    fn requests() -> Vec<Request> {
        let feeds = tensors().into_iter().map(|(_, tensor)| tensor).collect();
        vec![
            Request::RunStep(RunStepRequest {
                session_handle: "s".into(),
                feeds: tensors(),
                fetches: vec!["y".repeat(3000)],
                request_id: -1,
                ..Default::default()
            }),
            Request::RunCallable(RunCallableRequest { feeds, ..Default::default() }),
            Request::Reset(Default::default()),
        ]
    }

    fn gathered(method: Method, message: &[u8], portion: usize) -> Result<Request, Status> {
        let (limits, budget) = (Limits::default(), Budget::new("test", 1 << 30));
        let mut gather = Gather::request(method, message.len() as u64, &limits, &budget)?;
        for part in message.chunks(portion) {
            gather.feed(part)?;
        }
        gather.into_request(&limits, &budget).map(|(request, _)| request)
    }

    /// Whatever the portions, what arrives is what was sent, and large tensors are aligned.
    #[test]
    fn portions() {
        for request in requests() {
            let message = encode_request(&request, Layout::Whole).unwrap().message;
            for portion in [1, 2, 3, 7, 1000, usize::MAX] {
                let back = gathered(request.method(), &message, portion).unwrap();
                assert_eq!(format!("{back:?}"), format!("{request:?}"));
                if let Request::RunStep(back) = back {
                    let large = back.feeds.iter().filter(|(_, tensor)| tensor.bytes().len() >= 1024);
                    assert!(large.clone().count() >= 3);
                    assert!(large.clone().all(|(_, tensor)| tensor.bytes().as_ptr().addr() % 64 == 0));
                }
            }
        }
        let response = Response::RunStep(RunStepResponse { tensors: tensors(), ..Default::default() });
        let message = encode_response(&response, Layout::Whole).unwrap().message;
        let (limits, budget) = (Limits::default(), Budget::new("test", 1 << 30));
        let mut gather = Gather::response(Method::RunStep, 0, &limits, &budget).unwrap();
        message.chunks(999).for_each(|part| gather.feed(part).unwrap());
        assert_eq!(gather.arrived(), message.len() as u64);
        let back = gather.into_response(&limits, &budget).unwrap();
        assert_eq!(format!("{back:?}"), format!("{response:?}"));
    }

    /// Every cut and every byte at its extremes: refused or read, never more than announced is taken, and a message that
    /// the ordinary decoder reads is read the same.
    #[test]
    fn damage() {
        let tensor = Tensor::from_slice(&[300], &[1.0f32; 300]).unwrap();
        let request = RunStepRequest { feeds: vec![("x".into(), tensor)], ..Default::default() };
        let message = encode_request(&Request::RunStep(request), Layout::Whole).unwrap().message;
        let whole = |bytes: &[u8]| {
            let encoded = crate::wire::Encoded { message: bytes.to_vec().into(), payloads: Vec::new() };
            decode_request(Method::RunStep, encoded, Layout::Whole, &crate::wire::Allowance::default())
        };
        for cut in 0..message.len() {
            let (ours, theirs) = (gathered(Method::RunStep, &message[..cut], 10), whole(&message[..cut]));
            assert_eq!(ours.is_ok(), theirs.is_ok(), "cut at {cut}: {ours:?}");
        }
        for at in 0..60 {
            for value in 0..=255 {
                let mut bytes = message.to_vec();
                bytes[at] = value;
                match (gathered(Method::RunStep, &bytes, 64), whole(&bytes)) {
                    (Ok(ours), Ok(theirs)) => assert_eq!(format!("{ours:?}"), format!("{theirs:?}")),
                    (Err(_), Err(_)) => {}
                    // The sieve knows no groups, which nobody sends.
                    (Err(error), Ok(_)) => assert!(error.message().contains("wire type"), "{at} {value}: {error}"),
                    (ours, theirs) => panic!("{at} {value}: {ours:?}, {theirs:?}"),
                }
            }
        }
    }

    /// Each limit, before memory is taken.
    #[test]
    fn limits_hold() {
        let feed = Tensor::zeros(DType::Uint8, &Shape::new(&[5000]).unwrap(), None).unwrap();
        let request = RunCallableRequest { feeds: vec![feed.clone(), feed], ..Default::default() };
        let message = encode_request(&Request::RunCallable(request), Layout::Whole).unwrap().message;
        let code = |limits: Limits, budget: usize, announced: u64| {
            let budget = Budget::new("test", budget);
            let result = Gather::request(Method::RunCallable, announced, &limits, &budget)
                .and_then(|mut gather| gather.feed(&message).map(|()| gather));
            result.and_then(|gather| gather.into_request(&limits, &budget)).map(|_| ()).map_err(|e| e.code())
        };
        let exhausted = Err(Code::ResourceExhausted);
        let len = message.len() as u64;
        assert_eq!(code(Limits::default(), 1 << 20, len), Ok(()));
        assert_eq!(code(Limits { frame_len_max: len - 1, ..Limits::default() }, 1 << 20, len), exhausted);
        assert_eq!(code(Limits { frame_len_max: len - 1, ..Limits::default() }, 1 << 20, 0), exhausted);
        assert_eq!(code(Limits { payload_len_max: 4999, ..Limits::default() }, 1 << 20, len), exhausted);
        assert_eq!(code(Limits { payloads_max: 1, ..Limits::default() }, 1 << 20, len), exhausted);
        assert_eq!(code(Limits { message_len_max: 1000, ..Limits::default() }, 1 << 20, len), exhausted);
        assert_eq!(code(Limits::default(), 9000, len), exhausted);
        assert_eq!(code(Limits::default(), 9000, 0), exhausted);
    }
}
