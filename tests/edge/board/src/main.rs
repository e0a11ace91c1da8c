//! A master on a Cortex-M: fixed heap, no operating system. It opens a session on a small graph, trains it, and checks
//! the answers, the errors, and what memory it took.
#![no_std]
#![no_main]

extern crate alloc;

mod heap;
mod model;

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::panic::PanicInfo;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use cortex_m as _;
use cortex_m_rt::entry;
use cortex_m_semihosting::debug::{self, EXIT_FAILURE, EXIT_SUCCESS};
use cortex_m_semihosting::hprintln;
use runstep::host::NoHost;
use runstep::service::{
    CallOptions, CallableOptions, CloseSessionRequest, CreateSessionRequest, Request, Response, RunStepRequest, Service,
};
use runstep::session::{MasterOptions, Server};
use runstep::tensor::Tensor;
use runstep::{Code, Status};

#[entry]
fn main() -> ! {
    heap::init();
    let ok = train().unwrap_or_else(|status| {
        hprintln!("board: {}", status);
        false
    });
    hprintln!("figure edge_board_heap_size {} bytes", heap::SIZE);
    hprintln!("figure edge_board_heap_high_water {} bytes", heap::high_water());
    hprintln!("board: {}", if ok { "ok" } else { "FAILED" });
    exit(ok)
}

/// Points of the line that is to be found: 2x + 1.
const POINTS: [(f32, f32); 4] = [(-1.0, -1.0), (0.0, 1.0), (0.5, 2.0), (1.5, 4.0)];

fn train() -> Result<bool, Status> {
    let registry = Arc::new(model::registry()?);
    let line = model::line(&registry, 0.3)?;
    let mut options = MasterOptions::new(registry);
    options.sessions_max = 2;
    options.programs_max = 8;
    options.request_ids_max = 16;
    options.session_bytes_max = Some(64 * 1024);
    let server = Server::new(options, Arc::new(NoHost))?;
    let session = create(&server, line.graph)?;
    hprintln!("figure edge_board_heap_session {} bytes", heap::held());

    // Before its variables are set a step fails, and the session lives on.
    let early = step(&server, &session, &[], &["prediction:0"], &[]).err().map(|status| status.code());
    step(&server, &session, &[], &[], &[&line.initialise])?;
    for (x, y) in POINTS.into_iter().cycle().take(120) {
        step(&server, &session, &[("x:0", x), ("y:0", y)], &[], &[&line.train])?;
    }
    let found = step(&server, &session, &[("x:0", 10.0)], &["prediction:0", "slope:0", "offset:0"], &[])?;
    let close = |got: f32, want: f32| (got - want).abs() < 1e-3;
    let right = matches!(found[..], [p, s, o] if close(p, 21.0) && close(s, 2.0) && close(o, 1.0));
    if !right {
        hprintln!("board: found {:?}", found);
    }

    let steady = steady(&server, &session)?;
    let held = heap::held();
    call(&server, Request::CloseSession(CloseSessionRequest { session_handle: session.clone() }))?;
    hprintln!("figure edge_board_heap_freed {} bytes", held - heap::held());
    let late = step(&server, &session, &[], &["slope:0"], &[]).err().map(|status| status.code());
    hprintln!("board: steps before and after the session failed with {:?} and {:?}", early, late);
    Ok(right && steady && early.is_some() && late == Some(Code::Aborted))
}

/// A callable gives the right answer and takes no memory once it is warm.
fn steady(server: &Server, session: &str) -> Result<bool, Status> {
    let options = CallableOptions {
        feeds: [String::from("x:0")].into(),
        fetches: [String::from("prediction:0")].into(),
        ..CallableOptions::default()
    };
    let mut callable = wait(server.local_callable(session, options))??;
    let mut answer = [Tensor::scalar(0.0f32)];
    let mut before = 0;
    for run in 0..50 {
        if run == 10 {
            before = heap::calls();
        }
        callable.run(&[Tensor::scalar(run as f32)], &mut answer)?;
        if (answer[0].to_scalar::<f32>()? - (2.0 * run as f32 + 1.0)).abs() > 0.05 {
            hprintln!("board: callable answers {:?}", answer[0].to_scalar::<f32>());
            return Ok(false);
        }
    }
    hprintln!("figure edge_board_callable_allocations {} calls", heap::calls() - before);
    Ok(heap::calls() == before)
}

fn create(server: &Server, graph: runstep::service::GraphSpec) -> Result<String, Status> {
    let request = CreateSessionRequest { graph, ..CreateSessionRequest::default() };
    match call(server, Request::CreateSession(request))? {
        Response::CreateSession(created) => Ok(created.session_handle),
        _ => Err(Status::internal("the answer is to another call")),
    }
}

/// A step of scalars.
fn step(
    server: &Server,
    session: &str,
    feeds: &[(&str, f32)],
    fetches: &[&str],
    targets: &[&str],
) -> Result<Vec<f32>, Status> {
    let names = |list: &[&str]| list.iter().map(|&name| name.into()).collect();
    let request = RunStepRequest {
        session_handle: session.into(),
        feeds: feeds.iter().map(|&(name, value)| (name.into(), Tensor::scalar(value))).collect(),
        fetches: names(fetches),
        targets: names(targets),
        ..RunStepRequest::default()
    };
    match call(server, Request::RunStep(request))? {
        Response::RunStep(done) => done.tensors.iter().map(|(_, tensor)| tensor.to_scalar()).collect(),
        _ => Err(Status::internal("the answer is to another call")),
    }
}

fn call(server: &Server, request: Request) -> Result<Response, Status> {
    wait(server.call(request, CallOptions::default()))?
}

/// The executor of a program with one task and no interrupts: it polls. Nothing here waits for the outside, so a future
/// that is pending a thousand times is one that hangs.
fn wait<F: Future>(future: F) -> Result<F::Output, Status> {
    let mut future = pin!(future);
    for _ in 0..1000 {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return Ok(output);
        }
    }
    Err(Status::internal("a call hangs"))
}

fn exit(ok: bool) -> ! {
    debug::exit(if ok { EXIT_SUCCESS } else { EXIT_FAILURE });
    loop {
        cortex_m::asm::wfi();
    }
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    hprintln!("board: {}", info);
    exit(false)
}
