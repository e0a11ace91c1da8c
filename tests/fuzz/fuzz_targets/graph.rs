//! GraphDefs of any bytes: imported into a session and run, fetch by fetch and all at once, within a small budget and a
//! deadline of a clock that only moves when it is looked at.
#![no_main]

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use runstep::client::{Client, Session};
use runstep::graph::NodeSpec;
use runstep::host::{Host, Time};
use runstep::ops::{ALL, KNOWN, Registry};
use runstep::service::{GraphSpec, RunOptions, SessionConfig};
use runstep::session::{MasterOptions, Server};
use runstep::tensor::{DType, Shape, Str, Tensor};
use runstep::wire::{Allowance, Limits, graph_from_bytes};

/// Bytes that a session, and a step, may take. Small, so that no kernel can have much to do.
const SESSION_BYTES: usize = 1 << 21;
const STEP_BYTES: usize = 1 << 17;
const TIMEOUT_MS: i64 = 2000;
/// Fetches that are run on their own.
const FETCHES_MAX: usize = 6;
/// Elements that a placeholder is fed at most.
const FED_MAX: i64 = 256;

static REGISTRY: LazyLock<Arc<Registry>> =
    LazyLock::new(|| Arc::new(Registry::new(ALL).expect("the ops").with_known(KNOWN)));

/// A millisecond passes whenever somebody looks.
#[derive(Default)]
struct Clock(AtomicU64);

impl Host for Clock {
    fn now(&self) -> Option<Time> {
        Some(Time(0).plus_millis(self.0.fetch_add(1, Ordering::Relaxed)))
    }

    fn entropy(&self, bytes: &mut [u8]) -> bool {
        bytes.fill(7);
        true
    }

    fn wake_at(&self, _at: Time, waker: &Waker) {
        waker.wake_by_ref();
    }
}

fuzz_target!(|data: &[u8]| {
    let limits = Limits { decoded_bytes_max: SESSION_BYTES as u64, ..Limits::default() };
    let allowed = Allowance { limits, budget: None };
    let Ok(graph) = graph_from_bytes(Bytes::copy_from_slice(data), &allowed) else { return };
    let mut options = MasterOptions::new(REGISTRY.clone());
    options.session_bytes_max = Some(SESSION_BYTES);
    options.step_bytes_max = Some(STEP_BYTES);
    let Ok(server) = Server::new(options, Arc::new(Clock::default())) else { return };
    let client = Client::new(Arc::new(server));
    let feeds: Vec<(String, Tensor)> = graph.nodes.iter().filter_map(fed).collect();
    let fetches: Vec<String> = graph.nodes.iter().rev().take(FETCHES_MAX).map(|node| node.name.clone()).collect();
    let _ = drive(run(&client, graph, &feeds, &fetches));
});

async fn run(
    client: &Client,
    graph: GraphSpec,
    feeds: &[(String, Tensor)],
    fetches: &[String],
) -> Result<(), runstep::Status> {
    let session = client.create_session(graph, SessionConfig::default()).await?;
    let feeds: Vec<(&str, &Tensor)> = feeds.iter().map(|(name, value)| (name.as_str(), value)).collect();
    for name in fetches {
        // Twice: the second run finds its program, and the state that the first one left.
        for _ in 0..2 {
            let _ = once(&session, &feeds, &[name]).await;
        }
        let _ = session.run_with(&feeds, &[], &[name], options()).await;
    }
    let all: Vec<&str> = fetches.iter().map(String::as_str).collect();
    let _ = once(&session, &feeds, &all).await;
    session.close().await
}

async fn once(session: &Session, feeds: &[(&str, &Tensor)], fetches: &[&str]) -> Result<(), runstep::Status> {
    session.run_with(feeds, fetches, &[], options()).await.map(drop)
}

fn options() -> RunOptions {
    RunOptions { timeout_in_ms: TIMEOUT_MS, full_trace: true, ..RunOptions::default() }
}

/// What a placeholder is fed: ones of its shape, unknown dimensions being 2.
fn fed(node: &NodeSpec) -> Option<(String, Tensor)> {
    if node.op != "Placeholder" {
        return None;
    }
    let attr = |name: &str| node.attrs.iter().find(|(n, _)| &**n == name).map(|(_, value)| value);
    let dtype = match attr("dtype") {
        Some(runstep::graph::AttrValue::Type(dtype, false)) => *dtype,
        _ => return None,
    };
    let dims = match attr("shape") {
        Some(runstep::graph::AttrValue::Shape(shape)) => shape.dims.clone().unwrap_or_else(|| vec![2, 2]),
        _ => vec![2, 2],
    };
    let dims: Vec<i64> = dims.into_iter().map(|dim| if dim < 0 { 2 } else { dim }).collect();
    let count = dims.iter().try_fold(1i64, |count, &dim| count.checked_mul(dim)).filter(|&count| count <= FED_MAX)?;
    let shape = Shape::from_i64(&dims).ok()?;
    let value = match dtype {
        DType::String => Tensor::from_strings(shape, vec![Str::from_static(b"one"); usize::try_from(count).ok()?]),
        dtype if dtype.is_plain() => {
            let len = shape.num_bytes(dtype.size()).ok()?;
            Tensor::from_bytes(dtype, shape, Bytes::from(vec![1; len]), None)
        }
        _ => return None,
    };
    Some((format!("{}:0", node.name), value.ok()?))
}

/// Polls to the end; the clock's deadline makes sure that there is one.
fn drive<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return output;
        }
    }
}
