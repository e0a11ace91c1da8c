//! TCP: calls over real sockets.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use runstep::Code;
use runstep::service::*;
use runstep::tensor::Tensor;
use runstep_tcp::{Limits, Spawn, TcpChannel, serve};

struct Echo;

impl Service for Echo {
    fn call(&self, request: Request, _: CallOptions) -> CallFuture {
        Box::pin(async move {
            match request {
                Request::RunCallable(r) if r.handle == 1 => std::future::pending().await,
                Request::RunCallable(r) if r.handle == 2 => {
                    smol::future::yield_now().await;
                    Ok(Response::RunCallable(RunCallableResponse { fetches: r.feeds, ..Default::default() }))
                }
                Request::RunCallable(r) => {
                    Ok(Response::RunCallable(RunCallableResponse { fetches: r.feeds, ..Default::default() }))
                }
                _ => Ok(Response::Reset),
            }
        })
    }
}

fn run(handle: i64, tensor: &Tensor) -> Request {
    Request::RunCallable(RunCallableRequest { handle, feeds: vec![tensor.clone()], ..Default::default() })
}

#[test]
fn echo() {
    smol::block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = serve(listener, Arc::new(Echo), Limits::default(), Spawn::Global).unwrap();
        let channel = TcpChannel::connect(&server.url()).await.unwrap();
        for elements in [1, 100, 1000, 300_000, 20_000_000] {
            let tensor = Tensor::from_slice(&[elements], &vec![1.5f32; elements]).unwrap();
            for handle in [0, 2] {
                let answer = channel.call(run(handle, &tensor), CallOptions::default()).await.unwrap();
                let Response::RunCallable(answer) = answer else { panic!() };
                assert_eq!(answer.fetches[0].bytes(), tensor.bytes());
            }
        }
        let options = CallOptions { timeout_ms: Some(30) };
        let late = channel.call(run(1, &Tensor::scalar(1f32)), options).await.unwrap_err();
        assert_eq!(late.code(), Code::DeadlineExceeded);
        server.shutdown(Duration::from_secs(1)).await;
        let gone = channel.call(run(0, &Tensor::scalar(1f32)), CallOptions::default()).await.unwrap_err();
        assert_eq!(gone.code(), Code::Unavailable);
        assert_eq!(channel.bytes_held(), 0);
    });
}
