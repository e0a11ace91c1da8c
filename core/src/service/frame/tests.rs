//! Frames: what is sent is what arrives, however it is cut, and nothing that arrives does harm.

use alloc::vec;
use alloc::vec::Vec;

use super::*;
use crate::service::{CallOptions, Request, RunCallableRequest};
use crate::tensor::{Budget, Tensor};
use crate::{Code, Status};

fn request() -> Request {
    let big: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let bytes: Vec<u8> = (0..3001).map(|i| i as u8).collect();
    Request::RunCallable(RunCallableRequest {
        session_handle: "session".into(),
        handle: 7,
        feeds: vec![
            Tensor::from_slice(&[1000], &big).unwrap(),
            Tensor::scalar(1.5f64),
            Tensor::from_slice(&[3001], &bytes).unwrap(),
        ],
        request_id: 0,
    })
}

fn outgoing(options: CallOptions) -> Outgoing {
    Outgoing::request(9, &request(), options).unwrap()
}

/// All frames of something, each of at most `len_max` bytes of body, sent in steps of `step` bytes.
fn sent(mut out: Outgoing, len_max: u64, step: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while !out.is_done() {
        if out.between_frames() {
            out.begin_frame(len_max).unwrap();
        }
        let (slices, count) = out.slices();
        let joined: Vec<u8> = slices[..count].concat();
        let now = step.min(joined.len());
        bytes.extend_from_slice(&joined[..now]);
        out.advance(now);
    }
    bytes
}

/// A reader of frames as a transport has one.
fn received(mut bytes: &[u8], limits: &Limits, budget: &Budget) -> Result<(Request, CallOptions), Status> {
    let short = || Status::unavailable("end of stream");
    let mut call: Option<(u8, CallOptions, Assembly)> = None;
    loop {
        let prefix = Prefix::parse(bytes.first_chunk().ok_or_else(short)?, limits)?;
        bytes = &bytes[PREFIX_LEN..];
        let (header, rest) = bytes.split_at_checked(prefix.header_len).ok_or_else(short)?;
        let header = Header::parse(header)?;
        let len = usize::try_from(prefix.body_len).map_err(|_| short())?;
        let (body, rest) = rest.split_at_checked(len).ok_or_else(short)?;
        bytes = rest;
        match (header.kind, &mut call) {
            (Kind::Request { method, timeout_ms, parts }, None) => {
                let mut assembly = Assembly::new(&parts, limits, budget)?;
                if assembly.feed(body)? != body.len() {
                    return Err(Status::invalid_argument("too long"));
                }
                call = Some((method, CallOptions { timeout_ms }, assembly));
            }
            (Kind::More, Some((_, _, assembly))) => {
                if assembly.feed(body)? != body.len() {
                    return Err(Status::invalid_argument("too long"));
                }
            }
            _ => return Err(Status::invalid_argument("unexpected")),
        }
        if call.as_ref().is_some_and(|(_, _, assembly)| assembly.left() == 0)
            && let Some((method, options, assembly)) = call.take()
        {
            let (request, _) = assembly.finish()?.into_request(method, limits, budget)?;
            return Ok((request, options));
        }
    }
}

fn assert_same(request: &Request) {
    let Request::RunCallable(got) = request else { panic!("{request:?}") };
    let Request::RunCallable(sent) = self::request() else { unreachable!() };
    assert_eq!((&got.session_handle, got.handle), (&sent.session_handle, sent.handle));
    for (got, sent) in got.feeds.iter().zip(&sent.feeds) {
        assert_eq!((got.dtype(), got.shape(), got.bytes()), (sent.dtype(), sent.shape(), sent.bytes()));
    }
}

/// However frames and writes are cut, the request arrives, its tensors aligned; nothing stays charged.
#[test]
fn any_cut() {
    let limits = Limits::default();
    let budget = limits.budget();
    let options = CallOptions { timeout_ms: Some(1234) };
    for len_max in [1, 7, 100, 1000, 4096, u64::MAX] {
        for step in [1, 13, 5000, usize::MAX] {
            let bytes = sent(outgoing(options), len_max, step);
            let (request, got) = received(&bytes, &limits, &budget).unwrap();
            assert_same(&request);
            assert_eq!(got, options);
            let Request::RunCallable(got) = &request else { unreachable!() };
            assert_eq!(got.feeds[0].bytes().as_ptr().addr() % 64, 0);
        }
    }
    assert_eq!(budget.used(), 0);
}

/// A packet is a frame, no more and no less.
#[test]
fn packets() {
    let limits = Limits::default();
    let budget = limits.budget();
    let packet = outgoing(CallOptions::default()).into_packet().unwrap();
    let (header, body) = Header::of_packet(&packet).unwrap();
    let Kind::Request { method, parts, .. } = header.kind else { panic!("{header:?}") };
    let of_body = |body| Assembled::of_body(&parts, body, &limits, &budget);
    assert_same(&of_body(body).unwrap().into_request(method, &limits, &budget).unwrap().0);
    let code = |result: Result<_, Status>| result.map(|_| ()).unwrap_err().code();
    let longer = [&packet[..], &[0]].concat();
    for wrong in [&packet[..packet.len() - 1], &packet[..5], &longer] {
        assert_eq!(code(Header::of_packet(wrong)), Code::InvalidArgument);
    }
    let longer = [body, &[0]].concat();
    for wrong in [&body[1..], &longer] {
        assert_eq!(of_body(wrong).map(|_| ()).unwrap_err().code(), Code::InvalidArgument);
    }
    assert_eq!(of_body(body).unwrap().into_request(255, &limits, &budget).unwrap_err().code(), Code::InvalidArgument);
    assert_eq!(budget.used(), 0);
}

/// Truncated at every byte, with every bit flipped: an error or another request, and no memory is kept.
#[test]
fn damaged() {
    let limits = Limits { frame_len_max: 1 << 20, ..Limits::default() };
    let budget = Budget::new("test", 1 << 20);
    let bytes = sent(outgoing(CallOptions::default()), 3000, 4000);
    for len in 0..bytes.len() {
        received(&bytes[..len], &limits, &budget).unwrap_err();
    }
    let head = 200;
    for bit in 0..head * 8 {
        let mut bytes = bytes.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        if let Err(error) = received(&bytes, &limits, &budget) {
            let codes = [Code::InvalidArgument, Code::ResourceExhausted, Code::Unimplemented, Code::Unavailable];
            assert!(codes.contains(&error.code()), "{error}");
        }
    }
    assert_eq!(budget.used(), 0);
}

/// Sizes that lie are refused before memory is taken.
#[test]
fn lying_sizes() {
    let limits = Limits { message_len_max: 1000, payload_len_max: 2000, frame_len_max: 5000, ..Limits::default() };
    let budget = Budget::new("test", 4000);
    let refused = |message, payloads: &[u64]| {
        let parts = Parts { message, payloads: payloads.to_vec() };
        Assembly::new(&parts, &limits, &budget).map(|_| ()).unwrap_err().code()
    };
    for (message, payloads) in [
        (1001, &[][..]),
        (u64::MAX, &[]),
        (0, &[2001]),
        (0, &[u64::MAX, u64::MAX]),
        (1000, &[2000, 2000, 2000]),
        (1000, &[2000, 1500]),
        (0, &[0; 5000]),
    ] {
        assert_eq!(refused(message, payloads), Code::ResourceExhausted, "{message} {payloads:?}");
    }
    let header = Header { call: 1, kind: Kind::More };
    for (claimed, code) in [(5001, Code::ResourceExhausted), (1 << 60, Code::ResourceExhausted)] {
        let bytes = header.to_bytes(claimed).unwrap();
        let error = Prefix::parse(bytes.first_chunk().unwrap(), &limits).unwrap_err();
        assert_eq!(error.code(), code);
    }
    // Announced and not sent: charged, but not taken.
    let parts = Parts { message: 1000, payloads: vec![2000] };
    let assembly = Assembly::new(&parts, &limits, &budget).unwrap();
    assert!(budget.used() >= 3000 && assembly.left() == 3000);
    assert_eq!(assembly.finish().unwrap_err().code(), Code::InvalidArgument);
    assert_eq!(budget.used(), 0);
}

/// Headers of every kind come back; bytes after one, another version and foreign bytes are refused.
#[test]
fn headers() {
    let status = Status::not_found("no such thing").at_node("n").with_payload("url", b"bytes");
    for kind in [
        Kind::Request { method: 255, timeout_ms: None, parts: Parts { message: 1, payloads: vec![2, 3] } },
        Kind::Reply { method: 0, parts: Parts::default() },
        Kind::Error((&status).into()),
        Kind::More,
        Kind::Cancel,
        Kind::Ping,
        Kind::Pong,
        Kind::Goodbye,
    ] {
        let header = Header { call: u64::MAX, kind };
        let mut bytes = header.to_bytes(5).unwrap();
        let prefix = Prefix::parse(bytes.first_chunk().unwrap(), &Limits::default()).unwrap();
        assert_eq!((prefix.header_len, prefix.body_len), (bytes.len() - PREFIX_LEN, 5));
        assert_eq!(Header::parse(&bytes[PREFIX_LEN..]), Ok(header));
        bytes.push(0);
        assert_eq!(Header::parse(&bytes[PREFIX_LEN..]).unwrap_err().code(), Code::InvalidArgument);
        bytes[1] = 2;
        let error = Prefix::parse(bytes.first_chunk().unwrap(), &Limits::default()).unwrap_err();
        assert_eq!(error.code(), Code::Unimplemented);
        bytes[0] = b'G';
        assert!(Prefix::parse(bytes.first_chunk().unwrap(), &Limits::default()).is_err());
    }
    let back: Status = Wrong::from(&status).into();
    assert_eq!((&back, back.node()), (&status, Some("n")));
    assert_eq!(back.payloads().next(), Some(("url", &b"bytes"[..])));
    let huge = Status::internal("x").with_payload("url", &[0; 100_000]);
    assert!(Header { call: 0, kind: Kind::Error((&huge).into()) }.to_bytes(0).is_ok());
}
