//! Sessions as programs use them: a server of this process, clients on several threads, and a clock that the test turns.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;

use runstep::client::Client;
use runstep::graph::{AttrValue, GraphBuilder, NodeSpec};
use runstep::host::{Host, Time};
use runstep::ops::{ALL, Op, Registry, kernel};
use runstep::service::{
    CallOptions, CallableOptions, ExtendSessionRequest, GraphSpec, Request, Response, RunOptions, RunStepRequest,
    Service, SessionConfig,
};
use runstep::session::{MasterOptions, Server};
use runstep::tensor::{DType, Tensor};
use runstep::{Code, Status};
use runstep_host::{StdHost, block_on};

/// An op whose kernel has a fault.
static FAULTY: Op = Op::new("Faulty", "x: float -> y: float", "").kernel(&[], |_| {
    kernel(|ctx| {
        assert!(ctx.input(0).to_scalar::<f32>()? < 0.0, "not this one");
        ctx.set_scalar(0, 1.0f32);
        Ok(())
    })
});

fn registry() -> Arc<Registry> {
    static OWN: &[&Op] = &[&FAULTY];
    let families: Vec<&[&'static Op]> = ALL.iter().copied().chain([OWN]).collect();
    Arc::new(Registry::new(&families).unwrap())
}

fn server_with(change: impl FnOnce(&mut MasterOptions), host: Arc<dyn Host>) -> Server {
    let mut options = MasterOptions::new(registry());
    change(&mut options);
    Server::new(options, host).unwrap()
}

fn server() -> Server {
    server_with(|_| {}, Arc::new(StdHost::with_threads(1).unwrap()))
}

fn client(server: &Server) -> Client {
    Client::new(Arc::new(server.clone()))
}

/// `x`, `y` placeholders, `s` their sum, `m` twice that; a variable `v` with `init` and `inc` by x; `fault`.
fn graph() -> GraphSpec {
    let registry = registry();
    let mut g = GraphBuilder::new(&registry);
    let x = g.placeholder("x", DType::Float, &[]).unwrap();
    let y = g.placeholder("y", DType::Float, &[]).unwrap();
    let s = g.op1("AddV2", "s", &[&x, &y], vec![]).unwrap();
    g.op1("AddV2", "m", &[&s, &s], vec![]).unwrap();
    let v = g.variable("v", DType::Float, &[]).unwrap();
    let zero = g.constant("zero", Tensor::scalar(0f32)).unwrap();
    g.op1("Assign", "init", &[&v, &zero], vec![]).unwrap();
    g.op1("AssignAdd", "inc", &[&v, &x], vec![]).unwrap();
    g.op1("Faulty", "fault", &[&x], vec![]).unwrap();
    g.take_nodes().into()
}

/// A loop that never ends; `endless` is its exit.
fn endless() -> Vec<NodeSpec> {
    let node = |name: &str, op: &str, inputs: &[&str], attrs: Vec<(&str, AttrValue)>| NodeSpec {
        name: name.into(),
        op: op.into(),
        inputs: inputs.iter().map(ToString::to_string).collect(),
        attrs: attrs.into_iter().map(|(name, value)| (name.into(), value)).collect(),
        ..NodeSpec::default()
    };
    let t = || ("T", AttrValue::from(DType::Bool));
    vec![
        node("yes", "Const", &[], vec![("dtype", DType::Bool.into()), ("value", Tensor::scalar(true).into())]),
        node("enter", "Enter", &["yes"], vec![t(), ("frame_name", "loop".into())]),
        node("merge", "Merge", &["enter", "next"], vec![t(), ("N", 2i64.into())]),
        node("cond", "LoopCond", &["merge"], vec![]),
        node("switch", "Switch", &["merge", "cond"], vec![t()]),
        node("next", "NextIteration", &["switch:1"], vec![t()]),
        node("endless", "Exit", &["switch"], vec![t()]),
    ]
}

fn with_loop() -> GraphSpec {
    let mut graph = graph();
    graph.nodes.extend(endless());
    graph
}

fn scalar(value: f32) -> Tensor {
    Tensor::scalar(value)
}

fn config(isolated: bool) -> SessionConfig {
    SessionConfig { isolate_session_state: isolated, ..SessionConfig::default() }
}

/// Variables belong to the server, survive sessions, and are cleared with their container; isolated sessions have their
/// own.
#[test]
fn sharing_and_isolation() {
    let server = server();
    let client = client(&server);
    block_on(async {
        let a = client.create_session(graph(), config(false)).await?;
        let b = client.create_session(graph(), config(false)).await?;
        let alone = client.create_session(graph(), config(true)).await?;
        assert_eq!(a.run(&[], &["v"], &[]).await.unwrap_err().code(), Code::FailedPrecondition);
        a.run(&[], &[], &["init"]).await?;
        let inc = a.run(&[("x", &scalar(5.0))], &["inc:0"], &[]).await?;
        assert_eq!(inc.scalar::<f32>("inc:0")?, 5.0);
        assert_eq!(b.run(&[], &["v:0"], &[]).await?.scalar::<f32>("v:0")?, 5.0);
        assert_eq!(alone.run(&[], &["v"], &[]).await.unwrap_err().code(), Code::FailedPrecondition);
        alone.run(&[], &[], &["init"]).await?;
        assert_eq!(alone.run(&[], &["v"], &[]).await?.scalar::<f32>("v")?, 0.0);
        a.close().await?;
        assert_eq!(a.close().await.unwrap_err().code(), Code::Aborted);
        let again = client.create_session(graph(), config(false)).await?;
        assert_eq!(again.run(&[], &["v"], &[]).await?.scalar::<f32>("v")?, 5.0, "it survives Close");
        client.reset(&["other"]).await?;
        assert_eq!(b.run(&[], &["v"], &[]).await.unwrap_err().code(), Code::Aborted, "any Reset closes all");
        let after = client.create_session(graph(), config(false)).await?;
        assert_eq!(after.run(&[], &["v"], &[]).await?.scalar::<f32>("v")?, 5.0, "and clears only what it names");
        client.reset(&[]).await?;
        let last = client.create_session(graph(), config(false)).await?;
        assert_eq!(last.run(&[], &["v"], &[]).await.unwrap_err().code(), Code::FailedPrecondition);
        Ok::<(), Status>(())
    })
    .unwrap();
}

/// Of extensions that expect the same version exactly one is made; the others are told both versions.
#[test]
fn concurrent_extensions() {
    let server = server();
    let session = block_on(client(&server).create_session(graph(), config(false))).unwrap();
    let threads = 8;
    let start = Barrier::new(threads);
    let results: Vec<Result<Response, Status>> = thread::scope(|scope| {
        let extend = |i: usize| {
            let (server, session, start) = (&server, &session, &start);
            scope.spawn(move || {
                let node = NodeSpec { name: format!("n{i}"), op: "NoOp".into(), ..NodeSpec::default() };
                let request = ExtendSessionRequest {
                    session_handle: session.handle().into(),
                    graph: vec![node].into(),
                    current_graph_version: 0,
                };
                start.wait();
                block_on(Service::call(server, Request::ExtendSession(request), CallOptions::default()))
            })
        };
        let threads: Vec<_> = (0..threads).map(extend).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    let won: Vec<usize> = (0..threads).filter(|&i| results[i].is_ok()).collect();
    assert_eq!(won.len(), 1, "{results:?}");
    for error in results.iter().filter_map(|r| r.as_ref().err()) {
        assert_eq!(error.code(), Code::Aborted);
        assert!(error.message().contains("version is 1") && error.message().contains("expected 0"), "{error}");
    }
    for i in 0..threads {
        let name = format!("n{i}");
        let ran = block_on(session.run(&[], &[], &[&name])).map_err(|e| e.code()).map(|_| ());
        assert_eq!(ran, if won[0] == i { Ok(()) } else { Err(Code::NotFound) });
    }
}

/// The same request many times at once counts once.
#[test]
fn one_request_id_counts_once() {
    let server = server();
    let session = block_on(client(&server).create_session(graph(), config(false))).unwrap();
    block_on(session.run(&[], &[], &["init"])).unwrap();
    let codes: Vec<Result<(), Code>> = thread::scope(|scope| {
        let call = |_| {
            let request = RunStepRequest {
                session_handle: session.handle().into(),
                feeds: vec![("x".into(), scalar(1.0))],
                targets: vec!["inc".into()],
                request_id: 77,
                ..RunStepRequest::default()
            };
            let server = &server;
            scope.spawn(move || {
                let reply = block_on(Service::call(server, Request::RunStep(request), CallOptions::default()));
                reply.map(|_| ()).map_err(|e| e.code())
            })
        };
        let threads: Vec<_> = (0..8).map(call).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert_eq!(codes.iter().filter(|c| c.is_ok()).count(), 1);
    assert!(codes.iter().all(|c| matches!(c, Ok(()) | Err(Code::Aborted))));
    assert_eq!(block_on(session.run(&[], &["v"], &[])).unwrap().scalar::<f32>("v"), Ok(1.0));
}

/// Runs of one session on several threads do not disturb each other; one new signature is compiled once.
#[test]
fn concurrent_runs() {
    let server = server();
    let session = block_on(client(&server).create_session(graph(), config(false))).unwrap();
    let start = Barrier::new(4);
    thread::scope(|scope| {
        for i in 0..4 {
            let (session, start) = (session.clone(), &start);
            scope.spawn(move || {
                start.wait();
                for n in 0..250 {
                    let x = scalar((i * 1000 + n) as f32);
                    let got = block_on(session.run(&[("x", &x), ("y", &x)], &["m"], &[])).unwrap();
                    assert_eq!(got.scalar::<f32>("m"), Ok((i * 1000 + n) as f32 * 4.0));
                }
            });
        }
    });
    let usage = server.master().session_usage(session.handle()).unwrap();
    assert_eq!((usage.programs, usage.signatures, usage.running_steps), (1, 1, 0));
}

/// An endless step ends by each of its timeouts, with DEADLINE_EXCEEDED, and the session goes on.
#[test]
fn timeouts() {
    let server = server();
    let plain = block_on(client(&server).create_session(with_loop(), config(false))).unwrap();
    let limited = SessionConfig { operation_timeout_in_ms: 20, ..SessionConfig::default() };
    let limited = block_on(client(&server).create_session(with_loop(), limited)).unwrap();
    let hasty = block_on(client(&server).with_timeout_ms(Some(20)).create_session(with_loop(), config(false))).unwrap();
    let options = || RunOptions { timeout_in_ms: 20, ..RunOptions::default() };
    let run = |session: &runstep::client::Session, options| block_on(session.run_with(&[], &["endless"], &[], options));
    let cases = [
        ("the run's", run(&plain, options())),
        ("the session's", run(&limited, RunOptions::default())),
        ("the call's", run(&hasty, RunOptions { timeout_in_ms: 600_000, ..RunOptions::default() })),
    ];
    for (what, result) in cases {
        assert_eq!(result.unwrap_err().code(), Code::DeadlineExceeded, "{what}");
    }
    let callable = CallableOptions { fetches: vec!["endless".into()], run_options: options(), ..Default::default() };
    let callable = block_on(plain.callable(callable)).unwrap();
    assert_eq!(block_on(callable.run(&[])).unwrap_err().code(), Code::DeadlineExceeded);
    for session in [&plain, &limited, &hasty] {
        let one = scalar(1.0);
        assert!(block_on(session.run(&[("x", &one), ("y", &one)], &["s"], &[])).is_ok());
        assert_eq!(server.master().session_usage(session.handle()).unwrap().running_steps, 0);
    }
}

/// Steps that time out leave nothing behind, however many.
#[test]
fn timed_out_steps_do_not_pile_up() {
    let server = server();
    let session = block_on(client(&server).create_session(with_loop(), config(false))).unwrap();
    for _ in 0..300 {
        let options = RunOptions { timeout_in_ms: 1, ..RunOptions::default() };
        let error = block_on(session.run_with(&[], &["endless"], &[], options)).unwrap_err();
        assert_eq!(error.code(), Code::DeadlineExceeded);
    }
    let usage = server.master().session_usage(session.handle()).unwrap();
    assert_eq!((usage.running_steps, usage.programs), (0, 1));
}

/// Closing the session ends its running steps with CANCELLED and waits for them; so does a Reset and a shutdown.
#[test]
fn close_cancels_running_steps() {
    for how in ["close", "reset", "shut down"] {
        let server = server();
        let client = client(&server);
        let session = block_on(client.create_session(with_loop(), config(false))).unwrap();
        let runner = session.clone();
        let step = thread::spawn(move || block_on(runner.run(&[], &["endless"], &[])));
        while server.master().session_usage(session.handle()).unwrap().running_steps == 0 {
            thread::yield_now();
        }
        match how {
            "close" => block_on(session.close()).unwrap(),
            "reset" => block_on(client.reset(&[])).unwrap(),
            _ => block_on(server.shut_down()),
        }
        let error = step.join().unwrap().unwrap_err();
        assert_eq!(error.code(), Code::Cancelled, "{how}: {error}");
        assert_eq!(server.master().num_sessions(), 0);
    }
}

/// A call that is dropped takes its step along.
#[test]
fn a_dropped_call_ends_its_step() {
    let server = server();
    let session = block_on(client(&server).create_session(with_loop(), config(false))).unwrap();
    let usage = || server.master().session_usage(session.handle()).unwrap();
    let request = RunStepRequest {
        session_handle: session.handle().into(),
        fetches: vec!["endless".into()],
        ..RunStepRequest::default()
    };
    let mut call = Service::call(&server, Request::RunStep(request), CallOptions::default());
    assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    assert_eq!(usage().running_steps, 1);
    drop(call);
    assert_eq!(usage().running_steps, 0);
    block_on(session.close()).unwrap();
}

/// A kernel that panics ends its call with INTERNAL; the session and the server go on.
#[test]
fn panics_are_contained() {
    let server = server();
    let session = block_on(client(&server).create_session(graph(), config(false))).unwrap();
    let one = scalar(1.0);
    for _ in 0..3 {
        let error = block_on(session.run(&[("x", &one)], &["fault"], &[])).unwrap_err();
        assert_eq!(error.code(), Code::Internal);
    }
    let partial = block_on(session.partial_run(&["x"], &["fault"], &[])).unwrap();
    assert_eq!(block_on(partial.run(&[("x", &one)], &["fault"])).unwrap_err().code(), Code::Internal);
    assert_eq!(block_on(partial.run(&[], &[])).unwrap_err().code(), Code::InvalidArgument, "it is over");
    let fine = scalar(-1.0);
    let outputs = block_on(session.run(&[("x", &fine)], &["fault"], &[])).unwrap();
    assert_eq!(outputs.scalar::<f32>("fault"), Ok(1.0));
    let usage = server.master().session_usage(session.handle()).unwrap();
    assert_eq!((usage.running_steps, usage.partial_runs), (0, 0));
    block_on(session.close()).unwrap();
}

/// A thousand partial runs through the client, each in two pieces.
#[test]
fn partial_runs() {
    let server = server();
    let session = block_on(client(&server).create_session(graph(), config(false))).unwrap();
    block_on(async {
        for i in 0..1000 {
            let run = session.partial_run(&["x", "y"], &["s", "m"], &[]).await?;
            assert!(run.run(&[("x", &scalar(i as f32))], &[]).await?.is_empty());
            let got = run.run(&[("y", &scalar(1.0))], &["m"]).await?;
            assert_eq!(got.scalar::<f32>("m")?, 2.0 * (i + 1) as f32);
            assert_eq!(run.run(&[], &["s"]).await?.scalar::<f32>("s")?, (i + 1) as f32);
            assert_eq!(run.run(&[], &["s"]).await.unwrap_err().code(), Code::InvalidArgument);
        }
        Ok::<(), Status>(())
    })
    .unwrap();
    let usage = server.master().session_usage(session.handle()).unwrap();
    assert_eq!((usage.partial_runs, usage.programs, usage.running_steps), (0, 1, 0));
}

/// Requests of one partial run at once: each gets its own, and an endless one ends when the other is given up.
#[test]
fn concurrent_partial_requests() {
    let server = server();
    let session = block_on(client(&server).create_session(with_loop(), config(false))).unwrap();
    for _ in 0..50 {
        let run = block_on(session.partial_run(&["x", "y"], &["s", "fault"], &[])).unwrap();
        let (x, y) = (scalar(-1.0), scalar(4.0));
        thread::scope(|scope| {
            let fault = scope.spawn(|| block_on(run.run(&[("x", &x)], &["fault"])));
            let sum = loop {
                // Until the other request has fed x, s cannot be computed; that leaves the run as it is.
                match block_on(run.run(&[("y", &y)], &["s"])) {
                    Err(error) if error.message().contains("can't be computed") => thread::yield_now(),
                    other => break other,
                }
            };
            assert_eq!(sum.unwrap().scalar::<f32>("s"), Ok(3.0));
            assert_eq!(fault.join().unwrap().unwrap().scalar::<f32>("fault"), Ok(1.0));
        });
    }
    let run = block_on(session.partial_run(&["x"], &["endless", "fault"], &[])).unwrap();
    let x = scalar(-1.0);
    let mut cx = Context::from_waker(Waker::noop());
    let mut stuck = Box::pin(run.run(&[], &["endless"]));
    assert!(stuck.as_mut().poll(&mut cx).is_pending());
    let feeds = [("x", &x)];
    let mut other = Box::pin(run.run(&feeds, &["fault"]));
    let _ = other.as_mut().poll(&mut cx);
    drop(stuck);
    assert!(matches!(other.as_mut().poll(&mut cx), Poll::Ready(Err(e)) if e.code() == Code::Cancelled));
    drop(other);
    let usage = server.master().session_usage(session.handle()).unwrap();
    assert_eq!((usage.partial_runs, usage.running_steps), (0, 0));
}

/// A clock that the test turns, and that goes on by a tenth of a millisecond a look, with alarms.
#[derive(Default)]
struct Clock {
    nanos: AtomicU64,
    alarms: Mutex<Vec<(Time, Waker)>>,
}

impl Clock {
    fn turn(&self, seconds: u64) {
        let now = Time(self.nanos.fetch_add(seconds * 1_000_000_000, Ordering::SeqCst) + seconds * 1_000_000_000);
        let due: Vec<_> = self.alarms.lock().unwrap().extract_if(.., |(at, _)| *at <= now).collect();
        due.into_iter().for_each(|(_, waker)| waker.wake());
    }
}

impl Host for Clock {
    fn now(&self) -> Option<Time> {
        Some(Time(self.nanos.fetch_add(100_000, Ordering::SeqCst)))
    }

    fn wake_at(&self, at: Time, waker: &Waker) {
        self.alarms.lock().unwrap().push((at, waker.clone()));
    }
}

/// Idle sessions are collected by `maintain` alone; a step that runs for very long, and a local callable in use, keep
/// theirs.
#[test]
fn garbage_collection() {
    let clock = Arc::new(Clock::default());
    let server = server_with(|options| options.session_idle_ms_max = 60_000, clock.clone());
    let client = client(&server);
    let create = || block_on(client.create_session(with_loop(), config(false))).unwrap();
    let (idle, busy, used) = (create(), create(), create());
    let mut maintain = Box::pin(server.maintain());
    let mut cx = Context::from_waker(Waker::noop());
    let mut pass = |seconds| {
        clock.turn(seconds);
        assert!(maintain.as_mut().poll(&mut cx).is_pending());
    };
    pass(0);
    let mut step = Box::pin(busy.run(&[], &["endless"], &[]));
    let mut step_cx = Context::from_waker(Waker::noop());
    assert!(step.as_mut().poll(&mut step_cx).is_pending());
    let options = CallableOptions { feeds: vec!["x".into()], targets: vec!["fault".into()], ..Default::default() };
    let mut local = block_on(server.local_callable(used.handle(), options)).unwrap();
    for _ in 0..100 {
        pass(30);
        local.run(&[scalar(-1.0)], &mut []).unwrap();
        assert!(step.as_mut().poll(&mut step_cx).is_pending());
    }
    assert_eq!(server.master().num_sessions(), 2);
    let error = block_on(idle.run(&[], &["v"], &[])).unwrap_err();
    assert!(error.code() == Code::Aborted && error.message().contains("may have been collected"), "{error}");
    drop(step);
    for _ in 0..20 {
        pass(10);
    }
    assert_eq!(server.master().num_sessions(), 0);
    assert_eq!(local.run(&[scalar(-1.0)], &mut []).unwrap_err().code(), Code::FailedPrecondition);
    drop(server);
    drop(client);
    drop((idle, busy, used, local));
    assert!(maintain.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready(), "it ends with the server");
}

/// A callable of the own process gives what the same callable gives over the channel, and ends with its session.
#[test]
fn local_callables() {
    let server = server();
    let session = block_on(client(&server).create_session(with_loop(), config(false))).unwrap();
    let options = |fetches: &[&str]| CallableOptions {
        feeds: vec!["y".into(), "x".into()],
        fetches: fetches.iter().map(ToString::to_string).collect(),
        ..CallableOptions::default()
    };
    let mut local = block_on(server.local_callable(session.handle(), options(&["m", "s", "m:0"]))).unwrap();
    let remote = block_on(session.callable(options(&["m", "s", "m:0"]))).unwrap();
    assert_eq!((local.num_feeds(), local.num_fetches(), remote.num_feeds(), remote.num_fetches()), (2, 3, 2, 3));
    let mut outputs = vec![Tensor::default(); 3];
    for i in 0..10 {
        let feeds = [scalar(1.0), scalar(i as f32)];
        local.run(&feeds, &mut outputs).unwrap();
        let here: Vec<f32> = outputs.iter().map(|t| t.to_scalar().unwrap()).collect();
        let there: Vec<f32> = block_on(remote.run(&feeds)).unwrap().iter().map(|t| t.to_scalar().unwrap()).collect();
        assert_eq!(here, there);
        assert_eq!(here, [2.0 * (i + 1) as f32, (i + 1) as f32, 2.0 * (i + 1) as f32]);
        block_on(local.run_async(&feeds, &mut outputs)).unwrap();
        assert_eq!(outputs[1].to_scalar::<f32>(), Ok((i + 1) as f32));
    }
    assert_eq!(local.run(&[scalar(1.0)], &mut outputs).unwrap_err().code(), Code::InvalidArgument);
    assert_eq!(local.run(&[scalar(1.0), scalar(1.0)], &mut outputs[..2]).unwrap_err().code(), Code::InvalidArgument);
    let wrong = [Tensor::scalar(1i32), scalar(1.0)];
    assert_eq!(local.run(&wrong, &mut outputs).unwrap_err().code(), Code::Internal);
    local.run(&[scalar(1.0), scalar(1.0)], &mut outputs).unwrap();
    let mut fault = block_on(server.local_callable(session.handle(), options(&["fault"]))).unwrap();
    assert_eq!(fault.run(&[scalar(1.0), scalar(1.0)], &mut outputs).unwrap_err().code(), Code::Internal);
    fault.run(&[scalar(1.0), scalar(-1.0)], &mut outputs).unwrap();
    let mut stuck = block_on(server.local_callable(session.handle(), options(&["endless"]))).unwrap();
    let thread = thread::spawn(move || stuck.run(&[scalar(1.0), scalar(1.0)], &mut [Tensor::default()]));
    // Whether the close meets the run before its beginning or in the middle decides the code; it ends in both cases.
    block_on(session.close()).unwrap();
    let code = thread.join().unwrap().unwrap_err().code();
    assert!(matches!(code, Code::Cancelled | Code::FailedPrecondition), "{code}");
    assert_eq!(local.run(&[scalar(1.0), scalar(1.0)], &mut outputs).unwrap_err().code(), Code::FailedPrecondition);
}

/// Sessions come and go without leaving anything; a client that forgets to close begins to.
#[test]
fn sessions_come_and_go() {
    let server = server();
    let client = client(&server);
    for i in 0..1000 {
        let session = block_on(client.create_session(graph(), config(i % 2 == 0))).unwrap();
        let x = scalar(i as f32);
        block_on(session.run(&[("x", &x), ("y", &x)], &["s"], &[])).unwrap();
        if i % 3 == 0 {
            block_on(session.close()).unwrap();
        }
    }
    assert_eq!(server.master().num_sessions(), 0);
}

/// Signatures in many spellings stay within the caches.
#[test]
fn caches_are_bounded() {
    let server = server_with(|options| options.programs_max = 8, Arc::new(StdHost::with_threads(1).unwrap()));
    let session = block_on(client(&server).create_session(graph(), config(false))).unwrap();
    let one = scalar(1.0);
    let tensors = ["x", "x:0", "y", "y:0", "s", "s:0", "m", "m:0", "zero", "zero:0"];
    for a in tensors {
        for b in tensors {
            let feeds = [("x", &one), ("y", &one)];
            let _ = block_on(session.run(&feeds, &[a, b], &["init"]));
            let usage = server.master().session_usage(session.handle()).unwrap();
            assert!(usage.programs <= 8 && usage.signatures <= 8, "{usage:?}");
        }
    }
}
