//! A small call over TCP, beside a bare echo of as many bytes over a socket of the same kind on the same executor.
//!
//! `cargo bench -p runstep-tcp --bench call`; the last lines are `figure NAME VALUE UNIT`, medians of interleaved rounds.

use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Instant;

use runstep::service::suite::Scripted;
use runstep::service::*;
use runstep::tensor::Tensor;
use runstep_tcp::{Limits, Spawn, TcpChannel, serve};
use smol::Async;
use smol::io::{AsyncReadExt, AsyncWriteExt};

const ROUNDS: usize = 100;
const BATCH: u32 = 50;
/// Bytes of a call of two scalars with its frame, more or less.
const ECHO_LEN: usize = 64;

fn main() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = serve(listener, Arc::new(Scripted::default()), Limits::default(), Spawn::Global).unwrap();
    let channel = smol::block_on(TcpChannel::connect(&server.url())).unwrap();
    let mut client = echo();

    let mut bare = Vec::new();
    let mut tcp = Vec::new();
    for _ in 0..ROUNDS {
        bare.push(batch(|| {
            smol::block_on(async {
                let mut bytes = [7; ECHO_LEN];
                client.write_all(&bytes).await.unwrap();
                client.read_exact(&mut bytes).await.unwrap();
            });
        }));
        tcp.push(batch(|| {
            let feeds = vec![Tensor::scalar(1.5f32), Tensor::scalar(2.5f32)];
            let request = Request::RunCallable(RunCallableRequest { feeds, ..Default::default() });
            smol::block_on(channel.call(request, CallOptions::default())).unwrap();
        }));
    }
    let (bare, tcp) = (median(bare), median(tcp));
    println!("figure transport_tcp_echo {bare:.2} us");
    println!("figure transport_tcp {tcp:.2} us");
    println!("figure transport_tcp_ratio {:.2} x", tcp / bare);
}

/// The client's socket to a task that sends back what it gets.
fn echo() -> Async<TcpStream> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (server, _) = listener.accept().unwrap();
    for socket in [&client, &server] {
        socket.set_nodelay(true).unwrap();
    }
    let mut server = Async::new(server).unwrap();
    smol::spawn(async move {
        let mut bytes = [0; ECHO_LEN];
        while server.read_exact(&mut bytes).await.is_ok() && server.write_all(&bytes).await.is_ok() {}
    })
    .detach();
    Async::new(client).unwrap()
}

fn batch(mut round_trip: impl FnMut()) -> f64 {
    let start = Instant::now();
    (0..BATCH).for_each(|_| round_trip());
    start.elapsed().as_secs_f64() * 1e6 / f64::from(BATCH)
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}
