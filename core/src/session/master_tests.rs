//! Tests of the master without a driver: requests in, actions out, at moments that the test chooses.

use super::*;
use crate::Code;
use crate::graph::{AttrValue, NodeSpec};
use crate::host::NoHost;
use crate::ops::{Op, Registry, control_flow};
use crate::service::{
    CallableOptions, GraphSpec, MakeCallableRequest, PartialRunSetupRequest, ReleaseCallableRequest,
    RunCallableRequest, RunStepRequest,
};
use crate::session::RunningStep;
use crate::tensor::{DType, Tensor};
use alloc::string::ToString;
use alloc::vec;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

/// Doubles a scalar; stands for arithmetic, which other modules have.
static DOUBLE: Op = Op::new("Double", "x: float -> y: float", "").kernel(&[], |_| {
    crate::ops::kernel(|ctx| {
        let x: f32 = ctx.input(0).to_scalar()?;
        ctx.set_scalar(0, 2.0 * x);
        Ok(())
    })
});
static OPS: &[&Op] = &[&DOUBLE];

fn master_with(change: impl FnOnce(&mut MasterOptions)) -> Master {
    let registry = Registry::new(&[control_flow::OPS, OPS]).unwrap();
    let mut options = MasterOptions::new(Arc::new(registry));
    change(&mut options);
    Master::new(options, Arc::new(NoHost)).unwrap()
}

fn node(name: &str, op: &str, inputs: &[&str]) -> NodeSpec {
    let inputs = inputs.iter().map(ToString::to_string).collect();
    let attrs: Vec<(Arc<str>, AttrValue)> = match op {
        "Placeholder" => vec![("dtype".into(), DType::Float.into())],
        "Identity" => vec![("T".into(), DType::Float.into())],
        _ => Vec::new(),
    };
    NodeSpec { name: name.into(), op: op.into(), inputs, attrs, ..NodeSpec::default() }
}

/// `x`, `y` placeholders; `d` twice x, `e` twice y, `f` an identity of d that waits for e.
fn graph() -> GraphSpec {
    let nodes = vec![
        node("x", "Placeholder", &[]),
        node("y", "Placeholder", &[]),
        node("d", "Double", &["x"]),
        node("e", "Double", &["y"]),
        node("f", "Identity", &["d", "^e"]),
    ];
    GraphSpec { nodes, ..GraphSpec::default() }
}

fn reply(master: &Master, request: Request) -> Result<Response, Status> {
    at(master, request, None)
}

fn at(master: &Master, request: Request, now: Option<Time>) -> Result<Response, Status> {
    match master.call(request, CallOptions::default(), now) {
        Action::Reply(reply) => reply,
        Action::StartStep(start) => match start.begin() {
            Ok(running) => finish(running),
            Err(reply) => reply,
        },
        Action::ContinuePartial(mut request, form) => {
            let mut cx = Context::from_waker(Waker::noop());
            match request.poll(&mut cx) {
                Poll::Ready(result) => form.reply(result.map(Response::RunStep)),
                Poll::Pending => Err(Status::unavailable("pending")),
            }
        }
        Action::Wait(_) => Err(Status::unavailable("wait")),
    }
}

fn finish(mut running: RunningStep) -> Result<Response, Status> {
    let mut cx = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(outcome) = Pin::new(&mut running.step).poll(&mut cx) {
            return running.finish(outcome);
        }
    }
}

fn create(master: &Master) -> String {
    create_at(master, None)
}

fn create_at(master: &Master, now: Option<Time>) -> String {
    let request = CreateSessionRequest { graph: graph(), ..CreateSessionRequest::default() };
    match at(master, Request::CreateSession(request), now).unwrap() {
        Response::CreateSession(response) => response.session_handle,
        other => panic!("{other:?}"),
    }
}

fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

fn feeds(pairs: &[(&str, f32)]) -> Vec<(String, Tensor)> {
    pairs.iter().map(|&(name, value)| (name.into(), Tensor::scalar(value))).collect()
}

fn step(session: &str, fed: &[(&str, f32)], fetches: &[&str], targets: &[&str]) -> RunStepRequest {
    RunStepRequest {
        session_handle: session.into(),
        feeds: feeds(fed),
        fetches: strings(fetches),
        targets: strings(targets),
        ..RunStepRequest::default()
    }
}

type Fetched = Result<Vec<(String, f32)>, Code>;

fn fetched(result: Result<Response, Status>) -> Fetched {
    match result {
        Ok(Response::RunStep(r)) if r.error.is_none() => {
            Ok(r.tensors.into_iter().map(|(name, value)| (name, value.to_scalar().unwrap())).collect())
        }
        Ok(Response::RunCallable(r)) => {
            Ok(r.fetches.into_iter().map(|value| (String::new(), value.to_scalar().unwrap())).collect())
        }
        Ok(other) => panic!("{other:?}"),
        Err(error) => Err(error.code()),
    }
}

fn values(pairs: &[(&str, f32)]) -> Fetched {
    Ok(pairs.iter().map(|&(name, value)| (name.to_string(), value)).collect())
}

/// Names in every spelling, and every misuse of them, each with its code.
#[test]
fn names_of_a_run() {
    use Code::{InvalidArgument, NotFound};
    let master = master_with(|_| {});
    let s = &create(&master);
    type Names = &'static [&'static str];
    let cases: &[(&str, &[(&str, f32)], Names, Names, Fetched)] = &[
        ("plain", &[("x:0", 3.0)], &["d:0"], &[], values(&[("d:0", 6.0)])),
        ("no slot", &[("x", 3.0)], &["d"], &[], values(&[("d", 6.0)])),
        ("slot after no slot", &[("x:0", 3.0)], &["d"], &[], values(&[("d", 6.0)])),
        ("two spellings fetched", &[("x", 1.0)], &["d", "d:0"], &[], values(&[("d", 2.0), ("d:0", 2.0)])),
        ("one string twice", &[("x", 1.0)], &["d:0", "d:0"], &[], values(&[("d:0", 2.0)])),
        ("two spellings fed: the first counts", &[("x", 1.0), ("x:0", 9.0)], &["d"], &[], values(&[("d", 2.0)])),
        ("interior tensor fed", &[("d", 5.0), ("e", 0.0)], &["f"], &[], Err(InvalidArgument)),
        ("what is behind a control edge is needed", &[("d", 5.0), ("y", 0.0)], &["f"], &[], values(&[("f", 5.0)])),
        ("a feed that nothing needs", &[("x", 1.0), ("y", 1.0)], &["d"], &[], values(&[("d", 2.0)])),
        ("target only", &[("x", 1.0)], &[], &["d"], values(&[])),
        ("target with slot", &[("x", 1.0)], &[], &["d:0"], values(&[])),
        ("target with caret", &[("x", 1.0)], &[], &["^d"], values(&[])),
        ("nothing", &[], &[], &[], Err(InvalidArgument)),
        ("feeds only", &[("x", 1.0)], &[], &[], Err(InvalidArgument)),
        ("same string fed twice", &[("x", 1.0), ("x", 1.0)], &["d"], &[], Err(InvalidArgument)),
        ("fed and fetched", &[("x", 1.0)], &["x"], &[], Err(InvalidArgument)),
        ("fed and fetched in two spellings", &[("x", 1.0)], &["x:0"], &[], Err(InvalidArgument)),
        ("unknown feed", &[("z", 1.0)], &["d"], &[], Err(NotFound)),
        ("unknown fetch", &[("x", 1.0)], &["z"], &[], Err(NotFound)),
        ("unknown target", &[("x", 1.0)], &[], &["z"], Err(NotFound)),
        ("empty fetch", &[("x", 1.0)], &[""], &[], Err(NotFound)),
        ("feed slot too high", &[("x:1", 1.0)], &["d"], &[], Err(InvalidArgument)),
        ("fetch slot too high", &[("x", 1.0)], &["d:1"], &[], Err(InvalidArgument)),
        ("control feed", &[("^x", 1.0)], &["d"], &[], Err(InvalidArgument)),
        ("control fetch", &[("x", 1.0)], &["^d"], &[], Err(InvalidArgument)),
        ("placeholder not fed", &[], &["d"], &[], Err(InvalidArgument)),
    ];
    for (what, fed, fetches, targets, wanted) in cases {
        for again in 0..2 {
            let got = fetched(reply(&master, Request::RunStep(step(s, fed, fetches, targets))));
            assert_eq!(got, *wanted, "{what}, time {again}");
        }
    }
    let mut wrong = step(s, &[], &["d"], &[]);
    wrong.feeds = vec![("x".into(), Tensor::scalar(1i32))];
    assert_eq!(fetched(reply(&master, Request::RunStep(wrong))), Err(Code::Internal), "dtype");
}

/// Unknown handles: ABORTED for all but ListDevices, in the body where RunStep asks for that, with the reason.
#[test]
fn unknown_session() {
    let master = master_with(|_| {});
    let handle = || "nope".to_string();
    let cases = [
        Request::ExtendSession(ExtendSessionRequest { session_handle: handle(), ..Default::default() }),
        Request::PartialRunSetup(PartialRunSetupRequest { session_handle: handle(), ..Default::default() }),
        Request::RunStep(RunStepRequest { session_handle: handle(), ..Default::default() }),
        Request::CloseSession(CloseSessionRequest { session_handle: handle() }),
        Request::MakeCallable(MakeCallableRequest { session_handle: handle(), ..Default::default() }),
        Request::RunCallable(RunCallableRequest { session_handle: handle(), ..Default::default() }),
        Request::ReleaseCallable(ReleaseCallableRequest { session_handle: handle(), handle: 0 }),
    ];
    for request in cases {
        let method = request.method();
        let error = reply(&master, request).unwrap_err();
        assert_eq!(error.code(), Code::Aborted, "{method:?}");
        assert!(error.message().contains("Session nope is not found"), "{error}");
        assert!(error.message().contains("may have been collected"), "{error}");
    }
    let list = Request::ListDevices(ListDevicesRequest { session_handle: handle() });
    assert_eq!(reply(&master, list).unwrap_err().code(), Code::InvalidArgument);
    let mut request = step("nope", &[], &["d"], &[]);
    request.store_errors_in_response_body = true;
    match reply(&master, Request::RunStep(request)).unwrap() {
        Response::RunStep(r) => assert_eq!(r.error.unwrap().0, Code::Aborted),
        other => panic!("{other:?}"),
    }
}

/// A request id counts once, whatever the call and the session, and is looked at before the session.
#[test]
fn request_ids() {
    let master = master_with(|options| options.request_ids_max = 3);
    let s = &create(&master);
    let run = |id, session: &str| {
        let request = RunStepRequest { request_id: id, ..step(session, &[("x", 1.0)], &["d"], &[]) };
        fetched(reply(&master, Request::RunStep(request)))
    };
    assert!(run(7, s).is_ok() && run(0, s).is_ok() && run(0, s).is_ok());
    assert_eq!(run(7, s), Err(Code::Aborted));
    let error = reply(&master, Request::RunStep(RunStepRequest { request_id: 7, ..step("no", &[], &[], &[]) }));
    assert!(error.unwrap_err().message().contains("received twice"));
    let callable = MakeCallableRequest { session_handle: s.clone(), request_id: 7, ..Default::default() };
    assert_eq!(reply(&master, Request::MakeCallable(callable)).unwrap_err().code(), Code::Aborted);
    // An id counts even if its request failed, and is forgotten after three others.
    assert_eq!(run(8, "no"), Err(Code::Aborted));
    assert_eq!(run(8, s), Err(Code::Aborted));
    assert!(run(9, s).is_ok() && run(10, s).is_ok() && run(7, s).is_ok());
    let mut duplicate = RunStepRequest { request_id: 7, ..step(s, &[("x", 1.0)], &["d"], &[]) };
    duplicate.store_errors_in_response_body = true;
    assert!(matches!(
        reply(&master, Request::RunStep(duplicate)),
        Ok(Response::RunStep(r)) if r.error.as_ref().is_some_and(|(code, _)| *code == Code::Aborted)
    ));
}

fn extend(master: &Master, session: &str, version: i64, nodes: Vec<NodeSpec>) -> Result<i64, Status> {
    let request = ExtendSessionRequest {
        session_handle: session.into(),
        graph: GraphSpec { nodes, ..GraphSpec::default() },
        current_graph_version: version,
    };
    match reply(master, Request::ExtendSession(request))? {
        Response::ExtendSession(response) => Ok(response.new_graph_version),
        other => panic!("{other:?}"),
    }
}

/// Versions count successes only; a failed extension changes nothing; cached runs live on.
#[test]
fn extensions() {
    let master = master_with(|_| {});
    let s = &create(&master);
    let run = |fetch| fetched(reply(&master, Request::RunStep(step(s, &[("x", 1.0)], &[fetch], &[]))));
    assert_eq!(run("d"), values(&[("d", 2.0)]));
    let stale = extend(&master, s, 5, Vec::new()).unwrap_err();
    assert_eq!(stale.code(), Code::Aborted);
    assert!(stale.message().contains("0 but caller expected 5"), "{stale}");
    assert_eq!(extend(&master, s, 0, vec![node("g", "Double", &["d"])]), Ok(1));
    assert_eq!(run("g"), values(&[("g", 4.0)]));
    assert_eq!(extend(&master, s, 0, Vec::new()).unwrap_err().code(), Code::Aborted);
    let good = || node("h", "Double", &["g"]);
    for bad in [node("d", "Double", &["x"]), node("i", "Double", &["gone"]), node("_i", "Double", &["x"])] {
        assert_eq!(extend(&master, s, 1, vec![good(), bad]).unwrap_err().code(), Code::InvalidArgument);
    }
    let device = NodeSpec { device: "/device:GPU:0".into(), ..good() };
    assert_eq!(extend(&master, s, 1, vec![device]).unwrap_err().code(), Code::InvalidArgument);
    assert_eq!(extend(&master, s, 1, vec![node("i", "NoSuchOp", &[])]).unwrap_err().code(), Code::NotFound);
    assert_eq!(run("h"), Err(Code::NotFound), "a failed build is not remembered");
    assert_eq!(extend(&master, s, 1, vec![good()]), Ok(2));
    assert_eq!(run("h"), values(&[("h", 8.0)]));
    assert_eq!(run("d"), values(&[("d", 2.0)]));
    assert_eq!(extend(&master, s, 2, Vec::new()), Ok(3), "an empty one counts");
}

/// Options that a session cannot honour, and graphs that cannot be.
#[test]
fn creation_refused() {
    let master = master_with(|_| {});
    let config = |change: fn(&mut SessionConfig)| {
        let mut request = CreateSessionRequest { graph: graph(), ..Default::default() };
        change(&mut request.config);
        request
    };
    let cases = [
        ("threads", config(|c| c.use_per_session_threads = true), "use_per_session_threads"),
        ("pools", config(|c| c.session_inter_op_thread_pools = 1), "session_inter_op_thread_pool"),
        ("filter", config(|c| c.device_filters = vec!["/jib:x".into()]), "/jib:x"),
    ];
    for (what, request, named) in cases {
        let error = reply(&master, Request::CreateSession(request)).unwrap_err();
        assert_eq!(error.code(), Code::InvalidArgument, "{what}");
        assert!(error.message().contains(named), "{what}: {error}");
    }
    assert_eq!(master.num_sessions(), 0);
    let filtered = config(|c| c.device_filters = vec!["/job:elsewhere".into()]);
    assert!(reply(&master, Request::CreateSession(filtered)).is_ok(), "the local task is never filtered out");
    assert!(reply(&master, Request::CreateSession(CreateSessionRequest::default())).is_ok(), "an empty graph");
    for job in ["", "9", "a b", "é"] {
        let registry = Arc::new(Registry::new(&[OPS]).unwrap());
        let options = MasterOptions { job: job.into(), ..MasterOptions::new(registry) };
        assert!(Master::new(options, Arc::new(NoHost)).is_err(), "{job}");
    }
}

/// Limits on sessions, callables, partial runs, bytes and caches answer RESOURCE_EXHAUSTED or evict.
#[test]
fn limits() {
    let master = master_with(|options| {
        options.sessions_max = 2;
        options.callables_max = 1;
        options.partial_runs_max = 1;
        options.programs_max = 2;
        options.session_bytes_max = Some(1 << 20);
    });
    let s = &create(&master);
    let exhausted = |result: Result<Response, Status>| result.unwrap_err().code() == Code::ResourceExhausted;
    let big = Tensor::zeros(DType::Float, &crate::tensor::Shape::new(&[1 << 19]).unwrap(), None).unwrap();
    let mut constant = node("big", "Const", &[]);
    constant.attrs = vec![("value".into(), big.into()), ("dtype".into(), DType::Float.into())];
    assert_eq!(extend(&master, s, 0, vec![constant]).unwrap_err().code(), Code::ResourceExhausted);
    assert_eq!(extend(&master, s, 0, Vec::new()), Ok(1), "and charged nothing");
    create(&master);
    assert!(exhausted(reply(&master, Request::CreateSession(CreateSessionRequest::default()))));
    let callable = || {
        let options = CallableOptions { targets: strings(&["d"]), feeds: strings(&["x"]), ..Default::default() };
        Request::MakeCallable(MakeCallableRequest { session_handle: s.clone(), options, request_id: 0 })
    };
    assert!(reply(&master, callable()).is_ok() && exhausted(reply(&master, callable())));
    let setup = || setup_request(s, &["x"], &["d"]);
    assert!(reply(&master, setup()).is_ok() && exhausted(reply(&master, setup())));
    for fetch in ["d", "d:0", "x", "f", "e"] {
        let _ = reply(&master, Request::RunStep(step(s, &[("y", 1.0), ("d", 1.0)], &[fetch], &["e"])));
        let usage = master.session_usage(s).unwrap();
        assert!(usage.programs <= 2 && usage.signatures <= 2, "{usage:?}");
    }
}

fn setup_request(session: &str, fed: &[&str], fetches: &[&str]) -> Request {
    Request::PartialRunSetup(PartialRunSetupRequest {
        session_handle: session.into(),
        feeds: strings(fed),
        fetches: strings(fetches),
        ..PartialRunSetupRequest::default()
    })
}

fn setup(master: &Master, session: &str, fed: &[&str], fetches: &[&str]) -> Result<String, Status> {
    match reply(master, setup_request(session, fed, fetches))? {
        Response::PartialRunSetup(response) => Ok(response.partial_run_handle),
        other => panic!("{other:?}"),
    }
}

fn part(master: &Master, session: &str, handle: &str, fed: &[(&str, f32)], fetches: &[&str]) -> Fetched {
    let request = RunStepRequest { partial_run_handle: handle.into(), ..step(session, fed, fetches, &[]) };
    fetched(reply(master, Request::RunStep(request)))
}

/// The life of a partial run: misuse leaves it usable, errors and the last request end it.
#[test]
fn partial_runs() {
    let invalid = Err(Code::InvalidArgument);
    let master = master_with(|_| {});
    let s = &create(&master);
    assert_eq!(setup(&master, s, &["z"], &["d"]).unwrap_err().code(), Code::NotFound);
    assert_eq!(setup(&master, s, &["x"], &[]).unwrap_err().code(), Code::InvalidArgument);
    assert_eq!(part(&master, s, "0", &[], &[]), invalid, "run before setup");
    let h = &setup(&master, s, &["x", "y"], &["d", "f"]).unwrap();
    assert_eq!(h, "0");
    assert_eq!(part(&master, s, h, &[("e", 1.0)], &[]), invalid, "feed not declared");
    assert_eq!(part(&master, s, h, &[], &["e"]), invalid, "fetch not declared");
    assert_eq!(part(&master, s, h, &[], &["d"]), invalid, "not computable yet");
    assert_eq!(part(&master, s, h, &[("x", 1.0)], &["f"]), invalid, "not computable without y");
    assert_eq!(part(&master, s, h, &[("x:0", 3.0)], &[]), values(&[]), "nothing above was marked");
    assert_eq!(part(&master, s, h, &[("x", 1.0)], &[]), invalid, "fed twice, in another spelling");
    assert_eq!(part(&master, s, h, &[], &["d", "d:0", "d"]), values(&[("d", 6.0), ("d:0", 6.0)]));
    assert_eq!(part(&master, s, h, &[], &["d"]), invalid, "fetched twice");
    assert_eq!(part(&master, s, h, &[], &[]), values(&[]), "nothing at all is legal");
    assert_eq!(part(&master, s, h, &[("y", 0.0)], &["f"]), values(&[("f", 6.0)]));
    assert_eq!(part(&master, s, h, &[], &[]), invalid, "over after the last");
    let h = &setup(&master, s, &["x"], &["d"]).unwrap();
    let mut wrong = RunStepRequest { partial_run_handle: h.clone(), ..step(s, &[], &[], &[]) };
    wrong.feeds = vec![("x".into(), Tensor::scalar(1i32))];
    assert_eq!(fetched(reply(&master, Request::RunStep(wrong))), Err(Code::Internal));
    assert_eq!(part(&master, s, h, &[("x", 1.0)], &["d"]), invalid, "over after an error");
    assert_eq!(master.session_usage(s).unwrap().partial_runs, 0);
    let h = &setup(&master, s, &["x"], &["d"]).unwrap();
    let request = RunStepRequest { partial_run_handle: h.clone(), ..step(s, &[("x", 1.0)], &[], &[]) };
    let Action::ContinuePartial(request, _) = master.call(Request::RunStep(request), CallOptions::default(), None)
    else {
        panic!("no partial run")
    };
    assert_eq!(master.session_usage(s).unwrap().running_steps, 1);
    drop(request);
    assert_eq!(part(&master, s, h, &[], &["d"]), invalid, "over after a request was given up");
    assert_eq!(master.session_usage(s).unwrap().running_steps, 0);
}

/// A thousand partial runs after each other, with and without feeds, leave nothing behind.
#[test]
fn many_partial_runs() {
    let master = master_with(|_| {});
    let s = &create(&master);
    for i in 0..1000 {
        let h = &setup(&master, s, &["x", "y"], &["d", "e"]).unwrap();
        assert_eq!(*h, i.to_string());
        assert_eq!(part(&master, s, h, &[("x", 1.0)], &["d"]), values(&[("d", 2.0)]));
        assert_eq!(part(&master, s, h, &[("y", 2.0)], &["e"]), values(&[("e", 4.0)]));
    }
    let mut constant = node("k", "Const", &[]);
    constant.attrs = vec![("value".into(), Tensor::scalar(5f32).into()), ("dtype".into(), DType::Float.into())];
    extend(&master, s, 0, vec![constant]).unwrap();
    let h = &setup(&master, s, &[], &["k"]).unwrap();
    assert_eq!(part(&master, s, h, &[], &["k"]), values(&[("k", 5.0)]), "without any feed");
    let usage = master.session_usage(s).unwrap();
    assert_eq!(usage, SessionUsage { programs: 2, signatures: 2, running_steps: 0, partial_runs: 0 });
}

fn make(master: &Master, session: &str, options: CallableOptions) -> Result<i64, Status> {
    let request = MakeCallableRequest { session_handle: session.into(), options, request_id: 0 };
    match reply(master, Request::MakeCallable(request))? {
        Response::MakeCallable(response) => Ok(response.handle),
        other => panic!("{other:?}"),
    }
}

fn run_callable(master: &Master, session: &str, handle: i64, fed: &[f32]) -> Fetched {
    let feeds = fed.iter().map(|&value| Tensor::scalar(value)).collect();
    let request = RunCallableRequest { session_handle: session.into(), handle, feeds, request_id: 0 };
    fetched(reply(master, Request::RunCallable(request)))
}

/// Callables: order of feeds and fetches, too few and too many feeds, connections, handles, release.
#[test]
fn callables() {
    let master = master_with(|_| {});
    let s = &create(&master);
    let options = |feeds: &[&str], fetches: &[&str], connections: &[(&str, &str)]| CallableOptions {
        feeds: strings(feeds),
        fetches: strings(fetches),
        tensor_connections: connections.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect(),
        ..CallableOptions::default()
    };
    let one = |a: f32| values(&[("", a)]);
    let h = make(&master, s, options(&["y", "x"], &["d", "e", "d"], &[])).unwrap();
    assert_eq!(h, 0);
    assert_eq!(run_callable(&master, s, h, &[1.0, 2.0]), values(&[("", 4.0), ("", 2.0), ("", 4.0)]));
    assert_eq!(run_callable(&master, s, h, &[1.0, 2.0, 9.0]), values(&[("", 4.0), ("", 2.0), ("", 4.0)]));
    assert_eq!(run_callable(&master, s, h, &[1.0]), Err(Code::InvalidArgument));
    assert_eq!(run_callable(&master, s, 99, &[]), Err(Code::InvalidArgument));
    assert_eq!(run_callable(&master, s, -1, &[]), Err(Code::InvalidArgument));
    let connected = make(&master, s, options(&["x"], &["e"], &[("d:0", "y:0")])).unwrap();
    assert_eq!((connected, run_callable(&master, s, connected, &[3.0])), (1, one(12.0)));
    let bad = [
        ("nothing", options(&["x"], &[], &[]), Code::InvalidArgument),
        ("unknown feed", options(&["z"], &["d"], &[]), Code::NotFound),
        ("unknown source", options(&["x"], &["e"], &[("gone:0", "y:0")]), Code::InvalidArgument),
        ("source slot", options(&["x"], &["e"], &[("d:7", "y:0")]), Code::InvalidArgument),
        ("cycle", options(&[], &["d"], &[("d:0", "x:0")]), Code::InvalidArgument),
        ("fed as well", options(&["y"], &["e"], &[("d", "y:0")]), Code::InvalidArgument),
        ("fetched as well", options(&["x"], &["y"], &[("d", "y:0")]), Code::InvalidArgument),
        ("devices", CallableOptions { device_entries: 1, ..options(&["x"], &["d"], &[]) }, Code::Unimplemented),
    ];
    for (what, options, code) in bad {
        assert_eq!(make(&master, s, options).unwrap_err().code(), code, "{what}");
    }
    let programs = master.session_usage(s).unwrap().programs;
    let run = step(s, &[("x", 1.0), ("y", 1.0)], &["e", "d"], &[]);
    assert!(reply(&master, Request::RunStep(run)).is_ok());
    assert_eq!(master.session_usage(s).unwrap().programs, programs, "a run of a callable's names shares its program");
    for handle in [h, h, 77, -3] {
        let release = ReleaseCallableRequest { session_handle: s.clone(), handle };
        assert!(reply(&master, Request::ReleaseCallable(release)).is_ok());
    }
    assert_eq!(run_callable(&master, s, h, &[1.0, 2.0]), Err(Code::InvalidArgument));
}

/// Closing cancels what runs and waits for it; the handle is gone at once.
#[test]
fn close_while_running() {
    let master = master_with(|_| {});
    let s = &create(&master);
    let start = |session: &str| {
        let request = Request::RunStep(step(session, &[("x", 1.0)], &["d"], &[]));
        match master.call(request, CallOptions::default(), None) {
            Action::StartStep(start) => start,
            _ => panic!("no step"),
        }
    };
    let late = start(s);
    let running = start(s).begin().map_err(|_| "refused").unwrap();
    assert_eq!(master.session_usage(s).unwrap().running_steps, 1);
    let close = || Request::CloseSession(CloseSessionRequest { session_handle: s.clone() });
    let Action::Wait(mut wait) = master.call(close(), CallOptions::default(), Some(Time(0))) else {
        panic!("nothing to wait for")
    };
    assert_eq!(wait.until(), Some(Time(10_000_000_000)));
    for (step, reason) in wait.take_cancellations() {
        step.cancel(reason);
    }
    let mut cx = Context::from_waker(Waker::noop());
    assert!(wait.poll(&mut cx).is_pending());
    assert_eq!(reply(&master, close()).unwrap_err().code(), Code::Aborted, "the handle is gone at once");
    let error = finish(running).unwrap_err();
    assert_eq!(error.code(), Code::Cancelled);
    assert!(error.message().contains("Close"), "{error}");
    assert!(wait.poll(&mut cx).is_ready());
    assert!(matches!(master.resume(*wait, Some(Time(1))), Action::Reply(Ok(Response::CloseSession))));
    let refused = late.begin().map(|_| ()).unwrap_err();
    assert_eq!(refused.unwrap_err().code(), Code::FailedPrecondition, "a step that was about to begin");
}

/// Idle sessions go, used ones stay, and a running step or a partial one in a request counts as use.
#[test]
fn collection() {
    let seconds = |n: u64| Time(n * 1_000_000_000);
    let master = master_with(|options| options.session_idle_ms_max = 5000);
    let (idle, used, busy) = (
        create_at(&master, Some(seconds(0))),
        create_at(&master, Some(seconds(0))),
        create_at(&master, Some(seconds(0))),
    );
    let run = |session: &str, now| Request::RunStep(step(session, &[("x", now)], &["d"], &[]));
    let Action::StartStep(start) = master.call(run(&busy, 0.0), CallOptions::default(), Some(seconds(0))) else {
        panic!("no step")
    };
    let running = start.begin().map_err(|_| "refused").unwrap();
    assert_eq!(master.tick(seconds(4)), Some(Time(5_250_000_000)));
    assert_eq!(master.num_sessions(), 3);
    assert!(at(&master, run(&used, 0.0), Some(seconds(4))).is_ok());
    master.tick(seconds(6));
    assert_eq!(master.num_sessions(), 2);
    let error = at(&master, run(&idle, 0.0), Some(seconds(6))).unwrap_err();
    assert!(error.code() == Code::Aborted && error.message().contains("collected"), "{error}");
    master.tick(seconds(9));
    assert_eq!(master.num_sessions(), 1, "the busy one");
    assert!(finish(running).is_ok());
    master.tick(seconds(13));
    assert_eq!(master.num_sessions(), 1, "it was in use at 9");
    master.tick(seconds(14));
    assert_eq!(master.num_sessions(), 0);
    let never = master_with(|options| options.session_idle_ms_max = 0);
    create_at(&never, Some(seconds(0)));
    assert_eq!(never.tick(seconds(1 << 20)), None);
    assert_eq!(never.num_sessions(), 1);
}

/// Reset closes every session whatever it names, and checks its names first.
#[test]
fn reset() {
    let master = master_with(|_| {});
    create(&master);
    let reset = |containers: &[&str], filters: &[&str]| {
        let request = ResetRequest { containers: strings(containers), device_filters: strings(filters) };
        reply(&master, Request::Reset(request)).map(|_| ()).map_err(|e| e.code())
    };
    assert_eq!(reset(&["-bad"], &[]), Err(Code::InvalidArgument));
    assert_eq!(reset(&[], &["nonsense"]), Err(Code::InvalidArgument));
    assert_eq!(master.num_sessions(), 1);
    assert_eq!(reset(&["other"], &[]), Ok(()));
    assert_eq!(master.num_sessions(), 0);
    create(&master);
    assert!(matches!(master.shut_down(None), Action::Reply(Ok(_))));
    let refused = reply(&master, Request::CreateSession(CreateSessionRequest::default())).unwrap_err();
    assert_eq!(refused.code(), Code::Unavailable);
}

/// Devices are listed alike with and without a session.
#[test]
fn list_devices() {
    let master = master_with(|options| {
        options.job = "worker".into();
        options.task = 3;
        options.cpus = 2;
    });
    let s = create(&master);
    for session_handle in [String::new(), s] {
        match reply(&master, Request::ListDevices(ListDevicesRequest { session_handle })).unwrap() {
            Response::ListDevices(list) => {
                let names: Vec<_> = list.local_devices.iter().map(|d| d.name.as_str()).collect();
                let prefix = "/job:worker/replica:0/task:3/device:CPU";
                assert_eq!(names, [format!("{prefix}:0"), format!("{prefix}:1")]);
                assert!(list.local_devices.iter().all(|d| d.incarnation != 0 && d.device_type == "CPU"));
                assert!(list.remote_devices.is_empty());
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Statistics and graphs come when asked for, and only then.
#[test]
fn metadata() {
    let master = master_with(|_| {});
    let s = &create(&master);
    let run = |full_trace, output_partition_graphs| {
        let mut request = step(s, &[("x", 1.0), ("y", 1.0)], &["f"], &[]);
        request.options.full_trace = full_trace;
        request.options.output_partition_graphs = output_partition_graphs;
        match reply(&master, Request::RunStep(request)).unwrap() {
            Response::RunStep(response) => response.metadata,
            other => panic!("{other:?}"),
        }
    };
    let plain = run(false, false);
    assert!(plain.step_stats.is_empty() && plain.partition_graphs.is_empty());
    let full = run(true, true);
    let device = "/job:localhost/replica:0/task:0/device:CPU:0";
    assert_eq!(full.step_stats.len(), 1);
    assert_eq!(full.step_stats[0].device, device);
    assert!(full.step_stats[0].nodes.iter().any(|n| n.name == "d" && n.op == "Double"));
    let names: Vec<_> = full.partition_graphs[0].nodes.iter().map(|n| n.name.as_str()).collect();
    assert_eq!(names, ["_recv_x_0", "_recv_y_0", "d", "e", "f", "_send_f_0"]);
    let f = &full.partition_graphs[0].nodes[4];
    assert_eq!((f.inputs.as_slice(), f.device.as_str()), (&["d".to_string(), "^e".to_string()][..], device));
}
