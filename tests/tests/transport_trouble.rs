//! TCP in trouble: connections that are cut, damaged or silent, and peers that mean harm.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use runstep::service::frame::{Header, Kind, PREFIX_LEN, Parts, Prefix};
use runstep::service::suite::{Boxed, Script, Scripted, join_all};
use runstep::service::*;
use runstep::tensor::Tensor;
use runstep::wire::{Layout, encode_request};
use runstep::{Code, Status};
use runstep_tcp::{Limits, Proxy, Server, Spawn, TcpChannel, Trouble, serve};

fn server(limits: Limits) -> (Scripted, Server) {
    let service = Scripted::default();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = serve(listener, Arc::new(service.clone()), limits, Spawn::Global).unwrap();
    (service, server)
}

fn request(script: Script, feed: Tensor) -> Request {
    Request::RunCallable(RunCallableRequest { handle: script.handle(), feeds: vec![feed], ..Default::default() })
}

async fn call(channel: &TcpChannel, script: Script, feed: Tensor, timeout_ms: u64) -> Result<Tensor, Status> {
    let options = CallOptions { timeout_ms: Some(timeout_ms) };
    match channel.call(request(script, feed), options).await? {
        Response::RunCallable(answer) => Ok(answer.fetches[0].clone()),
        other => panic!("{other:?}"),
    }
}

fn feed(len: usize) -> Tensor {
    let bytes: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
    Tensor::from_slice(&[len], &bytes).unwrap()
}

/// The server still answers and holds nothing.
async fn is_well(server: &Server) {
    let channel = TcpChannel::connect(&server.url()).await.unwrap();
    let mut held = usize::MAX;
    for i in 0..10_000 {
        assert_eq!(call(&channel, Script::Echo, Tensor::scalar(i), 60_000).await.unwrap().to_scalar(), Ok(i));
        held = server.bytes_held();
        if held == 0 {
            return;
        }
    }
    panic!("{held} bytes are still held");
}

/// One call through a proxy with trouble.
async fn troubled(server: &Server, up: Trouble, down: Trouble, timeout_ms: u64) -> Result<Tensor, Status> {
    let proxy = Proxy::start(server.local_addr(), up, down, Spawn::Global).unwrap();
    let channel = TcpChannel::connect(&proxy.url()).await?;
    call(&channel, Script::Echo, feed(1500), timeout_ms).await
}

/// Cut after each byte in either direction: UNAVAILABLE, and the server is well.
#[test]
fn cut_anywhere() {
    smol::block_on(async {
        let (_, server) = server(Limits::default());
        let places: Vec<u64> = (0..120).chain([500, 1000, 1500]).collect();
        for batch in places.chunks(25) {
            let calls = batch.iter().flat_map(|&at| {
                let cut = Trouble { cut_after: Some(at), ..Trouble::default() };
                [(cut, Trouble::default()), (Trouble::default(), cut)]
            });
            let calls = calls
                .map(|(up, down)| Box::pin(troubled(&server, up, down, 60_000)) as Boxed<'_, Result<Tensor, Status>>);
            for result in join_all(calls.collect()).await {
                assert_eq!(result.unwrap_err().code(), Code::Unavailable);
            }
        }
        is_well(&server).await;
    });
}

/// Any bit turned over in either direction: an error, or an answer that does not look wrong, and the server is well.
#[test]
fn any_bit_flipped() {
    smol::block_on(async {
        let (_, server) = server(Limits::default());
        let bits: Vec<u64> = (0..8 * 110).collect();
        for batch in bits.chunks(110) {
            let calls = batch.iter().flat_map(|&bit| {
                let flip = Trouble { flip_bit: Some(bit), ..Trouble::default() };
                [(flip, Trouble::default()), (Trouble::default(), flip)]
            });
            // A length that is too great is waited for until the caller gives up.
            let calls =
                calls.map(|(up, down)| Box::pin(troubled(&server, up, down, 500)) as Boxed<'_, Result<Tensor, Status>>);
            join_all(calls.collect()).await;
        }
        is_well(&server).await;
    });
}

/// A byte at a time is slow and nothing worse.
#[test]
fn byte_by_byte() {
    smol::block_on(async {
        let (_, server) = server(Limits::default());
        let pieces = Trouble { piece_len: 1, ..Trouble::default() };
        let got = troubled(&server, pieces, pieces, 60_000).await.unwrap();
        assert_eq!(got.bytes(), feed(1500).bytes());
    });
}

/// A peer that falls silent is noticed by both sides; one that lives through a long step is not mistaken for it.
#[test]
fn silence() {
    smol::block_on(async {
        let mut limits = Limits::default();
        (limits.ping_ms, limits.silence_ms_max) = (50, 400);
        let (service, server) = server(limits.clone());
        let quiet = Trouble { stall_after: Some(200), ..Trouble::default() };
        let proxy = Proxy::start(server.local_addr(), quiet, quiet, Spawn::Global).unwrap();
        let connect = |url: String| {
            let limits = limits.clone();
            async move { TcpChannel::connect_with(&url, limits, Spawn::Global, Duration::from_secs(9)).await.unwrap() }
        };
        let channel = connect(proxy.url()).await;
        let lost = call(&channel, Script::Hang, Tensor::scalar(1), 60_000).await.unwrap_err();
        assert_eq!(lost.code(), Code::Unavailable);
        service.until(|service| service.alive() == 0).await;

        let channel = connect(server.url()).await;
        let late = call(&channel, Script::Hang, Tensor::scalar(1), 1500).await.unwrap_err();
        assert_eq!(late.code(), Code::DeadlineExceeded);
        assert_eq!(call(&channel, Script::Echo, Tensor::scalar(7), 60_000).await.unwrap().to_scalar(), Ok(7));
    });
}

/// Small calls finish while a large tensor is on its way in both directions.
#[test]
fn large_tensor_beside_small_calls() {
    smol::block_on(async {
        let (_, server) = server(Limits::default());
        let channel = TcpChannel::connect(&server.url()).await.unwrap();
        let large = feed(256 << 20);
        let finished = std::cell::Cell::new(0);
        let all = async {
            let got = call(&channel, Script::Later(1), large.clone(), 600_000).await.unwrap();
            assert_eq!(got.num_bytes(), large.num_bytes());
            finished.get()
        };
        let small = async {
            loop {
                call(&channel, Script::Echo, Tensor::scalar(1), 60_000).await.unwrap();
                finished.set(finished.get() + 1);
            }
        };
        let meanwhile = smol::future::or(all, small).await;
        assert!(meanwhile >= 20, "only {meanwhile} small calls beside a large one");
    });
}

/// Threads that share a connection take turns at reading for each other; some lose interest just when it is their turn.
/// No answer is left lying.
#[test]
fn threads_read_for_each_other() {
    let (service, server) = server(Limits::default());
    let channel = smol::block_on(TcpChannel::connect(&server.url())).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4i32 {
            let channel = &channel;
            scope.spawn(move || {
                for i in 0..1000 {
                    let script = if i % 3 == thread { Script::Later(2) } else { Script::Echo };
                    let lost = call(channel, script, Tensor::scalar(-1i32), 30_000);
                    let kept = async {
                        let answer = call(channel, script, Tensor::scalar(i), 30_000).await;
                        assert_eq!(answer.unwrap().to_scalar(), Ok(i), "thread {thread}");
                    };
                    let either = smol::future::or(async { drop(lost.await) }, kept);
                    smol::block_on(either);
                    let answer = smol::block_on(call(channel, Script::Echo, Tensor::scalar(i), 30_000));
                    assert_eq!(answer.unwrap().to_scalar(), Ok(i), "thread {thread}");
                }
            });
        }
    });
    smol::block_on(service.until(|service| service.alive() == 0));
    assert_eq!(channel.bytes_held(), 0);
}

/// A server can be stopped and started on the same port again and again.
#[test]
fn the_port_is_free_after_a_stop() {
    smol::block_on(async {
        let (_, mut running) = server(Limits::default());
        let address = running.local_addr();
        for round in 0..30 {
            let channel = TcpChannel::connect(&running.url()).await.unwrap();
            call(&channel, Script::Echo, Tensor::scalar(round), 60_000).await.unwrap();
            running.shutdown(Duration::from_secs(9)).await;
            let listener = TcpListener::bind(address).unwrap();
            running = serve(listener, Arc::new(Scripted::default()), Limits::default(), Spawn::Global).unwrap();
        }
    });
}

/// A raw connection and what a hostile client can do with it.
struct Raw(TcpStream);

impl Raw {
    fn new(server: &Server) -> Raw {
        let socket = TcpStream::connect(server.local_addr()).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Raw(socket)
    }

    fn frame(&mut self, call: u64, kind: Kind, body: &[u8]) {
        self.claim(call, kind, body.len() as u64);
        self.0.write_all(body).unwrap();
    }

    /// A frame whose body is said to have `len` bytes, and does not come.
    fn claim(&mut self, call: u64, kind: Kind, len: u64) {
        self.0.write_all(&Header { call, kind }.to_bytes(len).unwrap()).unwrap();
    }

    /// The next frame that is no sign of life; `None` when the server has closed the connection.
    fn next(&mut self) -> Option<(u64, Kind)> {
        loop {
            let mut prefix = [0; PREFIX_LEN];
            self.0.read_exact(&mut prefix).ok()?;
            let prefix = Prefix::parse(&prefix, &Limits::default()).unwrap();
            let mut header = vec![0; prefix.header_len];
            self.0.read_exact(&mut header).ok()?;
            self.0.read_exact(&mut vec![0; prefix.body_len as usize]).ok()?;
            let header = Header::parse(&header).unwrap();
            if !matches!(header.kind, Kind::Ping | Kind::Pong) {
                return Some((header.call, header.kind));
            }
        }
    }

    /// The code of the error that comes next, of this call, and whether the connection stands.
    fn refused(&mut self, call: u64) -> Code {
        match self.next() {
            Some((at, Kind::Error(wrong))) if at == call => Status::from(wrong).code(),
            other => panic!("not refused: {other:?}"),
        }
    }

    fn is_closed(&mut self) -> bool {
        self.next().is_none()
    }
}

fn kind(method: u8, message: u64, payloads: &[u64]) -> Kind {
    Kind::Request { method, timeout_ms: None, parts: Parts { message, payloads: payloads.to_vec() } }
}

/// Frames that lie: each is answered with the right code, and where the stream makes no sense any more, closed.
#[test]
fn hostile_frames() {
    let (service, server) = server(Limits::default());
    let run = Method::RunCallable as u8;
    let hang = encode_request(&request(Script::Hang, feed(2000)), Layout::Apart).unwrap();
    let message = hang.message.len() as u64;

    // Calls that are refused; the connection goes on.
    let mut raw = Raw::new(&server);
    raw.frame(1, kind(255, 0, &[]), &[]);
    assert_eq!(raw.refused(1), Code::InvalidArgument);
    raw.frame(2, kind(run, message, &[]), &hang.message);
    assert_eq!(raw.refused(2), Code::InvalidArgument, "fewer payloads than tensors");
    raw.frame(3, kind(run, message, &[2000, 3]), &[&hang.message[..], &[0; 2003]].concat());
    assert_eq!(raw.refused(3), Code::InvalidArgument, "more payloads than tensors");
    raw.frame(4, kind(run, message, &[1999]), &[&hang.message[..], &[0; 1999]].concat());
    assert_eq!(raw.refused(4), Code::InvalidArgument, "a payload of a wrong length");
    raw.frame(5, kind(run, 3, &[]), &[0xff; 3]);
    assert_eq!(raw.refused(5), Code::InvalidArgument, "no message");
    raw.frame(6, kind(run, 1 << 60, &[]), &[0; 10]);
    assert_eq!(raw.refused(6), Code::ResourceExhausted, "a message of 2^60 bytes");
    raw.frame(7, kind(run, 0, &[u64::MAX; 3]), &[0; 10]);
    assert_eq!(raw.refused(7), Code::ResourceExhausted, "payloads of 2^64 bytes");
    raw.frame(8, kind(run, 0, &[0; 5000]), &[]);
    assert_eq!(raw.refused(8), Code::ResourceExhausted, "too many payloads");
    raw.frame(77, Kind::More, &[0; 100]);
    raw.frame(78, Kind::Cancel, &[0; 100]);
    raw.frame(0, Kind::Goodbye, &[0; 100]);
    raw.frame(9, kind(run, 0, &[]), &[]);
    assert!(matches!(raw.next(), Some((9, Kind::Reply { .. }))), "an empty message is an echo of nothing");
    assert_eq!(service.alive(), 0);

    // A stream that makes no sense.
    let whole = [&hang.message[..], &[0; 2000]].concat();
    let cases: [(&str, &dyn Fn(&mut Raw), Code); 7] = [
        ("no frame", &|raw| raw.0.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap(), Code::InvalidArgument),
        ("another version", &|raw| raw.0.write_all(b"R\x09\0\0\0\0\0\0\0\0\0\0").unwrap(), Code::Unimplemented),
        ("a body of 2^60 bytes", &|raw| raw.claim(1, Kind::Ping, 1 << 60), Code::ResourceExhausted),
        ("a body beyond the parts", &|raw| raw.frame(1, kind(run, 10, &[]), &[0; 11]), Code::InvalidArgument),
        (
            "an answer",
            &|raw| raw.frame(1, Kind::Reply { method: run, parts: Parts::default() }, &[]),
            Code::InvalidArgument,
        ),
        ("call 0", &|raw| raw.frame(0, kind(run, 0, &[]), &[]), Code::InvalidArgument),
        (
            "one number for two calls",
            &|raw| {
                raw.frame(1, kind(run, message, &[2000]), &whole);
                raw.frame(1, kind(run, message, &[2000]), &whole);
            },
            Code::InvalidArgument,
        ),
    ];
    for (name, send, code) in cases {
        let mut raw = Raw::new(&server);
        send(&mut raw);
        assert_eq!(raw.refused(0), code, "{name}");
        assert!(raw.is_closed(), "{name}");
    }
    smol::block_on(async {
        service.until(|service| service.alive() == 0).await;
        is_well(&server).await;
    });
}

/// Gigabytes that are announced and never sent: charged and refused beyond the budget, and no memory is taken.
#[test]
fn announced_and_not_sent() {
    let mut limits = Limits::default();
    limits.bytes_in_flight_per_peer_max = 3 << 30;
    let (_, server) = server(limits);
    let before = resident();
    let mut raw = Raw::new(&server);
    for call in 1..=10 {
        raw.claim(call, kind(Method::RunCallable as u8, 0, &[1 << 30]), 0);
    }
    for call in 4..=10 {
        // Somewhat less than three fit, with their headers.
        assert_eq!(raw.refused(call - 1), Code::ResourceExhausted);
    }
    assert_eq!(raw.refused(10), Code::ResourceExhausted);
    assert!(server.bytes_held() > 2 << 30);
    assert!(resident().saturating_sub(before) < 64 << 20, "memory was taken for bytes that did not come");
    smol::block_on(async {
        let channel = TcpChannel::connect(&server.url()).await.unwrap();
        call(&channel, Script::Echo, feed(1 << 20), 60_000).await.unwrap();
    });
    drop(raw);
    smol::block_on(is_well(&server));
}

/// Bytes of memory that this process has; 0 where the system does not say.
fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    pages.and_then(|text| text.split(' ').nth(1)?.parse::<usize>().ok()).unwrap_or(0) * 4096
}

/// A client that calls and never reads is closed, not buffered for.
#[test]
fn answers_not_taken() {
    let mut limits = Limits::default();
    limits.stall_ms_max = 300;
    limits.ping_ms = 50;
    let (_, server) = server(limits);
    let mut raw = Raw::new(&server);
    let echo = encode_request(&request(Script::Echo, feed(4 << 20)), Layout::Apart).unwrap();
    let parts = [&echo.message[..], &echo.payloads[0][..]].concat();
    let start = Instant::now();
    raw.0.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
    for call in 1..100 {
        let header = Header { call, kind: kind(Method::RunCallable as u8, echo.message.len() as u64, &[4 << 20]) };
        let sent =
            raw.0.write_all(&header.to_bytes(parts.len() as u64).unwrap()).and_then(|()| raw.0.write_all(&parts));
        if sent.is_err() {
            break;
        }
    }
    // Another client is served, until the server has lost patience with the first.
    smol::block_on(async {
        let channel = TcpChannel::connect(&server.url()).await.unwrap();
        while server.connections() > 1 {
            call(&channel, Script::Echo, Tensor::scalar(1), 60_000).await.unwrap();
            assert!(start.elapsed() < Duration::from_secs(60), "the connection stands");
        }
        is_well(&server).await;
    });
}
